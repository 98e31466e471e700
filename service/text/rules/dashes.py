"""Writes dashes without blanks as models know them: not 3–5, which some turn into 3:5, nor cold—5 degrees."""

import re

from service.text.rules.rule import Rule
from service.text.run import Run

_DASH = "–"
_MINUS = re.compile(r"(?<=\w)—(?=\d)")
"""An em dash that could be read as a minus sign."""
_BETWEEN = re.compile(rf"(?<=\w){_DASH}(?=\w)")
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_BETWEEN_WORDS = re.compile(rf"(?<=[^\W\d_]){_DASH}(?=[^\W\d_])")
_JOINT = re.compile(rf"(?<!\d)[-{_DASH}]|[-{_DASH}](?!\d)")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)-(?=\d)")
_SPACED = re.compile(r"(?<= )[-–—](?= )")


class Dashes(Rule):
    """Replaces en dashes by hyphens and restores them; between words, none may be lost.

    An em dash before a number gets blanks around it.
    """

    name = "dashes"
    scope = "sentence"
    is_of_signs = True

    def prepare(self, run: Run) -> Run:
        """Return the sentence with hyphens for en dashes, and blanks around em dashes."""
        if "—" in run.text:
            run = run.edited_outside((*match.span(), " — ") for match in _MINUS.finditer(run.text))
        if _DASH not in run.text:
            return run
        return run.edited_outside((*match.span(), "-") for match in _BETWEEN.finditer(run.text))

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has as many hyphens or dashes; those between numbers may be words: to."""
        if _DASH not in source.text:
            return True
        joints = _JOINT.findall(translation.text)
        return len(joints) >= len(_BETWEEN_WORDS.findall(source.text))

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect the dashes between words."""
        return run.protecting(match.span() for match in _BETWEEN_WORDS.finditer(run.text))

    def restore(self, source: Run, translation: Run) -> Run:
        """Restore the dashes: all if the translation has as many hyphens, otherwise those between digits."""
        text = source.text
        if _DASH in text or "—" in text:
            translation = _as_spaced(text, translation)
        if _DASH not in text:
            return translation
        num_dashes, num_hyphens = len(_BETWEEN.findall(text)), len(_HYPHEN.findall(text))
        hyphens = list(_HYPHEN.finditer(translation.text))
        if num_hyphens or len(hyphens) != num_dashes:
            is_sure = num_dashes and not _BETWEEN_DIGITS.search(text)
            hyphens = list(_BETWEEN_DIGITS.finditer(translation.text)) if is_sure else []
        return translation.edited_outside((*match.span(), _DASH) for match in hyphens)


def _as_spaced(source: str, translation: Run) -> Run:
    """Write the dashes and hyphens between blanks as the source does, if it has as many or all are equal."""
    marks, found = _SPACED.findall(source), list(_SPACED.finditer(translation.text))
    if len(set(marks)) == 1:
        marks = marks[:1] * len(found)
    if len(marks) != len(found):
        return translation
    spans = (one.span() for one in found)
    return translation.edited_outside(
        [(*span, mark) for span, mark in zip(spans, marks, strict=True)]
    )
