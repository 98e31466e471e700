"""Ordinal numbers have the right endings, and labels do not become part of their amounts."""

import pytest

from service.text import document
from service.text.languages import profile
from service.text.pipeline import Pipeline
from service.text.rules.numbers import Numbers
from service.text.rules.placeholders import Placeholders
from service.text.run import Run


@pytest.mark.parametrize(
    ("languages", "source", "translation", "expected"),
    [
        ("de-en", "am 3. Mai", "on May 3th", "on May 3rd"),
        ("de-en", "am 21. März, am 22. Juni", "on March 21th, June 22th", "on March 21st, June 22nd"),
        ("de-en", "im 11. und 112. Haus", "in the 11st and 112nd house", "in the 11th and 112th house"),
        ("de-en", "Im 20. Jahrhundert", "In the 20. century", "In the 20th century"),
        ("de-en", "vom 1. Mai 2020", "from 1. May 2020", "from 1st May 2020"),
        ("de-en", "Ich bin 25. Peter ist 3.", "I am 25. Peter is 3.", "I am 25. Peter is 3."),
        ("de-en", "das 13th Floor", "the 13th floor", "the 13th floor"),
        ("de-en", "der Name 23th", "the name 23th", "the name 23th"),
        ("en-de", "the 3rd house", "das 3rd Haus", "das 3. Haus"),
        ("en-de", "on May 3rd", "am 3. Mai", "am 3. Mai"),
        ("en-fr", "the 3rd house", "la 3th maison", "la 3th maison"),
    ],
)  # fmt: skip
def test_ordinal_numbers_get_the_right_ending(
    languages: str, source: str, translation: str, expected: str
) -> None:
    rule = Numbers(*map(profile, languages.split("-")))
    assert rule.restore(Run(source), Run(translation)).text == expected


@pytest.mark.parametrize(
    ("languages", "source", "copied", "expected"),
    [
        ("de-en", "am 3. Mai", "on May {}th", "on May 3rd"),
        ("de-en", "am 21. März", "on March {}th", "on March 21st"),
        ("en-de", "on May 3rd", "am {}. Mai", "am 3. Mai"),
        ("en-de", "the 3rd house", "das {} Haus", "das 3. Haus"),
    ],
)
def test_the_ending_of_a_token_does_not_remain_behind_a_number(
    languages: str, source: str, copied: str, expected: str
) -> None:
    rule = Numbers(*map(profile, languages.split("-")))
    pipeline = Pipeline([Placeholders(("<p0>",)), rule])
    [sentence] = document.take_apart(source, "text", pipeline=pipeline).sentences
    again = sentence.with_more_protected("nothing")
    assert again is not None
    [number] = again.stand_ins
    assert again.readable(copied.format(number.name)) == expected


@pytest.mark.parametrize(
    ("languages", "source", "translation", "expected"),
    [
        ("de-en", "Summe 997,22 €", "€997.22", False),
        ("de-en", "Summe 997,22 €", "Total €997.22", True),
        ("de-en", "Preis: 20 Euro", "20 euros", False),
        ("de-en", "Miete 500 €", "€500", False),
        ("de-en", "20 Euro, 5 Kilometern", "20 euros, 5 kilometers", True),
        ("de-en", "am 3. Mai 2020 bis 8 Uhr", "3 May 2020, 8 o'clock", True),
        ("de-en", "im Jahr 2020", "2020", True),
        ("de-en", "5:00 Uhr morgens", "5:00 a.m.", True),
        ("en-de", "5 years", "5 Jahre", True),
        ("en-de", "Total 5 kg", "5 kg", False),
        ("en-de", "1.5 million", "1,5 Millionen", True),
        ("ja-en", "合計5", "5", True),
    ],
)
def test_a_label_does_not_become_part_of_its_amount(
    languages: str, source: str, translation: str, expected: bool
) -> None:
    rule = Numbers(*map(profile, languages.split("-")))
    assert rule.came_through(Run(source), Run(translation)) is expected
