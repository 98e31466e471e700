"""Numbers that two languages write with different marks are told from those of versions and the like."""

import pytest

from service.text.languages import profile
from service.text.rules.notation import Standing, notation_of

POSSIBLE, LIKELY, CERTAIN = Standing.POSSIBLE, Standing.LIKELY, Standing.CERTAIN
GERMAN, ENGLISH = profile("de"), profile("en")
TO_ENGLISH, TO_GERMAN = notation_of(GERMAN, ENGLISH), notation_of(ENGLISH, GERMAN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.299,00 und 12,5", [("1,299.00", CERTAIN), ("12.5", CERTAIN)]),
        ("1.500 Stück; 1.500 €; 1.500 kg", [("1,500", LIKELY), ("1,500", CERTAIN), ("1,500", CERTAIN)]),
        ("Seite 1.500, Nr. 1.500, Seiten 1.500 m", []),
        ("Seiten: 1.500; Kundennummer: 1.500", [("1,500", LIKELY)]),
        ("10.200.150.100; 1.234.567.890", [("1,234,567,890", LIKELY)]),
        ("1.500 bis 2.500 €", [("1,500", CERTAIN), ("2,500", CERTAIN)]),
        ("1.5, 0.006, a1.500, 1.500a, 1.500.x, [0,1], 1,2,3", []),
    ],
)  # fmt: skip
def test_german_numbers(text: str, expected: list[tuple[str, Standing]]) -> None:
    assert [(one.written, one.standing) for one in TO_ENGLISH.amounts(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,299.00 or 1,500", [("1.299,00", CERTAIN), ("1.500", CERTAIN)]),
        ("2.5 %, $2.50", [("2,5", CERTAIN), ("2,50", CERTAIN)]),
        ("2.5 GHz, 2.5 miles, 2.5 m", [("2,5", CERTAIN)] * 3),
        ("from 2.5 in a day to 1.125", [("2,5", POSSIBLE), ("1,125", LIKELY)]),
        ("1.5, 2.5 and 3.5 kg of 4.5", [*[(f"{one},5", CERTAIN) for one in (1, 2, 3)], ("4,5", POSSIBLE)]),
        ("Python 3.10, 3.11 and 3.12, version 1.234", []),
        ("section 2.5 A new hope, Fig. 2.5 m", []),
        ("2.5 A new hope", [("2,5", POSSIBLE)]),
        ("2.1 Byte order", [("2,1", POSSIBLE)]),
        ("at 11.30 p.m.", []),
    ],
)  # fmt: skip
def test_english_numbers(text: str, expected: list[tuple[str, Standing]]) -> None:
    assert [(one.written, one.standing) for one in TO_GERMAN.amounts(text)] == expected


@pytest.mark.parametrize(
    ("texts", "least"),
    [(["Äpfel", "1.500"], LIKELY), (["1.500"], CERTAIN), (["1"], LIKELY), ([], LIKELY)],
)
def test_a_document_without_words_shows_less(texts: list[str], least: Standing) -> None:
    assert TO_ENGLISH.adapted(texts).least is least


@pytest.mark.parametrize(
    ("texts", "converts"),
    [
        (["Äpfel", "12.50 €"], False),
        (["Äpfel", "1,299.00"], False),
        (["ein Faktor von 0.25"], False),
        (["Länge: 2.50 m"], False),
        (["seit Version 0.25", "am 3.5. um 18.30 Uhr", "Kapitel 2.3"], True),
        (["Abb. 2.1 A", "Abb. 2.1 m", "2.1 K und das Gebirge"], True),
    ],
)
def test_a_document_shows_its_format(texts: list[str], converts: bool) -> None:
    assert TO_ENGLISH.adapted(texts).written("1.299,00") == ("1,299.00" if converts else "1.299,00")


@pytest.mark.parametrize("languages", ["en-ja", "de-fr", "de-es", "qqq-en", "en-qqq"])
def test_languages_with_the_same_or_an_unknown_mark_convert_nothing(languages: str) -> None:
    notation = notation_of(*map(profile, languages.split("-")))
    assert not list(notation.amounts("1.299,00 1,299.00 €"))
    assert not list(notation.spans("1.299,00 1,299.00 €"))
    assert notation.written("1.299,00 1,299.00") == "1.299,00 1,299.00"
    assert notation.adapted(["ein Wort", "0.5", "0,5"]) is notation
