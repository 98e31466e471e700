"""Sentences that are already in the target language are left unchanged."""

import pytest

from service.text import document
from service.text.pipeline import Pipeline
from service.text.rules.already import Already
from service.text.rules.placeholders import Placeholders
from service.text.run import Run


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        ("de", "en", "We would like to know when the train leaves tomorrow."),
        ("de", "en", "Neither Zusow nor Ronke knew about it."),
        ("de", "en", "The house belongs to Graulteirtski."),
        ("en", "de", "Wir möchten wissen, wann der Zug morgen abfährt."),
        ("en", "de", "Wir haben gehört, dass George Walker nach Hause will."),
        ("deu_Latn", "eng_Latn", "She has never been to the sea before."),
        ("en", "fr", "Je ne sais pas où il a mis les clés de la maison."),
        ("en", "ru", "Мы хотели бы знать, когда завтра отходит поезд."),
        ("pl", "cs", "Včera jsme byli celý den u babičky a vrátili jsme se až večer."),
        ("en", "ja", "明日の電車が何時に出るか知りたいです。"),
    ],
)
def test_a_sentence_in_the_target_language_is_not_translated(
    source: str, target: str, text: str
) -> None:
    assert Already(source, target).leaves(Run(text))
    assert not Already(target, source).leaves(Run(text))


@pytest.mark.parametrize(
    "text",
    [
        "Der Senior Marketing Manager kommt morgen.",
        "Angela Merkel, Vienna, Austria",
        "Computer",
        "Das Update ist online.",
        "I am",
        "12345 67890",
        "",
    ],
)
def test_names_loan_words_and_short_texts_are_translated(text: str) -> None:
    assert not Already("de", "en").leaves(Run(text))


def test_sentences_are_checked_separately_and_left_unchanged() -> None:
    pipeline = Pipeline([Placeholders(), Already("de", "en")])
    text = "<p>Der Hund schläft heute. <b>She has</b> never &amp; ever been to {place} before.</p>"
    parts = document.take_apart(text, "html", "sentences", pipeline=pipeline).parts
    assert [part if isinstance(part, str) else part.text for part in parts] == [
        "<p>",
        "Der Hund schläft heute.",
        " ",
        "<b>She has</b> never &amp; ever been to {place} before.",
        "</p>",
    ]
