"""Normalizes punctuation as Moses' normalize-punctuation does; many models' training data is the result."""

import re
from collections.abc import Sequence
from typing import Self

from service.text.rules.rule import Rule, Setting
from service.text.run import Run

Steps = Sequence[tuple[re.Pattern[str], str]]

_MAY_CHANGE = re.compile("[^\\w ,.?!-]|  |\xa0")
"""A fast check: letters, digits and the most common marks are not changed."""
_STEPS: Steps = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\r", ""),
        (r"\(", " ("),
        (r"\)", ") "),
        (r" {2,}", " "),
        (r"\) (?=[.!:?;,])", ")"),
        (r"\( ", "("),
        (r" \)", ")"),
        (r"(?<=\d) %", "%"),
        (r" (?=[:;])", ""),
        (r"`", "'"),
        (r"''", ' " '),
        (r"[„“”]", '"'),
        (r"–", "-"),
        (r"—", " - "),
        (r" {2,}", " "),
        (r"[´‘‚’]", "'"),
        (r"''", '"'),
        (r"…", "..."),
        ("(?:\xa0(?=«\xa0))?«\xa0?", '"'),
        ("\xa0»\xa0?|»", '"'),
        ("\xa0(?=%)", ""),
        ("(?<=nº)\xa0", " "),
        ("\xa0(?=[:?!;])", ""),
        ("(?<=,)\xa0|\xa0(?=ºC|cm)", " "),
        (r" {2,}", " "),
    )
]
_MARKS_INSIDE: Steps = [(re.compile(r'"([,.]+)'), r'\1"')]
_MARKS_OUTSIDE: Steps = [
    (re.compile(r',"'), '",'),
    (re.compile(r'(?<!\.)(\.+)"(?=[^<])'), r'"\1'),
]
"""Dots are moved only if text follows."""
QUOTED_MARKS = {"en": _MARKS_INSIDE} | dict.fromkeys(("de", "es", "fr"), _MARKS_OUTSIDE)
"""The side of a closing quote to which commas and dots are moved, by language."""


class Punctuation(Rule):
    """Replaces quotes, dashes, ellipses and special spaces by their ASCII forms.

    Spaces within numbers stay; Moses replaces them by dots or commas.
    """

    name = "punctuation"
    scope = "sentence"
    is_of_signs = True

    def __init__(self, language: str = "") -> None:
        """Set the code of the source language."""
        self._steps = [*_STEPS, *QUOTED_MARKS.get(language.partition("-")[0], ())]

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for the source language."""
        return cls(setting.source)

    def prepare(self, run: Run) -> Run:
        """Return the sentence with normalized punctuation; its translation is not changed back."""
        if _MAY_CHANGE.search(run.text) is None:
            return run
        changed = run
        for pattern, replacement in self._steps:
            matches = pattern.finditer(changed.text)
            changed = changed.edited_outside(
                (*match.span(), match.expand(replacement)) for match in matches
            )
        return _trimmed(changed, like=run.text)


def _trimmed(run: Run, like: str) -> Run:
    """Remove a space at either edge that `like` does not have."""
    text, places = run.text, []
    if text.startswith(" ") and not like.startswith(" "):
        places.append((0, 1, ""))
    if len(text) > 1 and text.endswith(" ") and not like.endswith(" "):
        places.append((len(text) - 1, len(text), ""))
    return run.edited_outside(places)
