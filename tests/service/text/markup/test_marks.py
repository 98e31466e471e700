"""Emphasis where Markdown does not read it: in blocks of HTML and in lines that are indented."""

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
        ("<p>\nsrc/**/test/**/a, **/b/** (2)**(n)**(k), 10 **(3)** 5\n</p>",
         "src/**/test/**/a, **/b/** (2)**(n)**(k), 10 **(3)** 5", ""),
        ("<p>不</p>\n这是**重要**的。**好**，～", "这是重要的。好，～", "** ** ** **"),
        ("    ¿**Qué** pasa? «**Nada**»…", "¿Qué pasa? «Nada»…", "** ** ** **"),
        ("    Ja, ~~nein.~~", "Ja, nein.", "~~ ~~"),
        ("**Oh!**\n\n    Das **ist**\n    auch **gut.**", "Das ist\n    auch gut.", "** ** ** **"),
    ],
)  # fmt: skip
def test_emphasis_that_markdown_does_not_read_is_kept_in_tags(
    text: str, left: str, marks: str
) -> None:
    *_, run = (piece for piece in parse(text) if isinstance(piece, Run))
    assert run.text.strip() == left
    assert " ".join(tag.raw for tag in run.tags) == marks
    assert unchanged(take_apart(text, "text")) == text


@pytest.mark.parametrize("prefix", ["", "  ", "> ", "- "])
@pytest.mark.parametrize("fence", ["~~~", "~~~~", "```"])
def test_fenced_code_is_kept_wherever_it_is(fence: str, prefix: str) -> None:
    indent = prefix.replace("-", " ")
    text = f"Ja.\n\n{prefix}{fence}sh\n{indent}cp Datei Ordner\n{indent}{fence}\n\nNein."
    found = "".join(piece.text for piece in parse(text) if isinstance(piece, Run))
    assert "Datei" not in found
    assert found.replace("\n", "") == "Ja.Nein."
