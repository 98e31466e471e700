"""Pairs of direction marks, and Markdown's emphasis, follow their words."""

import pytest

from service.text.rules.directions import Directions
from service.text.run import Run
from service.text.sentence import Sentence
from tests.service.text.pipelines import aligned, assembled, take_apart, unchanged


@pytest.mark.parametrize(
    ("text", "left", "tags"),
    [
        ("Hallo \u2068{name}\u2069!", "Hallo {name}!", [(6, "\u2068"), (12, "\u2069")]),
        ("Das \u202bist\u202c so", "Das ist so", [(4, "\u202b"), (7, "\u202c")]),
        (
            "\u2069a\u2066 \u2067\u2069 \u202cb\u202a",
            "\u2069a\u2066 \u2067\u2069 \u202cb\u202a",
            [],
        ),
    ],
)
def test_paired_marks_become_tags(text: str, left: str, tags: list[tuple[int, str]]) -> None:
    run = Directions().prepare(Run(text))
    assert run.text == left
    assert [(tag.at, tag.raw) for tag in run.tags] == tags


@pytest.mark.parametrize(
    "text",
    ["**Achtung:** Das ist *sehr* gut. **Noch einer. Und** einer.", "*a* **b** ~~c~~ :) **d**"],
)
def test_a_copied_text_is_unchanged(text: str) -> None:
    assert unchanged(take_apart(text, "text")) == text


def test_marks_follow_their_words() -> None:
    document = take_apart("Der **alte** Hund schläft.", "text")
    [sentence] = document.sentences
    translation = "Sleeping is the old dog."
    links = [3, 3, 0, 1, 2, 4]
    assert assembled(document, [translation], [aligned(sentence.text, translation, links)]) == (
        "Sleeping is the **old** dog."
    )


def test_isolates_follow_their_words() -> None:
    document = take_apart("Der \u2068alte\u2069 Hund schläft.", "text")
    [sentence] = document.sentences
    assert sentence.text == "Der alte Hund schläft."
    translation = "Sleeping is the old dog."
    links = [3, 3, 0, 1, 2, 4]
    assert assembled(document, [translation], [aligned(sentence.text, translation, links)]) == (
        "Sleeping is the \u2068old\u2069 dog."
    )


def test_marks_around_a_sentence_need_no_alignment() -> None:
    parts = take_apart("**Ja, gut!** ~~Nein!~~ *Doch* *nicht*", "text").parts
    assert [len(one.tags) for one in parts if isinstance(one, Sentence)] == [0, 0, 4]
