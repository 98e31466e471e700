"""Figures, units, times and their labels in translations of the bundled model, from Python."""

import re
from collections.abc import Iterator

import pytest

from service import Translator
from service.models.bundle import DEFAULT_BUNDLE


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    with Translator.load(DEFAULT_BUNDLE, device="cpu", num_workers=1) as translator:
        yield translator


@pytest.mark.parametrize(
    ("languages", "text", "pattern"),
    [
        # a label does not become part of its amount
        ("de en", "Summe 997,22 €", r"(?i)(sum|total).*997\.22|997\.22.*(sum|total)"),
        ("de en", "Gesamt 12,50 €", r"[a-z]{3}"),
        ("de en", "Preis 20 €", r"(?i)price"),
        ("de en", "Wert 20 €", r"(?i)value"),
        ("de en", "Steuer 3,80 €", r"(?i)tax"),
        ("de en", "II. Methode . . . . . . . . . . 7", r"^II\. [A-Z][a-z]+ [. ]+ 7$"),
        ("de en", "Ergebnisse der Studie ........ 12", r"(?i)^(\w+ )+\.{8} 12$"),
        # a time with a fraction of a second is never converted
        ("de en", "10:22:31,508 Die Verbindung wurde getrennt.", r"^10:22:31,508 \w"),
        ("de en", "Er lief die Strecke in 2:14,5 Minuten.", r"\b2:14,5 "),
        ("en de", "00:14.167 The connection was lost.", r"\b00:14\.167\b"),
        ("en de", "[00:54.66][02:42.37]Always on", r"^\[00:54\.66\]\[02:42\.37\]"),
        ("en de", "[00:00:00.000 --> 00:00:02.000]   [MUSIC]", r"\[00:00:00\.000 --> 00:00:02\.000\]"),
        # times of day in words
        ("de en", "Wir treffen uns um halb vier.", r"half past three|3:30"),
        ("de en", "Es ist Viertel nach elf.", r"quarter (past|after) eleven|11:15"),
        ("de en", "Der Zug fährt um Viertel vor acht.", r"quarter to eight|7:45"),
        ("de en", "Es ist drei Viertel sieben.", r"quarter to seven|6:45"),
        ("de en", "Wir essen um halb eins.", r"half past twelve|12:30"),
        ("de en", "Es ist zwanzig nach fünf.", r"twenty (minutes )?past five|5:20"),
        ("de en", "Es ist fünf vor halb sieben.", r"twenty-five (minutes )?past six|6:25"),
        ("de en", "Um viertel vier war alles vorbei.", r"quarter past three|3:15"),
        ("en de", "It is half past three.", r"halb vier|3:30"),
        ("en de", "School begins at half past eight.", r"halb neun|8:30"),
        ("en de", "Let's meet at quarter to eight.", r"(?i)viertel vor acht|7:45"),
        ("en de", "It was ten to nine when she came.", r"zehn vor neun|8:50"),
        ("en de", "She arrived at twenty past five.", r"zwanzig nach fünf|5:20"),
        ("en de", "It's twenty-five past six.", r"fünf vor halb sieben|6:25"),
        ("en de", "Half past three would be fine.", r"^Halb vier|3:30"),
        # these are none
        ("de en", "Die Flasche ist halb leer.", r"half empty"),
        ("en de", "He waited for half an hour.", r"halbe Stunde"),
        ("en de", "It takes five to ten minutes.", r"(?i)fünf bis zehn|5 bis 10"),
        # ordinal numbers
        ("de en", "| Tag | Was |\n|---|---|\n| 3. Mai | Fest |", r"\| (May 3(rd)?|3(rd)? (of )?May) \|"),
        ("de en", "Beginn\t21. März", r"\t(March 21(st)?|21(st)? (of )?March)$"),
        ("de en", "Das 23. Kapitel ist kurz.", r"\b23rd\b"),
        ("de en", "Er wohnt im 11. Stock.", r"\b11th\b"),
        ("de en", "Am 1., 2. und 3. Mai ist frei.", r"^(?!.*3th)"),
        ("en de", "See the 3rd edition, page 12, of {title}.", r"^(?!.*3rd).*\b3\."),
        # a unit after a sign for a fraction
        ("en de", "The board is ½ inch thick.", r"½[ -]Zoll"),
        ("de en", "½ Zoll dick", r"½[ -]inch"),
    ],
)  # fmt: skip
def test_a_fact_of_the_source_is_in_the_translation(
    translator: Translator, languages: str, text: str, pattern: str
) -> None:
    source, target = languages.split()
    translation = translator.translate(text, source=source, target=target)
    assert re.search(pattern, translation.text), translation.text


@pytest.mark.parametrize("languages", ["de en", "en de"])
@pytest.mark.parametrize("text", ["kg", "km", "lbs", "(km/h)", "| m² |", "| 3 | kg |", "oz", "mph"])
def test_a_unit_alone_is_no_word(translator: Translator, languages: str, text: str) -> None:
    source, target = languages.split()
    assert translator.translate(text, source=source, target=target).text == text
    cell = f"<td>{text}</td>"
    translation = translator.translate(cell, source=source, target=target, format="html")
    assert translation.text == cell
