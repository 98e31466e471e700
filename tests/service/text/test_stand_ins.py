"""Stand-ins of every kind: which replaces what, and how it comes back."""

import pytest

from service.text.rules.placeholders import Placeholders
from service.text.run import Run
from service.text.sentence import Sentence, prepared
from service.text.stand_ins import CAPITALS, FIGURES, NAMES
from tests.service.text.pipelines import every_rule, take_apart

TOKENS = ("<p0>", "<p1>")
KINDS = (CAPITALS, FIGURES, NAMES)


def sentence(text: str, *, has_tokens: bool = False) -> Sentence:
    rule = Placeholders(TOKENS if has_tokens else (), KINDS)
    [found] = take_apart(text, "text", placeholders=rule).sentences
    return found


@pytest.mark.parametrize(
    ("text", "read", "translation", "written"),
    [
        # German to English
        ("{name}s Geburtstag", "Toms Geburtstag", "Tom's birthday", "{name}'s birthday"),
        (
            "${user}s Datei fehlt",
            "Toms Datei fehlt",
            "Tom's file is missing",
            "${user}'s file is missing",
        ),
        (
            "Das ist %1$ss Konto",
            "Das ist Toms Konto",
            "This is Tom's account",
            "This is %1$s's account",
        ),
        ("{0}s Profil", "Toms Profil", "Tom's profile", "{0}'s profile"),
        ("{count}ter Versuch", "426ter Versuch", "426th attempt", "{count}th attempt"),
        ("in {n}er Schritten", "in 426er Schritten", "in steps of 426", "in steps of {n}"),
        (
            "Die {type}datei fehlt",
            "Die 426datei fehlt",
            "The 426 file is missing",
            "The {type} file is missing",
        ),
        ("{size}MB frei", "426MB frei", "426MB free", "{size}MB free"),
        (
            "mindestens {min} Zeichen",
            "mindestens 20 Zeichen",
            "at least 20 characters",
            "at least {min} characters",
        ),
        ("noch {days_left} Tage", "noch 20 Tage", "20 days left", "{days_left} days left"),
        ("Un{name}lich", "Un426lich", "un426ly", "un{name}ly"),
        (
            "{a}s und {b}s Hund",
            "Toms und Bostons Hund",
            "Tom's and Boston's dog",
            "{a}'s and {b}'s dog",
        ),
        # English to German
        ("This is {name}'s car", "This is Tom's car", "Das ist Toms Auto", "Das ist {name}s Auto"),
        ("{user}’s profile", "Tom’s profile", "Toms Profil", "{user}s Profil"),
        ("{{ name }}'s files", "Tom's files", "Toms Dateien", "{{ name }}s Dateien"),
        ("the {n}th attempt", "the 426th attempt", "der 426. Versuch", "der {n}. Versuch"),
        ("{count}x viewed", "426x viewed", "426x angesehen", "{count}x angesehen"),
        ("{w}px wide", "Tompx wide", "Tompx breit", "{w}px breit"),
        (
            "at least {min} characters",
            "at least 20 characters",
            "mindestens 20 Zeichen",
            "mindestens {min} Zeichen",
        ),
        (
            "no more than {maxFiles} files",
            "no more than 20 files",
            "höchstens 20 Dateien",
            "höchstens {maxFiles} Dateien",
        ),
        (
            "at most %(limit)s images",
            "at most 20 images",
            "höchstens 20 Bilder",
            "höchstens %(limit)s Bilder",
        ),
        ("the file{s} below", "the file426 below", "die Datei426 unten", "die Datei{s} unten"),
        ("page {page} of {total}", "page 20 of 50", "Seite 20 von 50", "Seite {page} von {total}"),
        ("log in as {name}", "log in as QVJ", "anmelden als QVJ", "anmelden als {name}"),
    ],
)
def test_a_placeholder_is_read_as_a_word_of_its_kind(
    text: str, read: str, translation: str, written: str
) -> None:
    found = sentence(text)
    assert found.text == read
    assert found.came_through(translation)
    assert found.readable(translation) == written


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("{name}s Datei, {path}", "Toms Datei, <p0>"),
        ("{user}'s file", "Tom's file"),
        ("{n}ter Versuch", "426ter Versuch"),
        ("Die {type}datei, mindestens {min}", "Die <p0>datei, mindestens <p1>"),
        ("Die {name}s-Datei", "Die <p0>s-Datei"),
    ],
)
def test_only_an_ending_needs_a_name_or_figure_in_place_of_a_token(text: str, read: str) -> None:
    assert sentence(text, has_tokens=True).text == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("5 {unit} Mehl", "5 QVJ Mehl"),
        ("5.{min} Mehl", "5.QVJ Mehl"),
        ("{min} 5 Stück", "QVJ 5 Stück"),
        ("{min} von 20 oder 1.500 Zeichen", "50 von 20 oder 1.500 Zeichen"),
        ("Um {hour}:{minute}", "Um QVJ:WRF"),
        ("{min}, {max} Zeichen", "20, 50 Zeichen"),
        ("{min}-{max} Zeichen", "20-50 Zeichen"),
        ("{width}x{height} Punkte", "426x265 Punkte"),
        ("{a}s Hund mag Tom", "Bostons Hund mag Tom"),
        ("{a} und QVJ", "WRF und QVJ"),
    ],
)
def test_a_stand_in_is_not_confused_with_the_text(text: str, read: str) -> None:
    assert sentence(text).text == read


@pytest.mark.parametrize("merged", ["5,20 files", "20.5 files", "5:20 files", "120 files", "files"])
def test_a_figure_that_is_part_of_another_number_is_lost(merged: str) -> None:
    assert not sentence("{min} Dateien").came_through(merged)


def test_another_attempt_replaces_what_was_lost_by_another_kind() -> None:
    first = sentence("{name} hat {count} Dateien, 12 davon neu.")
    assert first.text == "QVJ hat 20 Dateien, 12 davon neu."
    again = first.with_more_protected("КВЙ has 20 files, 12 of them new.")
    assert again is not None
    assert again.text == "426 hat 265 Dateien, 12 davon neu."  # 12 was not lost
    assert again.readable("426 has 265 files, 12 new.") == "{name} has {count} files, 12 new."
    numbers = first.with_more_protected("QVJ has 20 files, many of them new.")
    assert numbers is not None
    assert numbers.text == "QVJ hat 20 Dateien, 50 davon neu."


def test_a_lost_token_is_replaced_by_another_kind() -> None:
    again = sentence("Hallo {name}!", has_tokens=True).with_more_protected("Hello!")
    assert again is not None
    assert again.text == "Hallo QVJ!"


def test_more_parts_than_stand_ins_of_a_kind_have_those_of_others() -> None:
    text = " und ".join(f"{{a{letter}}}" for letter in "bcdefghijklmo")
    found = sentence(text)
    assert len({one.name for one in found.stand_ins}) == 13
    assert found.readable(found.text) == text


def test_without_stand_ins_a_sentence_is_not_read() -> None:
    pipeline = every_rule()
    assert prepared(pipeline.prepare_run(Run("{a} " * 100 + "da")), pipeline) is None
