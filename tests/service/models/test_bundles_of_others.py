"""Bundles as the import makes them: separate lists of pieces, one direction without a tag, no scorer."""

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sentencepiece import SentencePieceProcessor

from service.engine.engine import Engine
from service.engine.types import Work
from service.errors import BundleError
from service.models.bundle import load
from service.models.bundle_files import sha256
from service.models.vocabularies import load_tokenizers
from service.settings import Settings
from service.text.piece_tokenizer import PieceTokenizer
from service.text.tokenizer import Tokenizer, Tokenizers
from tests.conftest import TINY_BUNDLE, started

MODEL = TINY_BUNDLE / "sentencepiece.model"
TEXT = "Der alte Hund schläft. Die Katze singt heute."
HTML = "<p>Der <b>alte</b> Hund schläft.</p>"


def own_pieces() -> list[str | None]:
    """The tiny bundle's pieces in SentencePiece's own order."""
    processor = SentencePieceProcessor(model_file=str(MODEL))
    return [processor.id_to_piece(id) for id in range(processor.vocab_size())]


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TINY_BUNDLE, tmp_path / "bundle"))


def with_pieces(folder: Path) -> Path:
    path = folder / "pieces.json"
    path.write_text(json.dumps(own_pieces()), encoding="utf-8")

    def change(manifest: dict[str, Any]) -> None:
        manifest["pieces"] = path.name
        manifest["files"][path.name] = sha256(path)

    return changed(folder, change)


def without_scorer(folder: Path) -> Path:
    return changed(folder, lambda manifest: manifest.pop("scorer"))


def one_way(folder: Path) -> Path:
    def change(manifest: dict[str, Any]) -> None:
        manifest["directions"] = manifest["directions"][:1]
        del manifest["directions"][0]["tag"]
        manifest["files"]["golden.jsonl"] = sha256(golden)

    golden, target = folder / "golden.jsonl", '"target": "en"'
    lines = [line for line in golden.read_text().splitlines(True) if target in line]
    golden.write_text("".join(lines))
    return changed(folder, change)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "is not a list of pieces"),
        ("[" * 100_000, "is nested too deeply"),
        ('["<unk>", "a", "a"]', '"a", of id 2, is there twice'),
        ('["<unk>", ""]', '"", of id 1, is no piece'),
        ('["<unk>", 7]', '"7", of id 1, is no piece'),
        ('["<pad>"]', "has no <unk>"),
        ('["<pad>", "<unk>"]', "has 2 tokens, the manifest says 72"),
        (json.dumps(["<unk>", *[None] * 71]), "unk is 0, the manifest says 1"),
    ],
)
def test_an_invalid_list_of_pieces_is_refused(copy: Path, content: str, message: str) -> None:
    path = with_pieces(copy) / "pieces.json"
    path.write_text(content)
    changed(copy, lambda manifest: manifest["files"].update({path.name: sha256(path)}))
    with pytest.raises(BundleError, match=re.escape(message)):
        load_tokenizers(load(copy))


def test_merges_without_a_list_of_pieces_are_refused(copy: Path) -> None:
    moses = {"splits_hyphens": True, "escapes": True}
    changed(copy, lambda manifest: manifest.update(moses=moses))
    with pytest.raises(BundleError, match="moses needs pieces: merges have no ids"):
        load(copy)


def test_each_side_has_a_moses_tokenizer_for_its_language(copy: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["moses"] = {"splits_hyphens": False, "escapes": True}
        manifest["vocabulary"] = codes.name
        manifest["files"][codes.name] = sha256(codes)

    codes = copy / "source.bpe"
    codes.write_text("#version: 0.2\na b\n")
    changed(one_way(with_pieces(copy)), change)
    words = (" ".join(one.pieces("it's")).replace("@@ ", "") for one in load_tokenizers(load(copy)))
    assert list(words) == [
        "it &apos; s",
        "it &apos;s",
    ]  # as sacremoses does in German and in English


def answers(folder: Path, settings: Settings, **asked: Any) -> Any:
    with started(settings.model_copy(update={"bundle": (folder,)})) as client:
        response = client.post("/translate", json={"source": "de", "target": "en", **asked})
        assert response.status_code == 200, response.text
        return response.json()


def test_ids_come_from_the_list_of_pieces(tmp_path: Path) -> None:
    plain, pieces = Tokenizer(MODEL), own_pieces()
    turned = [None, *reversed(pieces)]
    path = tmp_path / "pieces.json"
    path.write_text(json.dumps(turned), encoding="utf-8")
    tokenizer = PieceTokenizer(MODEL, path)
    assert tokenizer.vocab_size == len(pieces) + 1
    assert tokenizer.special_ids == {
        name: len(pieces) - id for name, id in plain.special_ids.items() if name != "bos"
    }
    for sentence in ("Der alte Hund schläft.", "Ein ganz anderer Satz: 日本!", ""):
        [ids], [expected] = tokenizer.encode([sentence]), plain.encode([sentence])
        assert ids == [len(pieces) - id for id in expected]
        found, spans = tokenizer.encode_with_spans(sentence)
        assert (found, spans) == (ids, plain.encode_with_spans(sentence)[1])
        known = [id for id in expected if id != plain.special_ids["unk"]]
        assert tokenizer.decode([[len(pieces) - id for id in known]]) == plain.decode([known])
    assert [tokenizer.spells(one) for one in "aä日"] == [plain.spells(one) for one in "aä日"]


def test_pieces_without_an_id_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "pieces.json"
    kept = {
        "<pad>",
        "<unk>",
        "</s>",
        *SentencePieceProcessor(model_file=str(MODEL)).encode("Hund", out_type=str),
    }
    few = [piece if piece in kept else None for piece in own_pieces()]
    path.write_text(json.dumps(few), encoding="utf-8")
    tokenizer = PieceTokenizer(MODEL, path)
    known, other = tokenizer.encode(["Hund", "z"])
    assert tokenizer.special_ids["unk"] not in known
    assert other[-1] == tokenizer.special_ids["unk"]
    assert tokenizer.decode([[*known, 1, 3, 0]]) == ["Hund"]
    assert (tokenizer.spells("u"), tokenizer.spells("z")) == (True, False)


def test_unknown_tokens_are_replaced_by_unknown_pieces_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "pieces.json"
    path.write_text(json.dumps(own_pieces()), encoding="utf-8")
    source, target = PieceTokenizer(MODEL, path), Tokenizer(MODEL)
    tokenizers = Tokenizers(source, source)
    [ids] = source.encode(["The dog"])
    text = "Der Ž und Ψ"
    assert source.unknown_pieces(text) == ["Ž", "Ψ"]
    blank, unknown = source.id_of("▁"), source.special_ids["unk"]
    written = [[*ids, blank, unknown, blank, unknown], [unknown, *ids], ids, [unknown] * 3]
    found = tokenizers.translations(text, written)
    assert found == ["The dog Ž Ψ", "Ž The dog", "The dog", "ŽΨ"]
    assert Tokenizers(target, target).translations(text, [ids]) == ["The dog"]


def test_a_list_of_pieces_gives_the_same_translations_as_sentencepieces_ids(
    copy: Path, settings: Settings
) -> None:
    assert answers(with_pieces(copy), settings, text=TEXT) == answers(
        TINY_BUNDLE, settings, text=TEXT
    )


def test_without_a_scorer_only_alignments_are_missing(copy: Path, settings: Settings) -> None:
    asked = {"text": HTML, "format": "html", "return_alignment": True, "rerank": False}
    expected = answers(TINY_BUNDLE, settings, **asked)
    found = answers(without_scorer(copy), settings, **asked)
    assert found["translatedText"] == "<p>The <b>old</b> dog sleeps.</p>"
    assert "alignment" in expected["details"][0][0]
    assert "alignment" not in found["details"][0][0]
    assert found["details"][0][0]["target"] == expected["details"][0][0]["target"]


def test_a_single_target_needs_no_tag(copy: Path, settings: Settings) -> None:
    bundle = load(one_way(copy))
    [direction] = bundle.manifest.directions
    assert direction.prefix == ()
    found = answers(copy, settings, text=HTML, format="html", return_alignment=True)
    rows = found["details"][0][0]["alignment"]
    assert {len(row) for row in rows} == {len(found["details"][0][0]["sourceTokens"])}


def test_a_target_may_be_selected_by_a_start_token(copy: Path, settings: Settings) -> None:
    pieces = own_pieces()
    the = pieces.index("▁the")
    pieces[the] = None  # no part of any text
    with_pieces(copy)
    (copy / "pieces.json").write_text(json.dumps(pieces), encoding="utf-8")

    def change(manifest: dict[str, Any]) -> None:
        for direction in manifest["directions"]:
            if direction["target"] == "en":
                direction["start_token"] = the
        manifest["files"]["pieces.json"] = sha256(copy / "pieces.json")
        manifest["files"].pop("golden.jsonl")

    changed(copy, change)
    asked = {"text": "Der alte Hund schläft.", "rerank": False, "return_alignment": True}
    expected = answers(TINY_BUNDLE, settings, **asked, target_prefix="the")
    found = answers(copy, settings, **asked)
    assert expected["translatedText"] == "the The old dog sleeps."
    assert found["translatedText"] == "The old dog sleeps."
    [[whole], [rest]] = (answer["details"][0] for answer in (expected, found))
    assert rest["alignment"][1:] == whole["alignment"][2:]  # a first blank is part of no word
    forced = answers(copy, settings, **asked, target_prefix="The small")
    assert forced["translatedText"].startswith("The small ")
    assert answers(copy, settings, text=HTML, format="html")["translatedText"].count("<b>") == 1


def test_a_source_need_not_end_with_eos(
    copy: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["special_tokens"]["ends_source"] = False
        manifest["files"].pop("golden.jsonl")

    seen: list[tuple[int, ...]] = []

    def spy(self: Engine, items: Sequence[Work], *more: Any) -> list[Any]:
        seen.extend(ids for ids, _ in items)
        return submit(self, items, *more)

    submit = Engine.submit
    monkeypatch.setattr(Engine, "submit", spy)
    bundle = load(changed(copy, change))
    text = "Der alte Hund schläft."
    found = answers(copy, settings, text=text, return_alignment=True)
    direction = bundle.manifest.direction("de", "en")
    assert direction is not None
    assert bundle.manifest.channel_direction(direction) is None
    [ids] = Tokenizer(MODEL).encode([text])
    assert seen[-1] == (*direction.prefix, *ids)
    assert {len(row) for row in found["details"][0][0]["alignment"]} == {5}
