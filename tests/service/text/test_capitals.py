"""Sentences in capitals are translated as others are, and come back in capitals."""

import pytest

from service.text.document import take_apart


@pytest.mark.parametrize(
    ("text", "asked", "answer", "expected"),
    [
        ("ACHTUNG, HUND!", "Achtung, hund!", "Beware of the dog!", "BEWARE OF THE DOG!"),
        ("(NICHT FÜTTERN)", "(Nicht füttern)", "(Don't feed)", "(DON'T FEED)"),
        ("RUF {name} AN!", "Ruf Tom an!", "Call Tom!", "CALL {name}!"),
        ("LIES https://a.org/b UND %s", "Lies Tom und Boston", "Tom, Boston", "https://a.org/b, %s"),
        ("NATO", "NATO", "NATO", "NATO"),
        ("Die NATO UND ICH", "Die NATO UND ICH", "NATO and I", "NATO and I"),
        ("WİR WARTEN", "WİR WARTEN", "We wait", "We wait"),  # its small letter would be two characters
    ],
)  # fmt: skip
def test_what_is_asked_and_what_comes_back(
    text: str, asked: str, answer: str, expected: str
) -> None:
    document = take_apart(text, "text")
    [sentence] = document.sentences
    assert sentence.text == asked
    assert document.assemble([answer], [None]) == expected
    assert sentence.restored(answer) == expected


def test_markup_is_written_as_markup_is() -> None:
    document = take_apart("<p>HUND &amp; KATZE {name}</p>", "html", "sentences")
    [sentence] = document.sentences
    assert sentence.text == "Hund & katze Tom"
    assert sentence.restored("Dog & cat Tom") == "DOG & CAT {name}"
    document = take_apart("<p>HUND &amp; KATZE</p>", "html", "sentences")
    assert document.assemble(["Dog & cat"], [None]) == "<p>DOG &amp; CAT</p>"
