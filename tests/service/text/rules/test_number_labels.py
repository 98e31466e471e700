"""Abbreviations in front of numbers are translated: No. 5, p. 12."""

import pytest

from service.text import document
from service.text.languages import profile
from service.text.pipeline import Pipeline
from service.text.rules.number_labels import NumberLabels
from service.text.run import Protected, Run

ENGLISH, GERMAN = profile("en"), profile("de")
RULE, REVERSE = NumberLabels(ENGLISH, GERMAN), NumberLabels(GERMAN, ENGLISH)


@pytest.mark.parametrize(
    ("source", "translation", "came_through"),
    [
        ("No. 5 is alive.", "Nr. 5 lebt.", True),
        ("No. 5 is alive.", "Nummer 5 lebt.", True),
        ("No. 5 is alive.", "Nein. 5 lebt.", False),
        ("See no. 3 below.", "Siehe nein. 3 unten.", False),
        ("Room No.12", "Zimmernummer 12", True),
        ("ROOM NO. 12", "ZIMMER NEIN. 12", False),
        ("The No. 1 hit", "Der Nummer-1-Hit", True),
        ("No. 3 is better than No. 4.", "Nr. 3 ist besser als nein. 4.", False),
        ("See vol. 2, p. 15.", "Siehe Bd. 2, S. 15.", True),
        ("See vol. 2, p. 15.", "Siehe Band 2, P. 15.", False),
        ("Sec. 5 of the law", "Sicher. 5 des Gesetzes", False),
        ("Sec. 5 of the law", "§ 5 des Gesetzes", True),
        ("No. He is ill.", "Nein. Er ist krank.", True),
        ("No, 5 will do.", "Nein, 5 reichen.", True),
        ("Stop. 5 of them came.", "Halt. 5 von ihnen kamen.", True),
        ("number 5", "Zahl 5", True),
        ("Bus p.66 and bus P. 66", "Bus p.66 und Bus P. 66", True),
    ],
)
def test_an_abbreviation_before_a_number_must_be_translated(
    source: str, translation: str, came_through: bool
) -> None:
    assert RULE.came_through(Run(source), Run(translation)) is came_through


@pytest.mark.parametrize(
    ("translation", "came_through"),
    [
        ("Look at p. 12 and fig. 3.", True),
        ("Look at page 12 and Figure 3.", True),
        ("Look at S. 12 and Abb. 3.", False),
        ("Look at p. 12 and Abb. 3.", False),
    ],
)
def test_an_abbreviation_must_not_be_copied(translation: str, came_through: bool) -> None:
    source = Run("Sieh auf S. 12 und Abb. 3 nach.")
    assert REVERSE.came_through(source, Run(translation)) is came_through


@pytest.mark.parametrize(
    ("rule", "source", "written"),
    [
        (RULE, "Order no. 4711-a was late", "Order Nr. 4711-a was late"),
        (RULE, "Nos. 3 and 4", "Nr. 3 and 4"),
        (RULE, "In vol. 2, pp. 3–5", "In Bd. 2, S. 3–5"),
        (REVERSE, "S. 3 ist leer", "P. 3 ist leer"),
        (REVERSE, "Auf S.\u00a03, Hausnr. 5", "Auf p. 3, Hausnr. 5"),
    ],
)
def test_a_protected_abbreviation_is_written_as_in_the_target_language(
    rule: NumberLabels, source: str, written: str
) -> None:
    assert rule.protect(Run(source), Run()).written() == written


def test_abbreviations_are_left_to_the_model_if_only_something_else_was_lost() -> None:
    run = Run("No. 5 costs €7.")
    assert RULE.protect(run, Run("Nr. 5 kostet 7.")) is run


def test_protected_abbreviations_are_not_demanded() -> None:
    run = Run("No. 5", protected=[Protected(0, 5)])
    assert RULE.came_through(run, run)


@pytest.mark.parametrize(("source", "target"), [("en", "qqq"), ("qqq", "de"), ("qqq", "qqr")])
def test_languages_without_such_data_demand_nothing(source: str, target: str) -> None:
    rule = NumberLabels(profile(source), profile(target))
    assert rule.came_through(Run("No. 5, Nr. 5, p. 5"), Run("5, 5, 5"))


def test_a_lost_abbreviation_is_restored() -> None:
    pipeline = Pipeline([RULE], ENGLISH)
    [sentence] = document.take_apart("Room No. 12 is free.", "text", pipeline=pipeline).sentences
    again = sentence.with_more_protected("Zimmer Nein. 12 ist frei.")
    assert again is not None
    [label] = again.stand_ins
    assert again.readable(f"Zimmer {label.name} ist frei.") == "Zimmer Nr. 12 ist frei."
