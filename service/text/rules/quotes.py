"""Converts quotes to tags: in the translation, they surround the corresponding words.

Vocabularies contain words as they occur after a space, and models take a word after a quote for a name.
"""

import re
from dataclasses import replace
from typing import Self

import regex

from service.text.rules.pairs import MarkPair, as_tags
from service.text.rules.rule import Rule, Setting
from service.text.run import Run, Tag, replaced
from service.text.segmenter import has_letter

_QUOTED = regex.compile(  # to `regex`, vowel signs are part of a word: यह “कुत्ता”
    r"""(?<![^\s(\[/–—-])(?:  # not in a="b"
        [„“"«»](?=\w)[^„“”"«»\n]*\w(?P<double>[“”"«»])
      | [‚‘‹›](?=\w)[^‚‘’‹›\n]*\w[‘’‹›]
      | '(?=\w)[^'\n]{2,40}(?<=\w)'  # if longer, more likely two apostrophes
      | «[ \u00a0\u202f](?=\w)[^„“”"«»\n]*\w(?P<spaced>[ \u00a0\u202f]»)
    )(?!\w)""",
    regex.VERBOSE,
)
_MAY_HOLD_ONE = re.compile(r"""[„“”"«»‚‘‹›「」()\[\]'](?<!\w')""")
"""A fast check: most sentences have no quotes or brackets, and apostrophes only after letters."""
_QUOTES = frozenset('„“”"«»「」')
_SPACED = "«»"
_BRACKETS = {"(": ")", "[": "]"}
_OPENING = {closing: opening for opening, closing in _BRACKETS.items()}
MAX_MARKS = 8
"""Maximum number of rounds in which marks around a sentence are removed: each round reads all of it."""


class Quotes(Rule):
    """Converts quotes, and brackets around a whole sentence, to tags.

    The translation gets the quotes of its own language.
    """

    name = "quotes"
    scope = "sentence"
    is_of_signs = True

    def __init__(self, quotes: str = "") -> None:
        """Set the target's quotes, opening and closing, double and single; "" preserves the source's."""
        self._quotes = quotes

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for the target language."""
        return cls(setting.languages[1].quotes)

    def prepare(self, run: Run) -> Run:
        """Return the sentence with quotes as tags."""
        if _MAY_HOLD_ONE.search(run.text) is None:
            return run
        return self._unquoted(self._unwrapped(run))

    def _unwrapped(self, run: Run) -> Run:
        """Convert the quotes and brackets around the whole sentence.

        A mark at an edge whose counterpart is in another sentence is converted, too.
        """
        text = run.text
        first, last = _inner(text)
        if (first, last) == (0, len(text)):
            return run
        front = [Tag(at, self._as_the_target_writes(run, at, 0), "void") for at in range(first)]
        behind = [
            Tag(at + 1, self._as_the_target_writes(run, at, 1), "void")
            for at in range(last, len(text))
        ]
        together = sorted([*run.tags, *front], key=lambda tag: tag.at)
        together = sorted([*behind, *together], key=lambda tag: tag.at)
        return replace(run, tags=together).edited([(0, first, ""), (last, len(text), "")])

    def _as_the_target_writes(self, run: Run, at: int, place: int) -> str:
        """Return the mark that replaces the one at `at`, before the sentence (place 0) or after it (place 1).

        Spaces inside French quotes are part of them.
        """
        text, mark = run.text, run.text[at]
        if self._quotes and mark.isspace():
            beside = text[at + 1 : at + 2] if place else text[at - 1 : at]
            is_part = beside == _SPACED[place] and all(tag.at != at + place for tag in run.tags)
            return "" if is_part else mark
        return self._quotes[place] if self._quotes and mark in _QUOTES else mark

    def _unquoted(self, run: Run) -> Run:
        """Convert quotes around words."""
        pairs: list[MarkPair] = []
        as_words = [(one.begin, one.end, "x" * (one.end - one.begin)) for one in run.protected]
        for match in replace(run, text=replaced(run.text, as_words)).between_tags(_QUOTED.finditer):
            first, last = match.span()
            length = 2 if match["spaced"] else 1
            inner, behind = first + length, last - length
            is_double = match["double"] or match["spaced"]
            own = self._quotes[:2] if is_double else self._quotes[2:]
            opening, closing = own[:1] or run.text[first:inner], own[1:] or run.text[behind:last]
            pairs.append(((first, inner, opening), (behind, last, closing)))
        return as_tags(run, pairs)


def _inner(text: str) -> tuple[int, int]:
    """Return the begin and end of a sentence without the quotes and brackets around all of it."""
    first, last = 0, len(text)
    for _ in range(MAX_MARKS):
        inner = text[first:last]
        if len(inner) < 3:
            break
        in_front, behind = inner[0], inner[-1]
        quotes = sum(map(inner.count, _QUOTES))
        opens = quotes == 1 if in_front in _QUOTES else _BRACKETS.get(in_front, inner) not in inner
        is_inch = inner[-2].isdigit()
        closes = (
            quotes == 1 and not is_inch
            if behind in _QUOTES
            else _OPENING.get(behind, inner) not in inner
        )
        if _BRACKETS.get(in_front) == behind:
            opens = closes = inner.count(in_front) == inner.count(behind) == 1
        elif in_front in _QUOTES and behind in _QUOTES:
            opens = closes = quotes == 2
        if not (opens or closes) or not has_letter(inner[opens : len(inner) - closes]):
            break
        first, last = first + opens, last - closes
        first += len(text[first:last]) - len(text[first:last].lstrip())
        last = first + len(text[first:last].rstrip())
    return first, last
