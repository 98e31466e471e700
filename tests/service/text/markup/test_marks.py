"""Emphasis in blocks of HTML, where Markdown does not read it."""

import pytest

from service.text.markup.plain import parse
from service.text.run import Run
from tests.service.text.pipelines import take_apart, unchanged


@pytest.mark.parametrize(
    ("text", "left", "marks"),
    [
        ("<p>Nein</p>\n**Das** ist ~~nicht~~ gut.", "Das ist nicht gut.", "** ** ~~ ~~"),
        ("<div>\n(**Das**) ist **gut.**\n</div>", "(Das) ist gut.", "** ** ** **"),
        ("<div>\n2**(n)**k, __init__, a** b **c\n</div>", "2**(n)**k, __init__, a** b **c", ""),
    ],
)
def test_emphasis_in_a_block_of_html_is_kept_in_tags(text: str, left: str, marks: str) -> None:
    *_, run = (piece for piece in parse(text) if isinstance(piece, Run))
    assert run.text.strip() == left
    assert " ".join(tag.raw for tag in run.tags) == marks
    assert unchanged(take_apart(text, "text")) == text
