"""Words with letters that a vocabulary lacks must be in the translation."""

import pytest

from service.text.rules.letters import Letters
from service.text.run import Protected, Run

RULE = Letters("abcdefghijklmnopqrstuvwxyzäöüß\u00e0".__contains__)


@pytest.mark.parametrize(
    ("source", "translation", "is_whole"),
    [
        ("das wort così", "the word così", True),
        ("das wort così", "the word cosi", False),
        ("Łódź ist groß", "łódź is big", True),
        ("Łódź ist groß", "lodz is big", False),
        ("À bientôt, für", "soon, for", False),
        ("À la carte, für", "by the card, for", True),
        ("FÜR ALLE", "for all", True),
        ("nur ascii, 5 €", "only 5", True),
    ],
)
def test_words_with_unknown_letters_are_demanded(
    source: str, translation: str, is_whole: bool
) -> None:
    assert RULE.came_through(Run(source), Run(translation)) is is_whole


def test_words_beside_protected_ones_are_demanded() -> None:
    source, kept = Run("così so", protected=[Protected(0, 4)]), [Protected(0, 4)]
    assert RULE.came_through(source, Run("Tom so"))
    assert not RULE.came_through(Run("così così", protected=kept), Run("così so", protected=kept))


def test_demanded_words_are_protected() -> None:
    run = RULE.protect(Run("das wort così und für łódź"), Run(""))
    assert [run.text[one.begin : one.end] for one in run.protected] == ["così", "łódź"]
