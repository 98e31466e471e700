"""What people type, and a vocabulary has otherwise."""

import pytest

from service.text.rules.spelling import Spelling
from service.text.run import Run
from tests.service.text.pipelines import take_apart


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Donau\u00addampf\u200b\u00adschiff \u200b", "Donaudampfschiff \u200b"),
        ("don`t, geht´s", "don't, geht's"),
        ("`code` ` ´ a´ it’s it's", "`code` ` ´ a´ it’s it's"),
        ("Das\x00 Wet\x00\x00ter\x00", "Das Wetter"),
        ("", ""),
    ],
)
def test_what_a_model_is_given(text: str, expected: str) -> None:
    assert Spelling().prepare(Run(text)).text == expected


def test_tags_stay_where_they_were() -> None:
    html = "<p>Das <b>Donau&shy;dampf&shy;schiff</b> <i>geht`s</i></p>"
    [sentence] = take_apart(html, "html", "sentences").sentences
    assert sentence.text == "Das Donaudampfschiff geht's"
    assert [(tag.at, tag.raw) for tag in sentence.tags] == [
        (4, "<b>"), (20, "</b>"), (21, "<i>"), (27, "</i>"),
    ]  # fmt: skip
