"""The numbers of a translation are those of its source."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.document import Sentence
from service.text.pipeline import Pipeline
from service.text.rules import numbers
from service.text.rules.numbers import Numbers
from service.text.run import Run, Tag
from tests.service.text.pipelines import take_apart

RULE = Numbers()


def test_the_examples_in_the_docstrings() -> None:
    assert doctest.testmod(numbers) == (0, 1)


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("Raum 214 ist frei.", "Room 214 is free."),
        ("Es kostet 2.450,90 €.", "It costs €2,450.90."),
        ("Um 19:05 Uhr", "At 7:05 pm"),
        ("at 12:30 am", "um 0:30 Uhr"),
        ("Am 01.09.2025", "On 9/1/2025"),
        ("1989 und 1990", "1990 and 1989"),
        ("Drei Hunde", "3 dogs"),
        ("В комнате 12 окон.", "The room has 12 windows."),
        ("私は3匹の犬を飼っています。", "I have 3 dogs."),
        ("عندي ٣ كلاب", "I have 3 dogs"),
        ("मेरे पास २५ किताबें हैं", "I have 25 books"),
    ],
)
def test_they_may_be_written_otherwise(source: str, translation: str) -> None:
    assert RULE.came_through(Run(source), Run(translation))


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("Raum 214 ist frei.", "Room 241 is free."),
        ("Raum 214 ist frei.", "The room is free."),
        ("Raum 214 ist frei.", "Room 214, 214 is free."),
        ("Linie 7", "Line 70"),
        ("Es kostet 2.450,90 €.", "It costs €2,450.09."),
        ("Um 19:05 Uhr", "At 7:50 pm"),
        ("IBAN DE89 3704 0044", "IBAN DE89 3704 0032"),
        ("Version 10.4.11", "Version 10.4"),
        ("20 Hunde", "twenty dogs"),
        ("Кабинет 58", "Room 85"),
    ],
)
def test_none_may_be_another(source: str, translation: str) -> None:
    assert not RULE.came_through(Run(source), Run(translation))


@pytest.mark.parametrize(
    ("text", "protected"),
    [
        ("Ruf +43 1 58858 0 an.", ["+43 1 58858 0"]),
        ("Teil BX-7731-09C/4, zweimal", ["BX-7731-09C/4"]),
        ("von 1848, 1918 bis 1989.", ["1848", "1918", "1989"]),
        ("20 x 30 cm, 0x7F, Gleis 4b", ["20", "30", "0x7F", "4b"]),
        ("am 3. Mai um 17:48 Uhr", ["3", "17:48"]),
        ("COVID-19 und H2O", ["COVID-19", "H2O"]),
        ("東京2020年に", ["2020"]),
        ("Кабинет 4б, 3-Zimmer-Wohnung", ["4б", "3"]),
        ("ohne Zahl", []),
    ],
)
def test_what_is_protected_when_they_did_not_come_through(text: str, protected: list[str]) -> None:
    run = RULE.protect(Run(text))
    assert [run.text[one.begin : one.end] for one in run.protected] == protected


def test_tags_within_a_number_stay_in_it() -> None:
    run = RULE.protect(Run("um 1730 Uhr", [Tag(5, "<sup>", "open"), Tag(7, "</sup>", "close")]))
    [one] = run.protected
    assert (one.raw, run.tags) == ("17<sup>30</sup>", [])


def sentence(text: str) -> Sentence:
    return Sentence(text, source=Run(text), pipeline=Pipeline([RULE]))


def test_a_second_attempt_has_other_numbers_in_their_places() -> None:
    again = sentence("Im Jahr 1848 um 17:48 Uhr in Raum 12").protected()
    assert again is not None
    assert again.text == "Im Jahr 2010 um 10:15 Uhr in Raum 20"
    assert again.came_through("In 2010 at 10:15 in room 20")
    assert again.readable("In 2010 at 10:15 in room 20") == "In 1848 at 17:48 in room 12"
    assert not again.came_through("In 2010 at 10:15 in the room")


def test_where_there_are_too_many_there_is_no_second_attempt_but_in_pieces() -> None:
    text = " und ".join(f"{number}{number}" for number in range(1, 9))
    assert sentence(text).protected() is None
    pieces = sentence(text).in_pieces()
    assert [piece for piece in pieces.pieces[::2] if piece] == [" und "] * 7
    assert pieces.readable("".join(pieces.pieces)) == text


@given(st.lists(st.integers(0, 10**9) | st.floats(0, 1e6).map("{:.2f}".format), min_size=1))
def test_whatever_they_are_the_same_ones_come_through_and_one_less_does_not(
    figures: list[object],
) -> None:
    text = Run(" Wort, ".join(map(str, figures)))
    assert RULE.came_through(text, Run(" mot, ".join(map(str, figures[::-1]))))
    assert not RULE.came_through(text, Run(" mot, ".join(map(str, figures[1:]))))


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_protected_and_comes_back(text: str, translation: str) -> None:
    RULE.came_through(Run(text), Run(translation))
    assert RULE.protect(Run(text)).with_markup().text == text
    in_pieces = sentence(text).in_pieces()
    assert in_pieces.readable("".join(in_pieces.pieces)) == text


def test_a_number_stands_in_for_the_number_of_a_plural() -> None:
    parts = take_apart("{n, plural, one {# Hund} other {# Hunde}}", "text").parts
    assert [part.text for part in parts if not isinstance(part, str)] == ["20 Hund", "20 Hunde"]
