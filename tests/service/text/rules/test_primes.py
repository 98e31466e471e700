"""Signs of inches, feet and minutes after numbers must be in the translation; quotation marks are none."""

import doctest

import pytest

from service.text import document
from service.text.languages import profile
from service.text.pipeline import Pipeline
from service.text.rules import primes
from service.text.rules.placeholders import Placeholders
from service.text.rules.primes import signs_of
from service.text.rules.quotes import Quotes
from service.text.rules.units import Units
from service.text.run import Run

RULE = Units(profile("en"), profile("de"))


def test_the_examples_in_docstrings_are_right() -> None:
    assert doctest.testmod(primes) == (0, 1)


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ('A 5" nail and a 3/4" pipe', '""'),
        ("He is 6' 2\" tall.", "'\""),
        ("He is 6'2\" tall.", "'\""),
        ('6′ 2″, 3½"', '′″"'),
        ('A 27"-monitor, a "big" one', '"'),
        ('The "big" 5" screen', '"'),
        ("It's a 5\" screen, isn't it?", '"'),
        ("'A 5\" nail'", '"'),
        ('He said "I have 5".', ""),
        ('("Boeing 747") and "Windows 11".', ""),
        ("the '90', „Kanal 5“ and ‘6’", ""),
        ('<b width="5">, {"a":"5","b":"6"}', ""),
        ("the 1990's, rock 'n' roll, 5 o'clock", ""),
        ('"', ""),
    ],
)
def test_signs_are_told_from_quotation_marks(text: str, signs: str) -> None:
    assert "".join(text[at] for at in signs_of(Run(text))) == signs


def test_signs_in_code_are_not_read() -> None:
    run = Placeholders().prepare(Run('`5" x` 6"'))
    assert list(signs_of(run)) == [8]


@pytest.mark.parametrize(
    ("source", "translation", "came_through"),
    [
        ('A 5" nail.', 'Ein 5" Nagel.', True),
        ('A 5" nail.', "Ein 5-Zoll-Nagel.", True),
        ('A 5" nail.', "Ein 5 Zoll langer Nagel.", True),
        ('A 5" nail.', "Ein 5“ Nagel.", False),
        ('A 5" nail.', "Ein 5-Nagel.", False),
        ('A 5" nail.', 'Ein 5 "Nagel.', False),
        ('A 24" and a 27" monitor', 'Ein 24- und ein 27"-Monitor', False),
        ("He is 6' 2\" tall.", "Er ist 6' 2\" groß.", True),
        ("He is 6' 2\" tall.", "Er ist 6 Fuß 2 Zoll groß.", True),
        ("He is 6' 2\" tall.", 'Er ist 6, 2" groß.', False),
        ('He said "I have 5".', "Er sagte, ich habe 5.", True),
    ],
)
def test_signs_must_be_in_the_translation(
    source: str, translation: str, came_through: bool
) -> None:
    assert RULE.came_through(Run(source), Run(translation)) is came_through


def test_lost_signs_are_protected_and_quotes_are_not() -> None:
    pipeline = Pipeline([Quotes("„“‚‘"), RULE])
    text = 'The "big" 5" screen has 2 kg.'
    [sentence] = document.take_apart(text, "text", pipeline=pipeline).sentences
    again = sentence.with_more_protected("Der große 5-Bildschirm hat 2.")
    assert again is not None
    assert [stand_in.original for stand_in in again.stand_ins] == ['5"', "2 kg"]
    assert [tag.raw for tag in again.tags] == ["„", "“"]
