"""Names that are not known words must be in the translation."""

import pytest

from service.text import document
from service.text.known_words import KnownWords
from service.text.pipeline import Pipeline
from service.text.rules.names import Names
from service.text.rules.unknown_names import UnknownNames
from service.text.run import Protected, Run

KNOWN = KnownWords(["das", "die", "wir", "nach"], ["haus", "mann", "kommission"], ["", "s"])
RULE = UnknownNames(KNOWN)


@pytest.mark.parametrize(
    ("source", "translation", "came_through"),
    [
        ("Das Haus gehört Holtkamp.", "The house belongs to Holtkamp.", True),
        ("Das Haus gehört Holtkamp.", "The house belongs to Holtkamp's.", True),
        ("Das Haus gehört Holtkamp.", "The house belongs to wood camp.", False),
        ("Holtkamps Haus", "Holtkamp's house", True),
        ("Tremblay's house", "Tremblays Haus", True),
        ("Die Komission", "The commission", True),
        ("Das Haus gehört holtkamp.", "The house belongs to wood camp.", True),
        ("DAS HAUS, HOLTKAMP.", "The house, wood camp.", False),
        ("DAS HAUS, HOLTKAMP.", "The house, Holtkamp.", True),
        ("Die Kommission VII", "The commission VIII", False),
        ("Die Kommission VII.", "The commission VII", True),
        ("Das Haus: COBADEFFXXX", "The house: COBADEFFXX", False),
        ("Das Haus, die PPSP", "The house, the PPSPs", True),
        ("Die PPSP-Kommission", "The commission", True),
        ("Das HAUS", "The house", True),
        ("Die Holtkamp-Kommission", "The commission", True),
        ("Haus", "House", True),
    ],
)
def test_an_unknown_name_must_be_in_the_translation(
    source: str, translation: str, came_through: bool
) -> None:
    assert RULE.came_through(Run(source), Run(translation)) is came_through


@pytest.mark.parametrize(
    ("source", "translation", "came_through"),
    [
        ("Das Haus gehört Hausbot.", "The house belongs to Hausbod.", False),
        ("Das Haus gehört Hausbot.", "The house belongs to belomgs.", True),
        ("Das Hausbot", "The houseboat", True),
        ("Das Hausbot", "The dwelling on water", True),
        ("Das Haus", "The Hauss", True),
        ("Das Hausbot", "The housebot", True),  # a typo of an English word
        ("Das Haus gehört Hausberg.", "The house belongs to Housberg.", True),  # a compound
        ("Das Haus gehört Hausmann.", "The house belongs to Hausmenn.", True),
        ("Das HAUS", "The HUS", False),  # an acronym
        ("Das HAUS", "The HOUSE", True),
        ("Das HAUS", "The hus", True),
        ("HAUS", "Hus", False),
    ],
)
def test_a_typo_with_an_imitation_is_a_name(
    source: str, translation: str, came_through: bool
) -> None:
    known = KnownWords(["das"], ["berg", "haus", "hausboot", "gehört"], ["", "s"])
    targets = KnownWords(["to", "on"], ["house", "houseboat", "dwelling", "water", "belongs"])
    translated = ["Hausmann"]
    rule = UnknownNames(known, targets, translated)
    assert rule.came_through(Run(source), Run(translation)) is came_through
    without_targets = UnknownNames(known, None, translated)
    assert without_targets.came_through(Run(source), Run(translation))


def test_an_imitated_name_is_protected() -> None:
    rule = UnknownNames(KNOWN, KnownWords(["to", "the"], ["house", "belongs"]))
    sentence = Run("Das Haus gehört Komission.")
    translation = Run("The house belongs to Comission.")
    [protected] = rule.protect(sentence, translation).protected
    assert sentence.text[protected.begin : protected.end] == "Komission"


def test_a_roman_numeral_must_not_become_another_one() -> None:
    rule = UnknownNames(KnownWords(["band", "iii"]))
    assert not rule.came_through(Run("Band III"), Run("Volume II"))
    assert not rule.came_through(Run("Band III"), Run("Volume V"))
    assert rule.came_through(Run("Band III"), Run("Volume III"))


def test_a_roman_numeral_may_become_an_ordinal() -> None:
    rule = UnknownNames(KnownWords(["band", "iii"]))
    assert rule.came_through(Run("Band III"), Run("Third volume"))
    assert rule.protect(Run("Band III"), Run("Third volume")) == Run("Band III")


def test_lost_names_are_protected() -> None:
    pipeline = Pipeline([RULE])
    [sentence] = document.take_apart(
        "Wir warten auf Maren Holtkamp.", "text", pipeline=pipeline
    ).sentences
    assert not sentence.came_through("We're waiting for sea wood camp.")
    again = sentence.with_more_protected("")
    assert again is not None
    first, second = (one.name for one in again.stand_ins)
    assert again.text == f"Wir warten auf {first} {second}."
    assert again.came_through(f"We're waiting for {first} {second}.")
    assert (
        again.readable(f"We're waiting for {first} {second}.")
        == "We're waiting for Maren Holtkamp."
    )


def test_all_names_are_protected_if_one_is_lost() -> None:
    sentence = Run("Wir kennen Holtkamp, Hausmann und das Haus.")
    protected = RULE.protect(sentence, Run("We know wood camp, Hausmann and the house.")).protected
    assert [sentence.text[one.begin : one.end] for one in protected] == ["Holtkamp", "Hausmann"]


def test_names_in_the_table_are_not_demanded() -> None:
    rule = UnknownNames(KNOWN, translated=Names({"Nanking": "Nanjing"}).words)
    assert rule.came_through(Run("Nach Nanking"), Run("To Nanjing"))
    assert not RULE.came_through(Run("Nach Nanking"), Run("To Nanjing"))


def test_protected_names_are_not_demanded() -> None:
    source = Run("Das Haus von Holtkamp", protected=[Protected(13, 21, "the wood camp")])
    assert RULE.came_through(source, Run("The house of the wood camp"))


def test_protected_names_are_not_protected_again() -> None:
    run = Run("Holtkamp und Holtkamp", (), [Protected(0, 8)])
    assert RULE.protect(run, Run()).protected == [Protected(0, 8), Protected(13, 21)]


def test_without_known_words_no_name_is_demanded() -> None:
    rule = UnknownNames(KnownWords(()))
    assert rule.came_through(Run("Holtkamp"), Run("wood camp"))
    assert rule.protect(Run("Holtkamp"), Run()) == Run("Holtkamp")
