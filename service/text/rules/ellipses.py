"""Ellipses: models write two dots for three, or none; those of a text stand where they stood."""

import re
from typing import ClassVar, Literal

from service.text.rules.rule import Rule
from service.text.run import Place, Run
from service.text.segmenter import has_letter

_ELLIPSIS = re.compile(r"(?P<lead>[ \u00a0]?)(?P<dots>\.{3,}+|…++)(?![?!])(?P<trail>[ \u00a0]?)")
_END = re.compile(r"(?:\A|\w)(\W*+)\Z")


class Ellipses(Rule):
    """Takes them out of a sentence as tags."""

    name: ClassVar[str] = "ellipses"
    scope: ClassVar[Literal["run", "sentence"]] = "sentence"

    def prepare(self, run: Run) -> Run:
        """The sentence without them."""
        if not _may_hold_one(run.text):
            return run
        found = [
            _taken(match)
            for match in run.between_tags(_ELLIPSIS.finditer)
            if not run.is_protected(match.start("dots"))
        ]
        new = run.lifted([place for place, _ in found], [raw for _, raw in found], in_front=True)
        return new if has_letter(new.unprotected()) else run

    def restore(self, source: Run, translation: Run) -> Run:
        """The translation without a dot in front of an ellipsis at its end."""
        if not _may_hold_one(source.text):
            return translation
        text = translation.text
        if not text.endswith(".") or text.endswith("..") or not _ends_with_one(source.text):
            return translation
        return translation.edited([(len(text) - 1, len(text), "")])


def _may_hold_one(text: str) -> bool:
    return "..." in text or "…" in text


def _ends_with_one(text: str) -> bool:
    """Whether one is behind the last word."""
    end = _END.search(text)
    return end is not None and _may_hold_one(end[1])


def _taken(match: re.Match[str]) -> tuple[Place, str]:
    """What to take out and to leave in its place, and what the tag there is."""
    text, (first, last) = match.string, match.span("dots")
    lead, trail = match["lead"], match["trail"]
    following = text[match.end() : match.end() + 1]
    if not following or not (following.isalnum() or trail):
        return (match.start(), last, ""), f"{lead}{match['dots']}"
    if lead or match.start() == 0:
        return (first, match.end(), ""), f"{match['dots']}{trail}"
    return (first, last, "" if trail else " "), match["dots"]
