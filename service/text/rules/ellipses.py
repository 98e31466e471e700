"""Ellipses and rows of marks, as ?!?!: models write two for three, or none; those of a text come through."""

import re

import regex

from service.text.rules.rule import Rule
from service.text.run import Place, Run
from service.text.segmenter import has_letter

_ELLIPSIS = re.compile(  # or a row in front of a sentence
    r"(?P<lead>[ \u00a0]?)(?P<dots>\.{3,}+|…++|\A[!?！？]{2,}+)(?![?!])(?P<trail>[ \u00a0]?)"
)
_ROW = regex.compile(  # to which vowel signs are part of a word, as in Hindi
    r"(?:(?<=[\w)\]\"”“’»])|(?<=\w[ \u00a0\u202f]))(?P<first>[!?！？])(?P<rest>[!?！？]+)(?!\w)"
)
_ENDS_WITH_ROW = regex.compile(rf"{_ROW.pattern}\Z")
_MAY_HOLD_ONE = re.compile(  # begins with a set, which `re` finds fast
    r"[.…!?！？](?:(?<=…)|(?<=\.)\.\.|(?<=[!?！？])[!?！？])"
)
_END = re.compile(r"(?:\A|\w)(\W*+)\Z")


class Ellipses(Rule):
    """Takes them out of a sentence as tags; of a row of marks, the first stays."""

    name = "ellipses"
    scope = "sentence"
    is_of_signs = True

    def prepare(self, run: Run) -> Run:
        """The sentence without them."""
        if _MAY_HOLD_ONE.search(run.text) is None:
            return run
        found = [
            _taken(match)
            for match in run.between_tags(_ELLIPSIS.finditer)
            if not run.is_protected(match.start("dots"))
        ]
        found += [
            ((*match.span("rest"), ""), match["rest"])
            for match in run.between_tags(_ROW.finditer)
            if not run.is_protected(match.start())
        ]
        found.sort()
        new = run.extracted([place for place, _ in found], [raw for _, raw in found], in_front=True)
        return new if has_letter(new.unprotected()) else run

    def restore(self, source: Run, translation: Run) -> Run:
        """The translation without a dot in front of an ellipsis at its end; with the first mark of a row."""
        text = translation.text
        before, last = source.text[-2:-1], source.text[-1:]
        if not text or (before.isalnum() and last != "…"):  # a single mark
            return translation
        has_dot = text.endswith(".") and not text.endswith("..")
        at = len(text) - has_dot
        row = _ENDS_WITH_ROW.search(source.text)
        if row and text[-1] not in "!?！？":
            return translation.edited([(at, len(text), row["first"])])
        if has_dot and _ends_with_one(source.text):
            return translation.edited([(at, len(text), "")])
        return translation


def _ends_with_one(text: str) -> bool:
    """Whether one is behind the last word."""
    end = _END.search(text)
    return end is not None and ("..." in end[1] or "…" in end[1])


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
