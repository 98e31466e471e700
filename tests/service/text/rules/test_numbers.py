"""The numbers of a translation are those of its source."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.languages import profile
from service.text.pipeline import Pipeline
from service.text.rules.numbers import Numbers
from service.text.rules.placeholders import Placeholders
from service.text.run import Run, Tag
from service.text.sentence import Sentence
from tests.service.text.pipelines import take_apart

RULE = Numbers(profile("de"), profile("en"))


def came_through(source: str, translation: str, languages: str = "de-en") -> bool:
    rule = Numbers(*map(profile, languages.split("-")))
    return rule.came_through(Run(source), Run(translation))


@pytest.mark.parametrize(
    ("languages", "source", "translation", "expected"),
    [
        ("de-en", "71.544 und 28.914", "71,544 and 28.914", "71,544 and 28,914"),
        ("de-en", "1.234.567 und 1.500", "1.500 and 1,234,567", "1,500 and 1,234,567"),
        ("de-en", "12.500 € und 3.125,50 $", "12.500 € and $3.125,50", "12,500 € and $3,125.50"),
        ("en-de", "€1,150 in 2,400 parts", "1,150 € in 2.400 Teilen", "1.150 € in 2.400 Teilen"),
        ("en-de", "1,500 kg, 2,750 kg", "1,500 kg, 2.750 kg", "1.500 kg, 2.750 kg"),
        ("de-en", "98.207 Dateien", "98.207 files", "98,207 files"),
        ("de-en", "2.259 von 98.207", "2.259 of 98.207", "2,259 of 98,207"),
        ("de-en", "1.234.567 Zeilen", "1.234.567 lines", "1,234,567 lines"),
        ("de-en", "Es sind 1.500.", "It is 1.500.", "It is 1,500."),
        ("de-en", "nur 12,5 oder 0,25", "only 12,5 or 0,25", "only 12.5 or 0.25"),
        ("de-en", "in 2:14,5 und 10:22:31,508", "in 2:14,5, 10:22:31,508", "in 2:14,5, 10:22:31,508"),
        ("en-de", "[00:54.66] 1:02:33.4", "[00:54.66] 1:02:33.4", "[00:54.66] 1:02:33.4"),
        ("de-en", "im Maßstab 1:50.000", "scale 1:50.000", "scale 1:50,000"),
        ("en-de", "1.234, 2.345 and 3.456", "1,234, 2,345 und 3.456", "1,234, 2,345 und 3,456"),
        ("en-de", "a mean of 12.345 (SD 1.234)", "Mittel 12.345 (SD 1.234)", "Mittel 12,345 (SD 1,234)"),
        ("en-de", "95.19 or 97.51", "95,19 oder 97.51", "95,19 oder 97,51"),
        ("en-de", "75.8% to 55.1%", "75.8 % bis 55.1 %", "75,8 % bis 55,1 %"),
        ("en-de", "1.5–2.0 GB", "1.5–2.0 GB", "1,5–2,0 GB"),
        ("en-de", "α = 0.05 and β = 0.2", "α = 0,05 und β = 0.2", "α = 0,05 und β = 0,2"),
        ("en-de", "CHF 12.50 and 9.75 euros", "CHF 12.50 und 9.75 Euro", "CHF 12,50 und 9,75 Euro"),
        ("en-fr", "1,500 m and 2.5 kg", "1,500 m et 2.5 kg", "1\u202f500 m et 2,5 kg"),
        ("fr-en", "2,5 litres", "2,5 litres", "2.5 litres"),
        # nothing says that these are amounts
        ("de-en", "Version 1.234", "Version 1.234", "Version 1.234"),
        ("de-en", "Artikelnummer: 12.345, 3,5 kg", "12.345, 3,5 kg", "12.345, 3.5 kg"),
        ("en-de", "PHP 8.1 and 8.2 need 2.5 MB", "PHP 8.1 und 8.2, 2.5 MB", "PHP 8.1 und 8.2, 2,5 MB"),
        ("en-de", "newer than 1.2", "neuer als 1.2", "neuer als 1.2"),
        ("en-de", "nginx 1.25 needs 2.5 GB", "nginx 1.25 mit 2.5 GB", "nginx 1.25 mit 2,5 GB"),
        ("en-de", "ubuntu 22.04 costs $2.50", "ubuntu 22.04: 2,50 $", "ubuntu 22.04: 2,50 $"),
        ("en-de", "See section 2.5 A new hope.", "Abschnitt 2.5 Eine neue", "Abschnitt 2.5 Eine neue"),
        ("en-de", 'the value "1.234"', "der Wert „1.234“", "der Wert „1.234“"),
        ("de-en", "die Punkte (0,1) und (1,1)", "points (0,1) and (1,1)", "points (0,1) and (1,1)"),
        ("en-de", "at 9.30 for $8", "um 9.30 Uhr für 8 $", "um 9.30 Uhr für 8 $"),
        ("de-en", "192.168.100.200 hat 1.500 Nutzer", "192.168.100.200, 1.500", "192.168.100.200, 1,500"),
        # the same number as an amount and something else
        ("de-en", "1.234 kg Version 1.234", "1.234 kg Version 1.234", "1.234 kg Version 1.234"),
        ("de-en", "1,234 und 1.234", "1.234 and 1,234", "1.234 and 1,234"),
        ("de-en", "10.100.200.150", "10.100.200.150", "10.100.200.150"),
        # no groups of digits
        ("de-en", "1.500 €, 2.5, a1.200, 1.20", "€1,500, 2.5, a1.200, 1.20", "€1,500, 2.5, a1.200, 1.20"),
        ("de-en", "0.006", "0.006", "0.006"),
        # the same format, or one with other marks
        ("en-ja", "$1,500", "$1,500", "$1,500"),
        ("de-es", "1.500 €", "1.500 €", "1.500 €"),
        ("de-fr", "1.500 €", "1.500 €", "1.500 €"),
    ],
)  # fmt: skip
def test_amounts_left_in_the_format_of_the_source_get_that_of_the_target(
    languages: str, source: str, translation: str, expected: str
) -> None:
    rule = Numbers(*map(profile, languages.split("-")))
    assert rule.restore(Run(source), Run(translation)).text == expected


def test_protected_amounts_have_the_format_of_the_target() -> None:
    text = "1.500 Bücher, 2.750 Hefte"
    protected = RULE.protect(Run(text), Run("1,500 books, 2.7 notebooks")).protected
    assert [part.raw for part in protected] == ["1,500", "2,750"]
    text = "Version 1.500, Version 2.750"
    unconverted = RULE.protect(Run(text), Run("version 1.500")).protected
    assert [text[part.begin : part.end] for part in unconverted] == ["1.500", "2.750"]
    assert not any(part.raw for part in unconverted)


def test_nothing_is_converted_in_a_document_in_the_format_of_the_target() -> None:
    rule = RULE.adapted(["Der Faktor ist 0.5.", "Es sind 1.234."])
    assert rule.restore(Run("Es sind 1.234."), Run("It is 1.234.")).text == "It is 1.234."
    assert rule.kept(Run("1.234")).text == "1.234"
    [protected] = rule.protect(Run("1.234"), Run()).protected
    assert protected.raw is None
    assert RULE.adapted(["Der Faktor ist 0,5.", "Es sind 1.234."]) is RULE


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("de-en", "Raum 214 ist frei.", "Room 214 is free."),
        ("de-en", "Es kostet 2.450,90 €.", "It costs €2,450.90."),
        ("de-en", "Es kostet 2.450,90 €.", "It costs 2.450,90 €."),
        ("de-en", "3.450.000 Leute", "3,450,000 people"),
        ("de-en", "Um 19:05 Uhr", "At 7:05 pm"),
        ("de-en", "Um 19:05 Uhr", "At 19:05"),
        ("de-en", "Um 17 Uhr", "At 17 o'clock"),
        ("en-de", "at 12:30 am", "um 0:30 Uhr"),
        ("en-de", "at 5:00 p.m.", "um 17:00 Uhr"),
        ("en-de", "We need 3.5 litres.", "Wir brauchen 3,5 Liter."),
        ("en-de", "On July 22nd, 2024", "Am 22. Juli 2024"),
        ("en-de", "About 4.5 kg", "Etwa 4,5 kg"),
        ("de-en", "1,5 x 2 m", "1.5 x 2 m"),
        ("de-en", "Länge 3,5 m", "Length 3.5 m"),
        ("en-de", "at 12:15 PM", "um 12:15 Uhr"),
        ("de-en", "Am 01.09.2025", "On 9/1/2025"),
        ("de-en", "1989 und 1990", "1990 and 1989"),
        ("en-de", "p < .05 and r = -.3", "p < 0,05 und r = -0,3"),
        ("de-en", "in den 1970er Jahren", "in the 1970s"),
        ("de-en", "Seite 12-18", "pages 12 to 18"),
        ("de-en", "Es steht 3:1.", "It is 3-1."),
        ("de-en", "Bei -5,5 Grad", "At -5.5 degrees"),
        ("de-en", "der 3. Mai", "the 3rd of May"),
        ("de-en", "Drei Hunde", "3 dogs"),
        ("ru-en", "В комнате 12 окон.", "The room has 12 windows."),
        ("ja-en", "私は3匹の犬を飼っています。", "I have 3 dogs."),
        ("ar-en", "عندي ٣ كلاب", "I have 3 dogs"),
        ("hi-en", "मेरे पास २५ किताबें हैं", "I have 25 books"),
    ],
)
def test_numbers_may_be_written_in_another_form(
    languages: str, source: str, translation: str
) -> None:
    assert came_through(source, translation, languages)


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("de-en", "Raum 214 ist frei.", "Room 241 is free."),
        ("en-de", "p < .05", "p < 5"),
        ("de-en", "Das kostet –,50 €.", "That costs €50."),
        ("de-en", "Raum 214 ist frei.", "The room is free."),
        ("de-en", "Raum 214 ist frei.", "Room 214, 214 is free."),
        ("de-en", "Linie 7", "Line 70"),
        ("de-en", "Es kostet 2.450,90 €.", "It costs €2,450.09."),
        ("de-en", "3.450.000 Leute", "3,450.000 people"),
        ("en-de", "It costs $2,450.90.", "Es kostet 2.450.90 $."),
        ("de-en", "Version 3.85", "version 3,85"),
        ("de-en", "ab 0.006", "from 0,006"),
        ("de-en", "Version 3.85", "version 385"),
        ("en-de", "We use Python 3.12 here.", "Wir nutzen hier Python 3,12."),
        ("en-de", "We use v6.8 here.", "Wir nutzen hier v6,8."),
        ("de-en", "Um 19:05 Uhr", "At 7:50 pm"),
        ("de-en", "Um 0:48 Uhr", "At 0:48 am"),  # that is 12:48 am
        ("de-en", "Um 19:05 Uhr", "At 7:05"),
        ("de-en", "Um 6:05 Uhr", "At 6:05 p.m."),
        ("de-en", "Um 14 Uhr", "At 14pm"),
        ("en-de", "at 5 pm", "um 5 Uhr"),
        ("en-de", "at 5 pm", "um 17 Uhr"),  # as good, but another number
        ("en-de", "at 9:00 am", "um 21:00 Uhr"),
        ("de-en", "IBAN DE89 3704 0044", "IBAN DE89 3704 0032"),
        ("de-en", "Version 10.4.11", "Version 10.4"),
        ("de-en", "Der Server 10.6.4.18", "The server 10,6.4.18"),
        ("de-en", "Version 2.1.0-rc.2", "Version 2.1.0-ric.2"),
        ("de-en", "20 Hunde", "twenty dogs"),
        ("de-en", "Bei -5 Grad", "At 5 degrees"),
        ("de-en", "Haus 12c", "House 12"),
        ("de-en", "Ruf 083 1951-15 an", "Call 083 in 1951-15"),
        ("de-en", "3 x 5 x 7 cm", "3 x 5 7 cm"),
        ("de-en", "Das Auto M-KX 218", "The car M-K 218"),
        ("de-en", "Teil BX-7731", "Part 7731"),
        ("ru-en", "Кабинет 58", "Room 85"),
        ("de-en", "Siehe § 433 Abs. 2", "See phase 433 (2)"),
        ("en-de", "at 7 o'clock pm", "um 7 Uhr"),
        ("en-de", "Open from 9–5.", "Geöffnet von 9:5 Uhr."),
    ],
)
def test_changed_numbers_are_rejected(languages: str, source: str, translation: str) -> None:
    assert not came_through(source, translation, languages)


@pytest.mark.parametrize(
    ("text", "protected"),
    [
        ("Ruf +43 1 58858 0 an.", ["+43 1 58858 0"]),
        ("Teil BX-7731-09C/4, zweimal", ["BX-7731-09C/4"]),
        ("von 1848, 1918 bis 1989.", ["1848", "1918", "1989"]),
        ("20 x 30 cm, 0x7F, Gleis 4b", ["20 x 30", "0x7F", "4b"]),
        ("am 3. Mai um 17:48 Uhr", ["3", "17:48 Uhr"]),
        ("bei -12 °C, 10-12 km", ["-12", "10-12"]),
        ("9–17 Uhr, 3 – 4", ["9–17", "3", "4"]),
        ("M-KX 218, 2.1.0-rc.2", ["M-KX 218", "2.1.0-rc.2"]),
        ("COVID-19 und H2O", ["COVID-19", "H2O"]),
        ("東京2020年に", ["2020"]),
        ("Кабинет 4б, 3-Zimmer-Wohnung", ["4б", "3"]),
        ("nach § 433 und §§ 5, 6", ["§ 433", "§§ 5", "6"]),
        ("ohne Zahl", []),
    ],
)
def test_lost_numbers_are_protected(text: str, protected: list[str]) -> None:
    run = RULE.protect(Run(text), Run())
    assert [run.text[one.begin : one.end] for one in run.protected] == protected


def test_tags_within_a_number_are_protected_with_it() -> None:
    run = RULE.protect(
        Run("um 1730 Uhr", [Tag(5, "<sup>", "open"), Tag(7, "</sup>", "close")]), Run()
    )
    [one] = run.protected
    assert (one.raw, run.tags) == ("17<sup>30</sup>", [])


def sentence(text: str) -> Sentence:
    return Sentence(text, stages=(Run(text),), pipeline=Pipeline([RULE]))


def test_protected_numbers_have_other_numbers_as_stand_ins() -> None:
    again = sentence("Im Jahr 1848 um 17:48 Uhr in Raum 12").with_more_protected("")
    assert again is not None
    assert again.text == "Im Jahr 2010 um 10:15 in Raum 20"
    assert again.came_through("In 2010 at 10:15 in room 20")
    assert again.readable("In 2010 at 10:15 in room 20") == "In 1848 at 17:48 in room 12"
    assert not again.came_through("In 2010 at 10:15 in the room")


@pytest.mark.parametrize(
    ("text", "translation", "comes_through"),
    [
        ("Erst 7 € dann 8 €", "First <a> € then <b> €", True),
        ("Erst 7 € dann 8 €", "First <a><b> €", False),
        ("Erst 7 € dann 8 €", "First <a> € in 20<b>", False),
        ("Das 7. von 8", "The <a>th of <b>", True),
        ("Die v7 der b8", "The <a> of <b>", True),
        ("Die v7 der b8", "The <a><b>", False),
    ],
)
def test_merged_numbers_are_rejected(text: str, translation: str, comes_through: bool) -> None:
    rules = Pipeline([Placeholders(("<a>", "<b>")), RULE])
    again = Sentence(text, stages=(Run(text),), pipeline=rules).with_more_protected("")
    assert again is not None
    assert again.came_through(translation) is comes_through


@pytest.mark.parametrize(
    ("languages", "text", "translation", "written"),
    [
        ("de-en", "Wir essen um 14:05 Uhr.", "We eat at {}.", "We eat at 14:05."),
        ("en-de", "We eat at 2:00 pm.", "Wir essen um {} Uhr.", "Wir essen um 14:00 Uhr."),
        ("en-de", "We eat at 12:30 a.m. today.", "Wir essen um {}.", "Wir essen um 0:30."),
        ("en-de", "We eat at 2 pm.", "Wir essen um {}.", "Wir essen um 2 pm."),
        ("en-de", "We eat at 2:30 o'clock pm.", "Wir essen um {}.", "Wir essen um 14:30."),
        ("en-fr", "We eat at 12:05 PM.", "On mange à {}.", "On mange à 12:05."),
    ],
)
def test_protected_times_of_day_are_on_the_24_hour_clock(
    languages: str, text: str, translation: str, written: str
) -> None:
    rule = Numbers(*map(profile, languages.split("-")))
    again = Sentence(text, stages=(Run(text),), pipeline=Pipeline([rule])).with_more_protected("")
    assert again is not None
    translation = translation.format(again.stand_ins[0].name)
    assert again.came_through(translation)
    assert again.readable(translation) == written


def test_am_or_pm_after_a_protected_time_is_rejected() -> None:
    again = sentence("Wir essen um 14 Uhr.").with_more_protected("")
    assert again is not None
    assert not again.came_through(f"We eat at {again.stand_ins[0].name} p.m.")


def test_too_many_numbers_are_translated_in_pieces() -> None:
    text = " und ".join(map(str, range(100, 200)))
    assert sentence(text).with_more_protected("") is None
    pieces = sentence(text).in_pieces("")
    assert pieces is not None
    assert [piece for piece in pieces.pieces[::2] if piece] == [" und "] * 99
    assert pieces.readable("".join(pieces.pieces)) == text


@given(
    st.lists(
        st.integers(0, 10**9) | st.integers(0, 10**8).map(lambda cents: f"{cents / 100:.2f}"),
        min_size=1,
    )
)
def test_equal_numbers_are_accepted_and_a_missing_one_is_rejected(
    figures: list[object],
) -> None:
    source = " Wort, ".join(map(str, figures))
    assert came_through(source, " mot, ".join(map(str, figures[::-1])))
    assert not came_through(source, " mot, ".join(map(str, figures[1:])))


@given(st.text(max_size=60), st.text(max_size=60))
def test_protection_preserves_any_text(text: str, translation: str) -> None:
    RULE.came_through(Run(text), Run(translation))
    assert RULE.protect(Run(text), Run()).with_markup().text == text
    in_pieces = sentence(text).in_pieces("")
    assert (in_pieces is None) == (re.search(r"\d", text) is None)
    assert in_pieces is None or in_pieces.readable("".join(in_pieces.pieces)) == text


def test_a_plural_has_a_number_as_stand_in() -> None:
    parts = take_apart("{n, plural, one {# Hund} other {# Hunde}}", "text").parts
    assert [part.text for part in parts if not isinstance(part, str)] == ["20 Hund", "20 Hunde"]


@pytest.mark.parametrize(
    ("source", "translation", "is_fine"),
    [
        ("Choose am or pm.", "Wählen Sie 15 Uhr.", False),
        ("Choose am or pm.", "Wählen Sie am oder pm.", True),
        ("I am fifteen.", "Ich bin 15.", True),
    ],
)
def test_am_and_pm_do_not_count_as_hours(source: str, translation: str, is_fine: bool) -> None:
    rule = Numbers(profile("en"), profile("de"))
    assert rule.came_through(Run(source), Run(translation)) == is_fine
    protected = rule.protect(Run(source), Run(translation)).protected
    assert [source[one.begin : one.end] for one in protected] == (["am", "pm"] * ("pm" in source))


@pytest.mark.parametrize(
    ("source", "translation", "written"),
    [
        ("Figure 3.2 is big", "Abbildung 3,2 ist groß", "Abbildung 3.2 ist groß"),
        ("Clauses 3.2 and 3.3 of 2.5 kg", "3,2 und 3,3 von 2,5 kg", "3.2 und 3.3 von 2,5 kg"),
        ("Step 3.2 costs 3.2 euros", "Schritt 3,2 kostet 3,2 Euro", "Schritt 3,2 kostet 3,2 Euro"),
        ("In part 2.5 million", "Zum Teil 2,5 Millionen", "Zum Teil 2,5 Millionen"),
        ("The room 2.5 metres wide", "Der Raum 2,5 Meter breit", "Der Raum 2,5 Meter breit"),
        ("It weighs 2.5 kg", "Es wiegt 2,5 kg", "Es wiegt 2,5 kg"),
    ],
)
def test_numbers_behind_a_label_are_no_amounts(source: str, translation: str, written: str) -> None:
    rule = Numbers(profile("en"), profile("de"))
    assert rule.restore(Run(source), Run(translation)).text == written
