"""Sentences whose case says nothing are translated as others are; those in capitals come back in capitals."""

import pytest

from service.bundle import load
from service.settings import DEFAULT_BUNDLE
from service.text.document import take_apart
from service.text.language_pair import LanguagePair
from service.text.rules.casing import begun_alike, in_usual_case
from service.text.tokenizer import Tokenizer

LOWER = LanguagePair(usual_case=str.lower, capitalizes_nouns=True)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """Of English and German."""
    return Tokenizer(load(DEFAULT_BUNDLE).vocabulary)


@pytest.mark.parametrize(
    ("text", "asked", "answer", "expected"),
    [
        ("ACHTUNG, HUND!", "Achtung, hund!", "Beware of the dog!", "BEWARE OF THE DOG!"),
        ("(NICHT FÜTTERN)", "Nicht füttern", "Don't feed", "(DON'T FEED)"),
        ("RUF {name} AN!", "Ruf Tom an!", "Call Tom!", "CALL {name}!"),
        ("LIES https://a.org/b UND %s", "Lies Tom und Boston", "Tom, Boston", "https://a.org/b, %s"),
        ("NATO", "NATO", "NATO", "NATO"),
        ("Die NATO UND ICH", "Die NATO UND ICH", "NATO and I", "NATO and I"),
        ("WİR WARTEN", "WİR WARTEN", "We wait", "WE WAIT"),  # a small İ is two characters
    ],
)  # fmt: skip
def test_what_is_asked_and_what_comes_back(
    text: str, asked: str, answer: str, expected: str
) -> None:
    document = take_apart(text, "text", pair=LOWER)
    [sentence] = document.sentences
    assert sentence.text == asked
    assert document.assemble([answer], [None]) == expected
    assert sentence.restored(answer) == expected.strip("()")


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Und du?", "and you?", "And you?"),
        ("Äpfel …", "äpfel …", "Äpfel …"),
        ("Ja.", "e-mail them.", "E-mail them."),
        ("Das iPhone!", "iPhone!", "iPhone!"),
        ("und du?", "and you?", "and you?"),
        ("Haus", "house", "house"),  # as a dictionary has it
        ("Ja.", "5 apples.", "5 apples."),
        ("Ja.", "", ""),
    ],
)
def test_a_sentence_begins_as_its_source_does(source: str, translation: str, expected: str) -> None:
    assert begun_alike(source, translation) == expected


def test_markup_is_written_as_markup_is() -> None:
    document = take_apart("<p>HUND &amp; KATZE {name}</p>", "html", "sentences", pair=LOWER)
    [sentence] = document.sentences
    assert sentence.text == "Hund & katze Tom"
    assert sentence.restored("Dog & cat Tom") == "DOG & CAT {name}"
    document = take_apart("<p>HUND &amp; KATZE</p>", "html", "sentences", pair=LOWER)
    assert document.assemble(["Dog & cat"], [None]) == "<p>DOG &amp; CAT</p>"


@pytest.mark.parametrize(
    ("text", "nouns", "asked"),
    [
        ("der hund schläft in berlin", True, "der Hund schläft in Berlin"),
        ("i think tom is in boston", False, "I think Tom is in Boston"),
        ("DER HUND UND DIE KATZE SCHLAFEN", True, "Der Hund und die Katze schlafen"),
        ("Create New Account For NASA", False, "Create new account for NASA"),
        ("How To Go To Boston With Tom", False, "How to go to Boston with Tom"),
        ("Angela Merkel, Vienna, Austria", False, "Angela Merkel, Vienna, Austria"),
        ("Save As", False, "Save as"),
        ("Guten Morgen", True, "Guten Morgen"),
        ("Tom loves Mary", False, "Tom loves Mary"),
        ("no results", False, "no results"),
        ("20 km", False, "20 km"),
    ],
)
def test_words_get_the_case_that_they_have_mostly(
    tokenizer: Tokenizer, text: str, nouns: bool, asked: str
) -> None:
    pair = LanguagePair(tokenizer.spells, tokenizer.usual_case, capitalizes_nouns=nouns)
    [sentence] = take_apart(text, "text", pair=pair).sentences
    assert sentence.text == asked


def test_placeholders_and_tags_stay_where_they_were(tokenizer: Tokenizer) -> None:
    pair = LanguagePair(usual_case=tokenizer.usual_case)
    html = "<p>DER <b>HUND</b> IST BEI {Name}</p>"
    [sentence] = take_apart(html, "html", "sentences", pair=pair).sentences
    assert sentence.text == "Der Hund ist bei Tom"
    assert [(tag.at, tag.raw) for tag in sentence.tags] == [(4, "<b>"), (8, "</b>")]
    assert sentence.restored("Tom's dog") == "{Name}'S DOG"


def test_no_name_that_is_in_capitals_stands_in_for_a_placeholder(tokenizer: Tokenizer) -> None:
    pair = LanguagePair(usual_case=tokenizer.usual_case)
    [sentence] = take_apart("TOM SIEHT {name}", "text", pair=pair).sentences
    assert sentence.text == "Tom sieht Boston"
    assert sentence.restored("Tom sees Boston") == "TOM SEES {name}"


def test_a_text_that_would_become_longer_stays_as_it_is() -> None:
    assert in_usual_case("İKİ ÜÇ DÖRT", str.lower, keeps_acronyms=False) == "İKİ ÜÇ DÖRT"
