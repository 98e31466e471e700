"""Numerals and letters of enumerations, of which none may be lost or changed."""

import pytest

from service.text.rules.enumerators import Enumerators
from service.text.run import Run


@pytest.mark.parametrize(
    ("text", "translation", "is_whole"),
    [
        ("Pay (i) the price, (ii) taxes.", "Zahle (i) den Preis, (ii) Steuern.", True),
        ("Pay (i) the price, (ii) taxes.", "Zahle (i) den Preis, (iii) Steuern.", False),
        ("Pay (i) the price, (ii) taxes.", "Zahle den Preis (ii), Steuern (i).", True),
        ("iv) the first and ix) the last", "iv) das erste und ix) das letzte", True),
        ("iv) the first and ix) the last", "vi) das erste und ix) das letzte", False),
        ("See (XIV) and (XV).", "Siehe (XIV) und (XIV).", False),
        ("either (a) or (b)", "entweder (a) oder (B)", False),
        ("A teacher (f) is wanted", "Gesucht: Lehrerin (w)", True),
        ("f(x), p(i), the dog(s), (iiii), (vx)", "alles andere", True),
        ("Nothing here", "(i) more", True),
    ],
)
def test_each_must_be_in_the_translation(text: str, translation: str, is_whole: bool) -> None:
    assert Enumerators().came_through(Run(text), Run(translation)) is is_whole


def test_all_are_protected() -> None:
    run = Enumerators().protect(Run("(i) one, ii) two"), Run())
    assert [run.text[part.begin : part.end] for part in run.protected] == ["(i)", "ii)"]
