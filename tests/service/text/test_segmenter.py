"""Sentences as a reader would cut them, and not a character lost."""

import random

import pytest

from service.text.segmenter import split


def sentences(text: str) -> list[str]:
    return [segment.text for segment in split(text) if segment.is_sentence]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Guten Morgen! Wie geht es dir?", ["Guten Morgen!", "Wie geht es dir?"]),
        ("Er kam am 3. Mai. Dann ging er.", ["Er kam am 3. Mai.", "Dann ging er."]),
        ("Das war 1999. Ende.", ["Das war 1999.", "Ende."]),
        ("Er ist 30. Sie ist 25.", ["Er ist 30.", "Sie ist 25."]),
        ("I am 30. “You are 25.”", ["I am 30.", "“You are 25.”"]),
        ("No. 5 is at max. 3 km/h. No. Why?", ["No. 5 is at max. 3 km/h.", "No.", "Why?"]),
        ("Hauptstr. 5, Art. 7 gilt.", ["Hauptstr. 5, Art. 7 gilt."]),
        ("Im 2. Weltkrieg, am 10. 5. 1940.", ["Im 2. Weltkrieg, am 10. 5. 1940."]),
        ("Dr. Müller sagte z. B. nichts.", ["Dr. Müller sagte z. B. nichts."]),
        ("Mr. Smith lives at St. James. Really?", ["Mr. Smith lives at St. James.", "Really?"]),
        ("J. S. Bach was great.", ["J. S. Bach was great."]),
        ("„Hallo!“ Sie lachte.", ["„Hallo!“", "Sie lachte."]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("It costs 3.50 euros. e.g. this", ["It costs 3.50 euros. e.g. this"]),
        ("Wait... What?!  Yes", ["Wait...", "What?!", "Yes"]),
        ("one line\nanother", ["one line", "another"]),
        ("- first point\n  * second. Third.", ["first point", "second.", "Third."]),
        ("1. Mix it.\n2. Bake it.", ["Mix it.", "Bake it."]),
        ("今日は。元気？はい", ["今日は。", "元気？", "はい"]),
        ("no end", ["no end"]),
    ],
)
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "42", "😀 !!!", "---", "3.14\t2.72", "\u2028", "* \n-"]
)
def test_what_has_no_letter_is_no_sentence(text: str) -> None:
    assert sentences(text) == []
    assert "".join(segment.text for segment in split(text)) == text


def test_the_layout_is_never_lost() -> None:
    rng = random.Random(0)
    alphabet = 'aB.!? \n\t\r-*1)("„“…😀\u00a0\u2028ßÄ。'
    for _ in range(3000):
        text = "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 40)))
        segments = split(text)
        assert "".join(segment.text for segment in segments) == text
        for segment in segments:
            assert segment.text
            if segment.is_sentence:
                assert segment.text == segment.text.strip()
                assert any(character.isalpha() for character in segment.text)
