"""Blocks of WebVTT that are no subtitles, and the times of lyrics."""

import pytest

from service.text.markup.plain import parse
from service.text.run import Run
from tests.service.text.pipelines import take_apart, unchanged

CUE = "00:0{0}.000 --> 00:0{0}.900\nHallo {0}.\n\n"


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "comment", ["NOTE\nzwei\nZeilen", "NOTE eine", "STYLE\n::cue { color: red }"]
)
def test_comments_between_subtitles_are_kept(comment: str, line_break: str) -> None:
    text = f"WEBVTT\n\n{CUE.format(1)}{comment}\n\n{CUE.format(2)}{comment}\n"
    text = text.replace("\n", line_break)
    runs = [piece.text.strip() for piece in parse(text) if isinstance(piece, Run)]
    assert [run for run in runs if run] == ["Hallo 1.", "Hallo 2."]
    assert unchanged(take_apart(text, "text")) == text


def test_notes_of_other_subtitles_are_translated() -> None:
    text = f"{CUE.format(1)}NOTE das.\n\n{CUE.format(2)}"
    assert "NOTE das." in "".join(piece.text for piece in parse(text) if isinstance(piece, Run))


def test_times_of_lyrics_are_tags() -> None:
    text = "[ar:Jan]\n[00:12.00]Der Hund\n[00:17:20] ist <00:18.00>da [x]"
    [run] = [piece for piece in parse(text) if isinstance(piece, Run)]
    assert [tag.raw for tag in run.tags] == ["[00:12.00]", "[00:17:20]", "<00:18.00>"]
    assert run.text == "[ar:Jan]\nDer Hund\n ist da [x]"
