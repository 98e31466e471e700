"""Numbers that two languages write with different marks are told from those of versions and the like."""

import pytest

from service.text.languages import profile
from service.text.rules.notation import Standing, notation_of

GERMAN, ENGLISH = profile("de"), profile("en")
TO_ENGLISH, TO_GERMAN = notation_of(GERMAN, ENGLISH), notation_of(ENGLISH, GERMAN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.299,00 und 12,5", [("1,299.00", 3), ("12.5", 3)]),
        ("1.500 Stück, 1.500 €, 1.500 kg", [("1,500", 2), ("1,500", 3), ("1,500", 3)]),
        ("Seite 1.500, Nr. 1.500", []),
        ("Seiten: 1.500; Kundennummer: 1.500", [("1,500", 2)]),
        ("10.200.150.100, 1.234.567.890", [("1,234,567,890", 2)]),
        ("1.5, 0.006, a1.500, 1.500a, 1.500.x, [0,1], 1,2,3", []),
    ],
)
def test_german_numbers(text: str, expected: list[tuple[str, int]]) -> None:
    assert [(one.written, one.standing) for one in TO_ENGLISH.amounts(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,299.00 or 1,500", [("1.299,00", 3), ("1.500", 3)]),
        ("2.5 %, $2.50, 2.5 GHz, 2.5 miles", [("2,5", 3), ("2,50", 3), ("2,5", 3), ("2,5", 3)]),
        ("from 2.5 to 1.125 in a day", [("2,5", 1), ("1,125", 2)]),
        ("Python 3.10, 3.11 and 3.12, version 1.234", []),
        ("at 11.30 p.m.", []),
    ],
)
def test_english_numbers(text: str, expected: list[tuple[str, int]]) -> None:
    assert [(one.written, one.standing) for one in TO_GERMAN.amounts(text)] == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Äpfel", "1.500"], Standing.LIKELY),
        (["1.500"], Standing.CERTAIN),
        ([], Standing.LIKELY),
        (["Äpfel", "12.50 €"], Standing.NEVER),
        (["Äpfel", "1,299.00"], Standing.NEVER),
        (["ein Faktor von 0.25"], Standing.NEVER),
        (["seit Version 0.25", "am 3.5. um 18.30 Uhr", "Kapitel 2.3"], Standing.LIKELY),
    ],
)
def test_a_document_shows_its_format(texts: list[str], expected: Standing) -> None:
    assert TO_ENGLISH.least(texts) == expected


@pytest.mark.parametrize("languages", ["en-ja", "de-fr", "de-es", "qqq-en", "en-qqq"])
def test_languages_with_the_same_or_an_unknown_mark_convert_nothing(languages: str) -> None:
    notation = notation_of(*map(profile, languages.split("-")))
    assert not list(notation.amounts("1.299,00 1,299.00 €"))
    assert notation.written("1.299,00 1,299.00") == "1.299,00 1,299.00"
    assert notation.least(["0.5", "0,5"]) == Standing.LIKELY
