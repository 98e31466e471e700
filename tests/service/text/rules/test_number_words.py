"""Numbers in words: which are found, and which translations have them."""

import pytest

from service.text.languages import NEUTRAL, profile
from service.text.rules.number_words import NumberWords, Numerals
from service.text.run import Run

GERMAN, ENGLISH, FRENCH = map(profile, ("de", "en", "fr"))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Das Buch hat vierundsechzig Seiten.", [64]),
        ("Einunddreißig oder zweiunddreissig Euro", [31, 32]),
        ("zwoundzwanzig", [22]),
        ("hunderteins, einhundertundeins, zweihundert", [101, 101, 200]),
        ("achthundertvierundzwanzig Karten", [824]),
        ("neunzehnhundertfünfundvierzig", [1945]),
        ("zwölftausenddreihundertfünfundvierzig", [12_345]),
        ("hundertzwanzigtausend Leute", [120_000]),
        ("zwischen dreizehn und zwanzig", [13, 20]),
        ("neunzehn vierundachtzig", [1984]),
        ("tausend Dank, hundertprozentig", []),
        ("eins, zwei, zwölf", []),
        ("der einundzwanzigste Mai, zwanzigjährig", []),
        ("Tom ist Anfang Dreißig.", []),
        ("Dreißig Leute", [30]),
    ],
)
def test_german_numbers_in_words(text: str, values: list[int]) -> None:
    assert [numeral.value for numeral in Numerals(GERMAN).find(text)] == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("He is twenty-one, not sixty four.", [21, 64]),
        ("Twenty, thirty or forty", [20, 30, 40]),
        ("one hundred and twenty-three", [123]),
        ("a hundred and one", [101]),
        ("twelve thousand three hundred forty-five", [12_345]),
        ("three hundred thousand", [300_000]),
        ("two thousand and one", [2001]),
        ("between thirteen and twenty", [13, 20]),
        ("in nineteen eighty-four", [1984]),
        ("in nineteen hundred forty-five", [1945]),
        ("twelve thousand, three hundred", []),  # one number, or two
        ("the twenty-first of May, a twenty-one-year-old", []),
        ("a hundred, a thousand times, seven", []),
        ("HE IS FORTY", [40]),
    ],
)
def test_english_numbers_in_words(text: str, values: list[int]) -> None:
    assert [numeral.value for numeral in Numerals(ENGLISH).find(text)] == values


def test_the_place_of_a_number_is_found() -> None:
    text = "Er hat einhundertdrei Bücher."
    [numeral] = Numerals(GERMAN).find(text)
    assert text[numeral.begin : numeral.end] == "einhundertdrei"


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("vierundsechzig Seiten", "64 pages"),
        ("vierundsechzig Seiten", "sixty-four pages"),
        ("zwölftausend Euro", "12,000 euros"),
        ("zwölftausend Euro", "12 thousand euros"),
        ("zwölftausend Euro", "twelve thousand euros"),
        ("um sechs Uhr dreißig", "at 6:30"),
        ("hundertzwanzig Millionen", "120 million"),
        ("Mitte vierzig", "in her mid-forties"),
        ("achtzehn", "on her eighteenth birthday"),
        ("fünf Leute", "six people"),  # too small to be checked
    ],
)
def test_a_number_comes_through_as_words_or_digits(source: str, translation: str) -> None:
    assert NumberWords(GERMAN, ENGLISH).came_through(Run(source), Run(translation))


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("vierundsechzig Seiten", "46 pages"),
        ("vierundsechzig Seiten", "forty-six pages"),
        ("einunddreißig Euro", "euros"),
        ("zwanzig Leute", "twenty-one people"),
        ("achtundvierzig Karten", "840 cards"),
    ],
)
def test_a_wrong_or_lost_number_is_found(source: str, translation: str) -> None:
    assert not NumberWords(GERMAN, ENGLISH).came_through(Run(source), Run(translation))


def test_protected_numbers_become_digits_of_the_target() -> None:
    run = Run("zwölftausendeins Euro für neunzehnhundertvier")
    protected = NumberWords(GERMAN, ENGLISH).protect(run, Run("12 euros"))
    assert [(run.text[part.begin : part.end], part.raw) for part in protected.protected] == [
        ("zwölftausendeins", "12,001"),
        ("neunzehnhundertvier", "1904"),
    ]


def test_nothing_is_demanded_if_the_words_of_a_language_are_unknown() -> None:
    for target in (FRENCH, NEUTRAL):
        rule, run = NumberWords(GERMAN, target), Run("vierundsechzig")
        assert rule.came_through(run, Run("quarante-six"))
        assert rule.protect(run, Run("quarante-six")) is run
    assert NumberWords(FRENCH, GERMAN).came_through(Run("quarante-six"), Run("vierundsechzig"))
