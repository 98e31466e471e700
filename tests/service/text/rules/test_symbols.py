"""Emoji and other symbols are preserved in their places."""

import pytest

from service.text.rules.placeholders import Placeholders
from service.text.rules.symbols import Symbols
from service.text.run import Run
from service.text.sentence import Sentence
from tests.service.text.pipelines import aligned, take_apart, unchanged

WITH_MARKS = (
    "Der Ba\u0308\u00adcker",
    "\u05d1\u05b0\u034f\u05bc\u05e8\u05b5\u05d0",
    "\u1780\u17b6\u200b\u1781\u17b6\u200b\u1782",
    "\u0e17\u0e35\u0e48\u200b\u0e2b\u0e19\u0e36\u0e48\u0e07",
    "\u0939\u0940\u200b\u0928",
)
"""Words with a combining mark or a vowel sign before a zero-width character."""


@pytest.mark.parametrize(
    ("text", "left", "taken"),
    [
        ("Das ist 😀 toll.", "Das ist toll.", [(8, "😀 ")]),
        ("Pizza 🍕 und Bier 🍺.", "Pizza und Bier.", [(6, "🍕 "), (14, " 🍺")]),
        ("👋 Hallo! 🎉 🎂 Du 👋", "Hallo! Du", [(0, "👋 "), (7, "🎉 🎂 "), (9, " 👋")]),
        ("&Datei öffnen...", "Datei öffnen...", [(0, "&")]),
        ("Datei &öffnen, &nbsp; R&D", "Datei öffnen, &nbsp; R&D", [(6, "&")]),
        ("Mann &Frau, R&D, & so", "Mann &Frau, R&D, & so", []),
        ("&1 und", "&1 und", []),
        ("gut😀schlecht", "gut schlecht", [(4, "😀 ")]),
        ("Toll!😀 Und", "Toll! Und", [(6, "😀 ")]),
        (
            "1️⃣ Eins, 👩‍👩‍👧 und 👍🏽!\n❤️",
            "Eins, und!\n",
            [(0, "1️⃣ "), (6, "👩‍👩‍👧 "), (9, " 👍🏽"), (11, "❤️")],
        ),
        ("Gut :) Ja ;-) <3, ja :D", "Gut Ja, ja", [(4, ":) "), (6, " ;-) <3"), (10, " :D")]),
        ("Liste :(a, b) 1:2 x=(y) http://a", "Liste :(a, b) 1:2 x=(y) http://a", []),
        (
            "Ja. #eins #zwei\nIch ❤️ #drei sehr",
            "Ja.\nIch #drei sehr",
            [(3, " #eins #zwei"), (8, "❤️ ")],
        ),
        (
            "Hallo \u2068Anna, Max\u2069s Haus\u200e",
            "Hallo Anna, Maxs Haus",
            [(6, "\u2068"), (15, "\u2069"), (21, "\u200e")],
        ),
        ("Zum \ue0a0 Menü", "Zum Menü", [(4, "\ue0a0 ")]),
        ("siehe https://a.org/😀/b", "siehe https://a.org/😀/b", []),
        ("§ Punkt, Haus § Hof §§", "Punkt, Haus Hof", [(0, "§ "), (12, "§ "), (15, " §§")]),
        ("¹Der Hund, ²³Die, ¹⁴C, m²", "Der Hund, Die, ¹⁴C, m²", [(0, "¹"), (10, "²³")]),
        ("§§ 4, 5, §6, 7 §, § {x}", "§§ 4, 5, §6, 7 §, § {x}", []),
        ("20 °C, 3 €, § 4, A & B, 1 #2 *", "20 °C, 3 €, § 4, A & B, 1 #2 *", []),
        ("Datei ---> Neu <- Alt", "Datei Neu Alt", [(6, "---> "), (10, "<- ")]),
        ("===== Ende =====", "Ende", [(0, "===== "), (4, " =====")]),
        ("-----Nachricht-----", "Nachricht", [(0, "-----"), (9, "-----")]),
        ("+++ Neu +++ Alt +++", "Neu Alt", [(0, "+++ "), (4, "+++ "), (7, " +++")]),
        ("~~~~ Aus - - - - -", "Aus", [(0, "~~~~ "), (3, " - - - - -")]),
        ("-- Anna", "Anna", [(0, "-- ")]),
        ("Rot -- Gelb --- Grün", "Rot -- Gelb --- Grün", []),
        ("auf-und-ab, und/oder, a->b, 2-3", "auf-und-ab, und/oder, a->b, 2-3", []),
        (
            "Das\x00 Wet\x00\x00ter \ufffe da\x7f",
            "Das Wetter da",
            [(3, "\x00"), (7, "\x00\x00"), (11, "\ufffe "), (13, "\x7f")],
        ),
        ("Ja \ufdd0\U0001ffff da\tund\x0bda", "Ja da\tund\x0bda", [(3, "\ufdd0\U0001ffff ")]),
        (
            "Der \x1b[1;31mHund\x1b[0m schläft",
            "Der Hund schläft",
            [(4, "\x1b[1;31m"), (8, "\x1b[0m")],
        ),
        ("(→ Seite 5) [😀Ja]", "(Seite 5) [Ja]", [(1, "→ "), (11, "😀")]),
        *((text, text, []) for text in WITH_MARKS),
        ("In 1999® und 5©, mit 1.5™ 🎉", "In 1999® und 5©, mit 1.5™", [(25, " 🎉")]),
        ("我喜欢Windows11®系统", "我喜欢Windows11 系统", [(13, "® ")]),
        (
            "Die Office365®-Benutzer mit B2™",
            "Die Office365-Benutzer mit B2",
            [(13, "®"), (29, "™")],
        ),
        ("Wir haben 365®-Pläne, 10™版", "Wir haben 365-Pläne, 10 版", [(13, "®"), (24, "™ ")]),
        (
            "\ufeffDas\u2060 Haus\u00adtür\u00ad\u200b ein\u034f Wet\u00ad\u200bter.",
            "Das Haus\u00adtür ein Wet\u00ad\u200bter.",
            [(0, "\ufeff"), (3, "\u2060"), (12, "\u00ad\u200b"), (16, "\u034f")],
        ),
        (
            "Ja \ufff9 da\U000e0041\u2063.",
            "Ja da.",
            [(3, "\ufff9 "), (5, "\U000e0041\u2063")],
        ),
        ("Gut\u200d ja \u200cund", "Gut ja \u200cund", [(3, "\u200d")]),
        ("می‌خواهم क्‍ षि", "می‌خواهم क्‍ षि", []),
        (
            "Am 31.12.1999 ™ mit Acme® und x™y",
            "Am 31.12.1999 mit Acme und x y",
            [(13, " ™"), (22, "®"), (29, "™ ")],
        ),
    ],
)
def test_symbols_become_tags(text: str, left: str, taken: list[tuple[int, str]]) -> None:
    run = Symbols().prepare(Placeholders().prepare(Run(text)))
    assert run.text == left
    assert [(tag.at, tag.raw) for tag in run.tags] == taken


@pytest.mark.parametrize(
    "text",
    [
        "😀 Das ist 😀 toll 😀",
        "Alles Gute! 🎉🎂 Bis bald 👋\n\n→ Weiter",
        "👋",
        " 👋 \n ✓ ",
        "Pizza 🍕, Bier 🍺.",
        "Он: „😊 Да“, (“😊 так”) и '🍕 нет'.",
        "\0Hund, Katze \ufffe da\x1b",
        "\u202aHallo \u2068Anna\u2069, komm\u202c\u200e \uf0c9",
    ],
)
def test_a_copied_text_is_unchanged(text: str) -> None:
    assert unchanged(take_apart(text, "text")) == text


def test_symbols_at_the_edges_need_no_alignment() -> None:
    parts = take_apart("😀 Das ist toll 😀 Gut, 👍 ja! 👋", "text").parts
    needing = [part.tags for part in parts if isinstance(part, Sentence)]
    assert [len(tags) for tags in needing] == [2]
    parts = take_apart("😀 Das ist toll! 😀 Gut! 👋", "text").parts
    assert [part if isinstance(part, str) else part.text for part in parts] == [
        "😀 ", "Das ist toll!", " ", "😀 ", "Gut!", " 👋",
    ]  # fmt: skip


def test_a_trademark_sign_follows_its_word() -> None:
    [sentence] = take_apart("Am 31.12.1999 ™ kam Acme® hier an.", "text").sentences
    source, target = sentence.text, "Acme arrived here on 31.12.1999."
    links = [3, 2, 4, 0, 1, 6]  # the source's word for each of the target's
    found = sentence.translated(target, aligned(source, target, links))
    assert found.written() == "Acme® arrived here on 31.12.1999 ™."


def test_symbols_within_an_element_stay_in_it() -> None:
    html = "<p>Der <b>Hund 😀</b> <i>👍 schläft</i>.</p>"
    order = ["<b>", "😀", "</b>", "<i>", "👍", "</i>"]
    [sentence] = take_apart(html, "html", "sentences").sentences
    assert [tag.raw.strip() for tag in sentence.tags] == order


def test_a_smiley_that_overlaps_a_protected_part_is_not_a_symbol() -> None:
    document = take_apart(r"ja :\\srv\a", "text")
    assert unchanged(document) == r"ja :\\srv\a"
