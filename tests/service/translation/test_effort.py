"""The estimated effort of reading texts, against the time that it takes."""

import pytest

from service.models.bundle import load
from service.models.vocabularies import load_tokenizers
from service.text.document import take_apart
from service.text.languages import profile
from service.translation.effort import effort_of
from tests.conftest import TINY_BUNDLE
from tests.growth import seconds
from tests.service.text.pipelines import every_rule

TOKENIZER = load_tokenizers(load(TINY_BUNDLE)).source
PIPELINE = every_rule(
    TOKENIZER.spells, TOKENIZER.truecase, source=profile("de"), target=profile("en")
)
MARKED = ("\u00ad|$1", "%@a…\u200d", "a|", "A,", "`a` ", "%s ", "1 ", "A\u0e44", "日a", "яß")
"""Repeated, these take up to twenty times as long as prose."""


def test_the_effort_of_a_text_is_that_of_its_parts() -> None:
    prose, marks = "Der Hund schläft.", "%@…"
    assert effort_of([prose, marks]) == effort_of([prose]) + effort_of([marks])
    assert effort_of([prose]) < effort_of(["." * len(prose)]) / 3
    assert effort_of([]) == 0


def test_marks_take_no_longer_than_prose_of_the_same_effort() -> None:
    prose = "Der alte Hund schläft im Garten und wartet. " * 200
    usual = _seconds(prose) / effort_of([prose])
    for unit in MARKED:
        text = unit * (4_000 // len(unit))
        assert _seconds(text) / effort_of([text]) < 10 * usual, unit


def test_the_effort_of_a_long_text_is_estimated_from_all_of_it() -> None:
    prose, marks = "Der Hund schläft im Garten.\n" * 4_000, "%@… 1,5 € " * 10_000
    expected = sum(effort_of([text[:1_000]]) - 50 for text in (prose, marks)) * 100 + 50
    for texts in ([prose + marks], [marks + prose], [prose, marks], [marks, prose]):
        assert effort_of(texts) == pytest.approx(expected, rel=0.2)


def _seconds(text: str) -> float:
    return min(
        seconds(lambda text: take_apart(text, "text", "all", (), PIPELINE), text) for _ in range(3)
    )
