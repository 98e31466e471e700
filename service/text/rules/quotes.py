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

_LOW = ",,"
"""A German opening quote, as it is typed."""
_QUOTED = regex.compile(  # to `regex`, vowel signs are part of a word: यह “कुत्ता”
    rf"""(?<![^\s(\[/–—-])(?:  # not in a="b"
        (?P<opening>[„“"«»])(?=\w)[^„“”"«»\n]*\w(?P<double>[“”"«»])
      | (?P<opening>[‚‘‹›])(?=\w)[^‚‘’‹›\n]*\w(?P<single>[‘’‹›])
      | (?P<opening>')(?=\w)[^'\n]{{2,40}}(?<=\w)(?P<single>')  # if longer, more likely two apostrophes
      | (?P<opening>«[ \u00a0\u202f])(?=\w)[^„“”"«»\n]*\w(?P<double>[ \u00a0\u202f]»)
      # as typed where a keyboard lacks them; but not <<name>>, a field of a form letter
      | (?P<opening>\>>)(?=\w)[^<>\n]*\w(?P<double><<)
      | (?P<opening>{_LOW}|``)(?=\w)(?:(?!{_LOW}|``|'')[^„“”"«»\n])*\w(?P<double>''|["“”])
    )(?!\w)""",
    regex.VERBOSE,
)
_MAY_HOLD_ONE = re.compile(r"""[„“”"«»‚‘‹›「」()\[\]'<](?<!\w')""")
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
        start, end = _inner(text)
        if (start, end) == (0, len(text)):
            return run
        opening_tags = [
            Tag(position, self._as_the_target_writes(run, position, 0), "void")
            for position in range(start)
        ]
        closing_tags = [
            Tag(position + 1, self._as_the_target_writes(run, position, 1), "void")
            for position in range(end, len(text))
        ]
        tags = sorted([*run.tags, *opening_tags], key=lambda tag: tag.at)
        tags = sorted([*closing_tags, *tags], key=lambda tag: tag.at)
        return replace(run, tags=tags).edited([(0, start, ""), (end, len(text), "")])

    def _as_the_target_writes(self, run: Run, position: int, side: int) -> str:
        """Return the mark that replaces the one at `position`, before the sentence (side 0) or after it (1).

        Spaces inside French quotes are part of them.
        """
        text, mark = run.text, run.text[position]
        if self._quotes and mark.isspace():
            neighbour = text[position + 1 : position + 2] if side else text[position - 1 : position]
            is_part = neighbour == _SPACED[side] and all(
                tag.at != position + side for tag in run.tags
            )
            return "" if is_part else mark
        return self._quotes[side] if self._quotes and mark in _QUOTES else mark

    def _unquoted(self, run: Run) -> Run:
        """Convert quotes around words."""
        pairs: list[MarkPair] = []
        masked = [(part.begin, part.end, "x" * (part.end - part.begin)) for part in run.protected]
        for match in replace(run, text=replaced(run.text, masked)).between_tags(_QUOTED.finditer):
            start, end = match.span()
            closing = match["double"] or match["single"]
            inner_start, inner_end = match.end("opening"), end - len(closing)
            marks = self._quotes[:2] if match["double"] else self._quotes[2:]
            opening = marks[:1] or run.escaped(run.text[start:inner_start])
            closing = marks[1:] or run.escaped(run.text[inner_end:end])
            pairs.append(((start, inner_start, opening), (inner_end, end, closing)))
        return as_tags(run, pairs)


def _inner(text: str) -> tuple[int, int]:
    """Return the begin and end of a sentence without the quotes and brackets around all of it."""
    start, end = 0, len(text)
    for _ in range(MAX_MARKS):
        content = text[start:end]
        if len(content) < 3:
            break
        first_mark, last_mark = content[0], content[-1]
        quotes = sum(map(content.count, _QUOTES))
        opens = _BRACKETS.get(first_mark, content) not in content
        closes = _OPENING.get(last_mark, content) not in content
        if first_mark in _QUOTES:
            opens = quotes == 1
        if last_mark in _QUOTES:
            is_inch = content[-2].isdigit()
            closes = quotes == 1 and not is_inch and _LOW not in content
        if _BRACKETS.get(first_mark) == last_mark:
            opens = closes = content.count(first_mark) == content.count(last_mark) == 1
        elif first_mark in _QUOTES and last_mark in _QUOTES:
            opens = closes = quotes == 2
        if not (opens or closes) or not has_letter(content[opens : len(content) - closes]):
            break
        start, end = start + opens, end - closes
        start += len(text[start:end]) - len(text[start:end].lstrip())
        end = start + len(text[start:end].rstrip())
    return start, end
