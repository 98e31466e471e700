"""Sentences that a bundle asks to be translated clause by clause."""

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.errors import LimitExceededError, TextTooLongError
from service.models.bundle import load
from service.models.loading import ModelOptions, start_model
from service.models.model_set import ModelSet
from service.translation.decoding import SearchPolicy, decoding_options
from service.translation.options import TranslationOptions
from service.translation.preparation import Preparation, SizeLimit
from service.translation.types import Done, Translation
from tests.conftest import TINY_BUNDLE

FIRST, SECOND = "Der Hund und der alte Hund schläft heute,", "die Katze und die Katze singt dort."
LONG = f"{FIRST} {SECOND}"
MODEL_OPTIONS = ModelOptions(precision="fp32", device="cpu")


def start(bundle: Path) -> ModelSet:
    return ModelSet([start_model(load(bundle), MODEL_OPTIONS)], max_characters=50_000)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelSet]:
    bundle = tmp_path_factory.mktemp("bundles") / "clauses"
    shutil.copytree(TINY_BUNDLE, bundle)
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["rules"] |= {"clauses": {"max_words": 12}, "quotes": {}}
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    started = start(bundle)
    yield started
    started.close()


def translate(models: ModelSet, text: str, **options: object) -> Translation:
    asked = TranslationOptions(**options)  # type: ignore[arg-type]
    return asyncio.run(models.translate([text], "de", "en", asked, 60))[0]


def test_clauses_are_translated_like_separate_sentences(models: ModelSet) -> None:
    whole = translate(models, LONG)
    first, second = (translate(models, clause).text for clause in (FIRST, SECOND))
    assert whole.text.lower() == f"{first.rstrip(' .,')}, {second}".lower()
    assert whole.text.count("The") == 1
    [sentence] = whole.sentences
    assert sentence.source == LONG
    assert (sentence.finish_reason, sentence.recovery) == ("end", None)


def test_other_bundles_and_undivided_texts_are_not_split(models: ModelSet) -> None:
    others = start(TINY_BUNDLE)
    try:
        whole = translate(others, LONG).text
    finally:
        others.close()
    assert translate(models, LONG, splitting="none").text == whole != translate(models, LONG).text


def test_scores_alternatives_and_alignments_cover_the_whole_sentence(models: ModelSet) -> None:
    whole = translate(models, LONG, alternatives=2, align=True)
    [sentence] = whole.sentences
    alone = [translate(models, clause, alternatives=2).sentences[0] for clause in (FIRST, SECOND)]
    assert sentence.scores[0] == pytest.approx(sum(one.scores[0] for one in alone), abs=1e-4)
    assert len(sentence.targets) == 3
    assert sentence.alignment is not None
    assert "".join(sentence.alignment.sources) == LONG.replace(" ", "")
    assert "".join(sentence.alignment.targets) == whole.text.replace(" ", "")


def test_a_split_sentence_may_exceed_the_model_limit_unless_it_is_aligned(
    models: ModelSet,
) -> None:
    clauses = [FIRST, *["der Hund und die Katze und der Hund schläft heute,"] * 6, SECOND]
    found = translate(models, " ".join(clauses))
    assert found.sentences[0].recovery is None
    alone = [translate(models, clause).text.rstrip(" .,") for clause in clauses]
    assert found.text.lower() == f"{', '.join(alone)}.".lower()
    with pytest.raises(TextTooLongError, match="exceeds the model's limit of 62"):
        translate(models, " ".join(clauses), align=True)


def test_a_text_that_is_too_long_concerns_no_text_in_another_language(models: ModelSet) -> None:
    german, english = "Der Hund schläft und " * 40, "The old woman waits for her dog."
    options = TranslationOptions(splitting="none")

    def translated(*texts: str) -> list[Translation]:
        return asyncio.run(models.translate(texts, "auto", "en", options, 60))

    found = translated(german, english)
    assert [one.text for one in found] == [german, english]
    assert "exceeds the model's limit of 62" in found[0].problem
    assert found[0].error is not None
    assert found[0].error.__traceback__ is None, (
        "it would keep all texts until garbage is collected"
    )
    assert not found[1].problem
    with pytest.raises(TextTooLongError, match="exceeds the model's limit of 62"):
        translated(german)


def test_with_alignment_clauses_share_the_maximum_length(models: ModelSet) -> None:
    translator = models.models[0].translator
    manifest, tokenizers = translator.manifest, translator.tokenizers
    options = TranslationOptions(align=True)
    decoding = decoding_options(manifest, manifest.directions[0], options, SearchPolicy(4))
    direction = manifest.directions[0]
    pipeline = translator.pipeline(direction)
    request = Preparation(manifest, tokenizers, direction, options, decoding, pipeline)
    text = f"{LONG[:-1]} und die Katze."
    [task] = request.take_apart([text])[1]
    clauses = tokenizers.source.encode(task.clauses)
    room = [asked.max_decoding_length for _, asked in task.work]
    assert len(clauses[0]) < len(clauses[1])
    assert all(tokens >= 2 * len(ids) - 2 for tokens, ids in zip(room, clauses, strict=True))
    assert sum(room) + 2 * len(room) <= manifest.limits.max_target_length


def test_clauses_of_all_texts_count_as_sentences(models: ModelSet) -> None:
    translator = models.models[0].translator
    manifest, tokenizers = translator.manifest, translator.tokenizers
    options, direction = TranslationOptions(), manifest.directions[0]
    decoding = decoding_options(manifest, direction, options, SearchPolicy(4))
    parts = manifest, tokenizers, direction, options, decoding, translator.pipeline(direction)
    assert len(Preparation(*parts, SizeLimit(4)).take_apart([LONG, LONG])[1]) == 2
    with pytest.raises(LimitExceededError, match="more than 3 sentences"):
        Preparation(*parts, SizeLimit(3)).take_apart([LONG, LONG])
    with pytest.raises(LimitExceededError, match="more than 4 sentences"):
        Preparation(*parts, SizeLimit(4)).take_apart([LONG, LONG, "Die Katze singt."])


def test_a_prefix_applies_to_the_first_clause_only(models: ModelSet) -> None:
    text = translate(models, LONG, target_prefix="The bird").text
    assert text.startswith("The bird")
    assert text.count("bird") == 1


def test_placeholders_in_all_clauses_are_preserved(models: ModelSet) -> None:
    text = translate(models, f"{FIRST[:-1]} %s, {SECOND[:-1]} {{name}}.").text
    assert text.count("%s") == text.count("{name}") == 1


def test_a_split_sentence_is_streamed_once(models: ModelSet) -> None:
    told: list[tuple[str, str]] = []

    async def listen() -> Translation:
        texts = [f"{LONG} Der alte Hund schläft."]
        async for event in models.stream(texts, "de", "en", TranslationOptions(), 60):
            if isinstance(event, Done):
                return event.translations[0]
            told.append((event.source, event.target))
        raise AssertionError("it has no end")

    found = asyncio.run(listen())
    assert sorted(source for source, _ in told) == sorted([LONG, "Der alte Hund schläft."])
    assert all(target in found.text for _, target in told)


CLAUSE, NAMES = "der Hund und die Katze und der Hund schläft heute,", "{a} {b}"
LOSING = f"{NAMES} Hund und der alte Hund schläft heute,"
"""A clause whose placeholders the tiny model loses; between them, it can be translated."""


@pytest.mark.parametrize("losing", [[0], [1], [2], [0, 2], [0, 1, 2]])
def test_only_clauses_in_which_something_was_lost_are_translated_in_pieces(
    models: ModelSet, losing: list[int]
) -> None:
    clauses = [LOSING if index in losing else CLAUSE for index in range(3)]
    found = translate(models, f"{' '.join(clauses)} {SECOND}")
    alone = [translate(models, clause) for clause in (*clauses, SECOND)]
    assert found.sentences[0].recovery == "pieces"
    assert not found.problem
    joined = ", ".join(one.text.rstrip(" .,") for one in alone)
    assert found.text.lower() == f"{joined}.".lower()
    assert found.score == pytest.approx(sum(one.score for one in alone), abs=1e-3)


def test_only_clauses_of_which_no_translation_is_found_are_copied(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.translation.sentence_translator.MAX_PIECES", 0)
    text = f"{' '.join([CLAUSE] * 20)} {LOSING} {' '.join([CLAUSE] * 20)} {LOSING} {SECOND}"
    found = translate(models, text)
    [sentence] = found.sentences
    assert found.text.count(LOSING) == 2
    assert found.text.count("Hund") == 2 * LOSING.count("Hund")
    assert "Katze" not in found.text
    assert sentence.source == text
    assert sentence.problem == (
        "no translation was found that keeps all numbers and placeholders: "
        '"{a} {b} Hund und der alte Hund schläft heute," and 1 other part'
    )


def test_of_a_long_text_without_punctuation_only_the_lost_part_is_copied(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.translation.sentence_translator.MAX_PIECES", 0)
    unit = "der alte Hund schläft und die Katze singt dort "
    half = unit * 200
    found = translate(models, f"{half}{NAMES} {half}".strip())
    assert len(half) * 2 > 18_000
    german = rf"(?:{'|'.join(unit.split())})"
    [copied] = re.findall(rf"(?:{german} )*{{a}} {{b}}(?: {german})*", found.text)
    assert len(copied) < 250
    assert f'placeholders: "{copied[:40]}' in found.sentences[0].problem
    assert "Hund" not in found.text.replace(copied, "")


@pytest.mark.parametrize(
    ("form", "around"),
    [
        *(("text", around) for around in ("„ “", "** **", "( )", "😀 🙂", "_ _", "> ")),
        *(("html", around) for around in ("<b> </b>", "<p><i> </i></p>", "<p>„ “</p>")),
    ],
)
def test_what_encloses_a_sentence_is_written_once(models: ModelSet, form: str, around: str) -> None:
    before, _, behind = around.rpartition(" ")
    text = f"{before}{CLAUSE} {LOSING} {SECOND}{behind}"
    found = translate(models, text, format=form, alternatives=1).text
    signs = re.compile(r'</?[a-z]>|[{}*()_>"😀🙂]')
    assert signs.findall(found) == signs.findall(re.sub("[„“]", '"', text))
    assert "Hund" not in found


def test_tags_and_alignments_of_clauses_translated_again_are_those_of_the_sentence(
    models: ModelSet,
) -> None:
    text = (
        f"<i><b>Der Hund</b> {NAMES} Hund und Hund singt, <u>die Katze</u> und der Hund und "
        "Hund <b>singt.</b></i>"
    )
    found = translate(models, text, format="html", align=True, alternatives=1)
    [sentence] = found.sentences
    assert sentence.recovery == "pieces"
    assert re.findall("</?[a-z]>", found.text) == re.findall("</?[a-z]>", text)
    assert re.sub("</?[a-z]>", "", found.text) == sentence.target
    assert all(found.text.count(name) == 1 for name in NAMES.split())
    assert sentence.alignment is not None
    sources, targets, weights = sentence.alignment
    assert "".join(sources) == re.sub("</?[a-z]>| ", "", text)
    assert "".join(targets) == sentence.target.replace(" ", "")
    assert weights.shape == (len(targets), len(sources))
    assert weights.sum(axis=1) == pytest.approx(1)
    half = sources.index("die")
    assert weights[0, half:].sum() == weights[-1, :half].sum() == 0, "clauses are aligned alone"
