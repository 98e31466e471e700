"""Texts are split and joined as by sacremoses and subword-nmt themselves."""

import functools
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sacremoses
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from service.errors import BundleError
from service.text.moses_tokenizer import MosesTokenizer

TEXTS = {
    "de": [
        'Sie sagte: "Das ist Müllers Hut & Schal." [1] Wer\'s glaubt, z.B. Dr. Maier, wird selig ... 你好!',
        "Der rot-grüne Ball  kostet 5,30 €; 3 > 2, a|b, <b>!",
        "Ein Herr-lich @-@ &quot;altes&quot;\tWort. klein. Dr. A. e.V. 3. 4.5. Ende.",
    ],
    "en": ["He said: \"It's Mr. Miller's state-of-the-art hat, isn't it?\" (Yes!)", "Don't."],
    "fr": ["L'homme d'aujourd'hui n'est-il pas là ? Oui : « c'est vrai » !"],
}
OPTIONS = {"plain": (False, False), "escaped": (False, True), "hyphens": (True, True)}
Make = Callable[[str, str], MosesTokenizer]


@functools.cache
def merges(language: str) -> str:
    codes = io.StringIO()
    words = " ".join(TEXTS[language] * 3)
    learn_bpe(io.StringIO(words + " &quot; &apos;s &amp; d&apos; @-@ &#91;"), codes, 30)
    return codes.getvalue()


def by_moses(language: str, options: str, text: str) -> list[str]:
    hyphens, escapes = OPTIONS[options]
    words = sacremoses.MosesTokenizer(language).tokenize(
        text, aggressive_dash_splits=hyphens, escape=escapes
    )
    found: list[str] = BPE(io.StringIO(merges(language))).segment_tokens(words)
    return found


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(language: str, options: str) -> MosesTokenizer:
        hyphens, escapes = OPTIONS[options]
        every = [piece for text in TEXTS[language] for piece in by_moses(language, options, text)]
        pieces = ["<pad>", "<unk>", None, "</s>", *dict.fromkeys(every)]
        (tmp_path / "pieces.json").write_text(json.dumps(pieces))
        (tmp_path / "codes").write_text(merges(language), encoding="utf-8")
        return MosesTokenizer(
            tmp_path / "codes",
            tmp_path / "pieces.json",
            language,
            splits_hyphens=hyphens,
            escapes=escapes,
        )

    return made


CASES = [(language, options) for language in TEXTS for options in OPTIONS]


@pytest.mark.parametrize(("language", "options"), CASES)
def test_texts_are_split_and_joined_like_by_moses(make: Make, language: str, options: str) -> None:
    tokenizer, joiner = make(language, options), sacremoses.MosesDetokenizer(language)
    for text in TEXTS[language]:
        pieces = by_moses(language, options, text)
        assert tokenizer.pieces(text) == pieces
        [ids] = tokenizer.encode([text])
        assert [tokenizer.piece(id) for id in ids] == pieces
        words = " ".join(pieces).replace("@@ ", "").split(" ")
        expected = joiner.detokenize(words, unescape=options != "plain")
        assert tokenizer.decode([ids]) == [expected]


@pytest.mark.parametrize(("language", "options"), CASES)
def test_every_piece_has_its_span(make: Make, language: str, options: str) -> None:
    tokenizer = make(language, options)
    for text in TEXTS[language]:
        ids, spans = tokenizer.encode_with_spans(text)
        assert ids == tokenizer.encode([text])[0]
        covered = "".join(text[at] for at in range(len(text)) if any(a <= at < b for a, b in spans))
        assert covered == "".join(text.split())
        assert spans == sorted(spans)
        for piece, (begin, end) in zip(tokenizer.pieces(text), spans, strict=True):
            plain = piece.removesuffix("@@")
            if plain.isalnum() and not set("&;@").intersection("".join(tokenizer.pieces(text))):
                assert text[begin:end] == plain


def test_words_and_signs_have_their_spans(make: Make) -> None:
    tokenizer, text = make("de", "hyphens"), TEXTS["de"][1]
    spans: dict[tuple[int, int], str] = {}
    for piece, span in zip(
        tokenizer.pieces(text), tokenizer.encode_with_spans(text)[1], strict=True
    ):
        spans[span] = spans.get(span, "") + piece.removesuffix("@@")
    assert spans[text.index("-"), text.index("-") + 1] == "@-@"
    assert spans[text.index("|"), text.index("|") + 1] == "&#124;"
    assert spans[text.index("<"), text.index("<") + 1] == "&lt;"
    assert [tokenizer.spells(one) for one in '"ü日ﬁ'] == [True, True, False, False]


def test_unknown_words_are_written_like_in_the_source(make: Make) -> None:
    tokenizer = make("de", "hyphens")
    [ids] = tokenizer.encode(["Das ist 日."])
    assert ids.count(1) == 1
    assert tokenizer.unknown_pieces("Das ist 日.") == ["日"]
    assert tokenizer.decode([ids, [*ids, 3, 0]], ["日"]) == ["Das ist 日.", "Das ist 日."]
    assert tokenizer.decode([[]]) == [""]
    assert tokenizer.encode(["", " \t"]) == [[], []]


def test_words_have_their_usual_case(make: Make) -> None:
    tokenizer = make("de", "hyphens")
    assert tokenizer.has_piece(".")
    assert not tokenizer.has_piece("Das")
    assert len(tokenizer.pieces("Wird")) > len(tokenizer.pieces("wird"))
    assert tokenizer.truecase("WIRD") == "wird"


def test_an_error_of_moses_falls_back_to_plain_joining(tmp_path: Path) -> None:
    words = ["je", "x'", "-", "li"]
    with pytest.raises(TypeError):
        sacremoses.MosesDetokenizer("cs").detokenize(words)
    (tmp_path / "codes").write_text("#version: 0.2\nj e</w>\nl i</w>\nx '</w>\n")
    (tmp_path / "pieces.json").write_text(json.dumps(["<pad>", "<unk>", None, "</s>", *words]))
    options = {"splits_hyphens": True, "escapes": False}
    tokenizer = MosesTokenizer(tmp_path / "codes", tmp_path / "pieces.json", "cs", **options)
    assert tokenizer.decode([[4, 5, 6, 7]]) == ["je x' - li"]


def test_without_sacremoses_the_error_names_the_package(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(BundleError, match=r"sacremoses is missing: pip install -e '\.\[moses\]'"):
        make("de", "plain")
