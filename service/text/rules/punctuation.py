"""Punctuation as Moses' normalize-punctuation writes it, which many a model's training text has passed."""

import re
from collections.abc import Sequence
from typing import Self

from service.text.rules.rule import Rule, Setting
from service.text.run import Run

Steps = Sequence[tuple[re.Pattern[str], str]]

_MAY_CHANGE = re.compile("[^\\w ,.?!-]|  |\xa0")
"""A quick look: letters, figures and the commonest marks stay as they are."""
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
"""Of dots, only those in the middle of a text."""
QUOTED_MARKS = {"en": _MARKS_INSIDE} | dict.fromkeys(("de", "es", "fr"), _MARKS_OUTSIDE)
"""Which side of a closing quote commas and dots are put on, by language."""


class Punctuation(Rule):
    """Writes quotes, dashes, ellipses and the space around marks in the plainest way.

    Spaces within numbers stay, which Moses makes dots or commas of.
    """

    name = "punctuation"
    scope = "sentence"
    is_of_signs = True

    def __init__(self, language: str = "") -> None:
        """`language` is the source's code."""
        self._steps = [*_STEPS, *QUOTED_MARKS.get(language.partition("-")[0], ())]

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """For the language of the source."""
        return cls(setting.source)

    def prepare(self, run: Run) -> Run:
        """The sentence in plain punctuation; its translation stays as it is."""
        if _MAY_CHANGE.search(run.text) is None:
            return run
        changed = run
        for pattern, replacement in self._steps:
            matches = pattern.finditer(changed.text)
            changed = changed.edited_outside(
                (*one.span(), one.expand(replacement)) for one in matches
            )
        return _trimmed(changed, like=run.text)


def _trimmed(run: Run, like: str) -> Run:
    """Without a space at either edge that `like` does not have."""
    text, places = run.text, []
    if text.startswith(" ") and not like.startswith(" "):
        places.append((0, 1, ""))
    if len(text) > 1 and text.endswith(" ") and not like.endswith(" "):
        places.append((len(text) - 1, len(text), ""))
    return run.edited_outside(places)
