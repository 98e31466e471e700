"""Typed characters that a vocabulary has in another form."""

import pytest

from service.text.languages import profile
from service.text.rules.spelling import Spelling
from service.text.run import Run
from tests.service.text.pipelines import take_apart


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Donau\u00addampf\u200b\u00adschiff \u200b", "Donaudampfschiff \u200b"),
        ("don`t, geht´s", "don't, geht's"),
        ("`code` ` ´ a´ it’s it's", "`code` ` ´ a´ it’s it's"),
        ("Er kam -- wie stets -- zu spät --- ja", "Er kam — wie stets — zu spät — ja"),
        ("a--b --x -- y", "a--b --x — y"),
        ("", ""),
    ],
)
def test_invisible_characters_are_removed_for_the_model(text: str, expected: str) -> None:
    assert Spelling(str.isprintable).prepare(Run(text)).text == expected


@pytest.mark.parametrize(
    ("code", "text", "read"),
    [
        ("de", "Das Stadtar-\nchiv ver-\r\n  loren", "Das Stadtarchiv verloren"),
        (
            "de",
            "Vor-\nund Nachteile, Ein-\noder Ausgang",
            "Vor-\nund Nachteile, Ein-\noder Ausgang",
        ),
        ("de", "Das E-\nMail-Konto von 1990-\n2000", "Das E-\nMail-Konto von 1990-\n2000"),
        ("en", "the infor-\nmation, pre-\nand post-war", "the information, pre-\nand post-war"),
        ("en", "well-known -\nyes", "well-known -\nyes"),
    ],
)
def test_words_divided_at_the_end_of_a_line_are_whole(code: str, text: str, read: str) -> None:
    rule = Spelling(str.isprintable, profile(code).starters)
    assert rule.prepare(Run(text)).text == read


def test_combining_marks_that_the_vocabulary_lacks_are_removed() -> None:
    rule = Spelling("abcdefghijklmnopqrstuvwxyz \u00fc\u0301".__contains__)
    for text, expected in (
        ("d\u0336u\u0336rch", "durch"),
        ("mu\u0308de", "mu\u0308de"),
        ("fu\u0308\u0332r", "f\u00fcr"),
        ("a\u0301b", "a\u0301b"),
        ("z\u0301\u0332u", "\u017au"),
    ):
        assert rule.prepare(Run(text)).text == expected


def test_tags_keep_their_places() -> None:
    html = "<p>Das <b>Donau&shy;dampf&shy;schiff</b> <i>geht`s</i></p>"
    [sentence] = take_apart(html, "html", "sentences").sentences
    assert sentence.text == "Das Donaudampfschiff geht's"
    assert [(tag.at, tag.raw) for tag in sentence.tags] == [
        (4, "<b>"), (20, "</b>"), (21, "<i>"), (27, "</i>"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Er kam -- ja -- spät.", "He came — yes — late.", "He came -- yes -- late."),
        ("Ende --- aus.", "The end — over—done.", "The end --- over—done."),
        ("Er -- ja — kam.", "He — yes — came.", "He — yes — came."),
        ("Er kam --x.", "He — came.", "He — came."),
    ],
)
def test_dashes_are_restored_as_typed(source: str, translation: str, expected: str) -> None:
    rule = Spelling(str.isprintable)
    assert rule.restore(Run(source), Run(translation)).text == expected


def test_dashes_that_the_vocabulary_lacks_are_not_used() -> None:
    assert Spelling(str.isascii).prepare(Run("ja -- nein")).text == "ja -- nein"
