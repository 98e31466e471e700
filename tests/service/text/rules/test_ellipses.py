"""Ellipses are preserved in their places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.document import take_apart
from service.text.pipeline import Pipeline
from service.text.rules.ellipses import Ellipses
from service.text.rules.placeholders import Placeholders
from service.text.run import Run, Tag

RULE = Ellipses()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Er sah ... nichts.", "Er sah nichts."),
        ("Ich... gehe.", "Ich gehe."),
        ("Na...gut", "Na gut"),
        ("Bitte warten…", "Bitte warten"),
        ("Bitte warten ...", "Bitte warten"),
        ("...und weg", "und weg"),
        ("Er kam …, sah", "Er kam, sah"),
        ("Wirklich...?", "Wirklich...?"),
        ("...", "..."),
        ("Was?!?!", "Was?"),
        ("Halt!!! rief er", "Halt! rief er"),
        ("Hilfe !!! (Bitte)!!", "Hilfe ! (Bitte)!"),
        ("真的？！", "真的？"),
        ("a!!b", "a!!b"),
        ("?!", "?!"),
        ("!!! Achtung", "Achtung"),
        ("?!Wie", "Wie"),
        ("Nr. 5. Ende", "Nr. 5. Ende"),
    ],
)
def test_ellipses_are_hidden_from_the_model(text: str, seen: str) -> None:
    run = RULE.prepare(Run(text))
    assert run.text == seen
    assert run.written().replace(" ", "") == text.replace(" ", "")


def test_ellipses_at_the_ends_are_restored() -> None:
    document = take_apart("… dann weg ...", "text", pipeline=Pipeline([RULE]))
    assert [str(getattr(part, "text", part)) for part in document.parts] == [
        "… ",
        "dann weg",
        " ...",
    ]


def test_a_restored_ellipsis_replaces_the_final_dot() -> None:
    assert RULE.restore(Run("Bitte warten..."), Run("Please wait.")).text == "Please wait"
    assert RULE.restore(Run("Bitte warten."), Run("Please wait.")).text == "Please wait."


@pytest.mark.parametrize("translation", ["What?", "What.", "What"])
def test_further_marks_follow_the_first_one(translation: str) -> None:
    [sentence] = take_apart("Was?!?!", "text", pipeline=Pipeline([RULE])).sentences
    assert sentence.around == ((), ("!?!",))
    assert sentence.readable(translation) == "What?"


def test_tags_keep_their_order() -> None:
    run = RULE.prepare(Run("Er ... geht heim", [Tag(7, "<b>", "open"), Tag(11, "</b>", "close")]))
    assert run.written() == "Er ... <b>geht</b> heim"


def test_gaps_in_a_cloze_text_are_not_ellipses() -> None:
    run = Placeholders().prepare(Run("Ich, ........, gehe"))
    assert RULE.prepare(run) == run


@given(st.text(alphabet="aB .…?!", max_size=40))
def test_only_whitespace_is_lost(text: str) -> None:
    assert RULE.prepare(Run(text)).written().replace(" ", "") == text.replace(" ", "")
