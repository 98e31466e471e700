"""Where in a text in Markdown is what a reader reads, and what are markers, targets and code.

pulldown-cmark, the parser of rustdoc and mdBook, says where in the source each piece of text is. All that is
in none is markup: nothing of the syntax is written here again, and nothing can be lost. It does not decide
alone: most texts are no Markdown, and what only looks so is text (`_is_text`, `_is_code`).
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import numpy as np
from pyromark import Options, events_with_range

from service.text.markup.html_tags import kind_of, untranslated
from service.text.rules.placeholders import CODE_SIGNS, Placeholders
from service.text.run import Protected, Run
from service.text.words import TOUCHING

_OPTIONS = (
    Options.ENABLE_TABLES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_FOOTNOTES
)
_LINKS = frozenset(["Link", "Image"])
_AROUND = _LINKS | {"Emphasis", "Strong", "Strikethrough"}
_SURE = _LINKS | {"Heading", "Table", "TaskListMarker", "Code"}
"""What hardly a text has that is no Markdown."""
_LETTER_IN_WORD = re.compile(rf"[^\W{TOUCHING}]")
_TIGHT = rf"[^\s{TOUCHING}]"
_IN_FORMULA = re.compile(  # 2**3**4, a**b**c, x**y**(z), but **H**TML
    rf"[\d_]|(?:{_LETTER_IN_WORD.pattern}{_TIGHT}|{_TIGHT}{_LETTER_IN_WORD.pattern})"
)
_NAME = re.compile(r"__\w+__")
_YEAR = re.compile(r"\d{4,}[.)]")
_OF_CODE = re.compile(rf"[^\s{CODE_SIGNS}]*+[{CODE_SIGNS}]\S*+")
_CODE_SIGN = re.compile(
    r"[={}\\|`]|\w\(|_\w|</?\w|(?:^|[ \t])(?:--?\w|\.{0,2}/\w|~/|//|\$[ \w]|# )", re.MULTILINE
)
_PROSE_LINE = re.compile(
    # of other letters than commands, with capitals, or with a mark at its end
    r"^[ \t]*+[^a-z\s]|\s[^\W\d_a-z]|[.,;:!?…\"“”»)][ \t]*$",
    re.MULTILINE,
)

Kind = Literal["text", "open", "close", "void", "protected", "break", "block", "html"]
"""`break` is between lines and paragraphs, as any text has them; `block` is a boundary that only Markdown
has, or a block that stays as it is; `html` is a block of it."""


class Atom(NamedTuple):
    """A stretch of the source, and what it is. What is between blocks and in no atom stays as it is."""

    first: int
    last: int
    kind: Kind


class _Event(NamedTuple):
    """What the parser found: a `Start`, an `End`, or a piece; from a character to behind another."""

    name: str
    first: int
    last: int
    of: str = ""
    """The element that starts or ends."""
    info: Any = None


def atoms(text: str) -> Iterator[Atom]:
    """The atoms of a text, in order."""
    return _Reader(text, _events(text)).atoms()


def _events(text: str) -> list[_Event]:
    """What the parser finds, with places in characters; it counts bytes, and cuts text at every mark."""
    encoded = text.encode("utf-8", "replace")  # half a surrogate pair is one character, too
    begins = (np.frombuffer(encoded, np.uint8) & 0xC0) != 0x80
    at = range(len(text) + 1) if len(encoded) == len(text) else [0, *np.cumsum(begins).tolist()]
    found: list[_Event] = []
    for given, place in events_with_range(encoded.decode(), options=_OPTIONS):
        event = _event(given, at[place["start"]], at[place["end"]])
        before = found[-1] if found else event
        if event.name == before.name == "Text" and event.first == before.last:
            found[-1] = _Event("Text", before.first, event.last)
        else:
            found.append(event)
    return found


def _event(given: Any, first: int, last: int) -> _Event:
    name, of = (given, "") if isinstance(given, str) else next(iter(given.items()))
    if name not in ("Start", "End"):
        return _Event(name, first, last)
    element, info = (of, None) if isinstance(of, str) else next(iter(of.items()))
    return _Event(name, first, last, element, info)


class _Reader:
    """Makes atoms of events."""

    def __init__(self, text: str, events: list[_Event]) -> None:
        self.text, self.events = text, events
        self.is_sure = any(event.of in _SURE or event.name in _SURE for event in events)
        self.ends = _ends(text, events)
        self.are_tags: list[bool] = []
        """Of the elements around words that are open: whether each is one, and no text."""

    @cached_property
    def placeholders(self) -> Sequence[Protected]:
        """Those of the text, in order."""
        return Placeholders().prepare(Run(_without_targets(self.text, self.events))).protected

    def atoms(self) -> Iterator[Atom]:
        """The atoms, none of which overlaps another."""
        index = at = 0
        while index < len(self.events):
            event, end = self.events[index], self._end(index)
            kind = self._kind(event, is_whole=end > index)
            first, last = event.first, self.events[end].last
            if end == index and event.of in _AROUND:
                first, last = self._mark(index, at)
            elif end == index and event.of:
                first = last = event.last if event.name == "End" else event.first
            at, before = max(at, last), at
            yield Atom(max(first, before), at, kind)
            if event.of == "Item" and (year := _YEAR.match(self.text, first, event.last)):
                at = year.end()
                yield Atom(year.start(), at, "text")
            index = end + 1

    def _end(self, index: int) -> int:
        """The last event of what is taken in whole at this one, which is itself else."""
        event = self.events[index]
        is_whole = (
            event.name == "InlineHtml"
            or event.of == "HtmlBlock"
            or (
                event.of == "Link"
                and event.info
                and event.info["link_type"] in ("Autolink", "Email")
            )
            or (event.of == "CodeBlock" and self._is_code(event))
        )
        return self.ends.get(index, index) if is_whole else index

    def _mark(self, index: int, at: int) -> tuple[int, int]:
        """Where the opening or closing mark of an element around words is; all before `at` is taken in."""
        event = self.events[index]
        if event.name == "End":
            return at, event.last
        inner = self.events[index + 1]
        return event.first, event.last if inner.name == "End" else inner.first

    def _kind(self, event: _Event, *, is_whole: bool) -> Kind:
        if event.name in ("Text", "SoftBreak"):
            return "text"
        if event.name == "InlineHtml":
            return "protected" if is_whole else kind_of(self.text[event.first : event.last])
        if event.name == "Code":
            return "text" if self._is_text(event) else "protected"
        if event.of in _AROUND:
            return "protected" if is_whole else self._kind_of_mark(event)
        if event.of == "HtmlBlock":
            return "html"
        if event.of == "Paragraph" or event.name == "HardBreak":
            return "break"
        if event.of == "CodeBlock" and not is_whole:
            return "break"
        return "void" if event.name == "FootnoteReference" else "block"

    def _kind_of_mark(self, event: _Event) -> Kind:
        if event.name == "Start":
            self.are_tags.append(not self._is_text(event))
            return "open" if self.are_tags[-1] else "text"
        return "close" if self.are_tags.pop() else "text"

    def _is_text(self, event: _Event) -> bool:
        """Whether marks are none: those of a placeholder and, but for a link's, within words: `2*3*4`."""
        if event.of in _LINKS:
            return False
        first, last = event.first, event.last
        if event.name == "Code" and _OF_CODE.fullmatch(self.text, first, last):
            return False
        marks = [first] if event.name == "Code" else [first, last - 1]
        if any(self._is_within_placeholder(mark) for mark in marks):
            return True
        beside = self.text[max(0, first - 1) : first] + self.text[last : last + 1]
        in_word = _IN_FORMULA if event.of == "Strong" else _LETTER_IN_WORD
        return bool(in_word.search(beside) or _NAME.fullmatch(self.text, first, last))

    def _is_within_placeholder(self, at: int) -> bool:
        """Whether a place is within one, and not where it begins."""
        place = bisect_left(self.placeholders, at, key=attrgetter("begin")) - 1
        return place >= 0 and at < self.placeholders[place].end

    def _is_code(self, event: _Event) -> bool:
        """Whether a block of code is some, and not verse, a letter, or what is behind `~~~ A title ~~~`.

        Indented lines are code where the rest of the text is sure to be Markdown, where something in them is
        not in prose, and where behind a colon no line begins or ends as prose does.
        """
        block = self.text[event.first : event.last]
        if event.info != "Indented":
            return block[0] != "~" or block.rstrip().endswith("\n~~~")
        if self.is_sure or _CODE_SIGN.search(block):
            return True
        before = self.text[max(0, event.first - 50) : event.first].rstrip()
        return before.endswith(":") and not _PROSE_LINE.search(block)


def _without_targets(text: str, events: list[_Event]) -> str:
    """A text with blanks for what closes a link: the address in it is not all that a placeholder would be."""
    parts, at = [], 0
    for before, event in pairwise(events):
        if event.name == "End" and event.of in _LINKS and before.last >= at:
            parts += [text[at : before.last], " " * (event.last - before.last)]
            at = event.last
    return "".join([*parts, text[at:]])


def _ends(text: str, events: list[_Event]) -> Mapping[int, int]:
    """Where each element ends; of those in HTML, only such as stay as they are."""
    found: dict[int, int] = {}
    opened: list[int] = [-1]
    tags: dict[tuple[str, int], list[int]] = {}
    """Tags that open, by name and by the element that they are in: there they close, if at all."""
    for index, event in enumerate(events):
        if event.name == "Start":
            opened.append(index)
        elif event.name == "End":
            found[opened.pop()] = index
        elif event.name == "InlineHtml" and (name := untranslated(text[event.first : event.last])):
            same = tags.setdefault((name, opened[-1]), [])
            if not text.startswith("</", event.first):
                same.append(index)
            elif same:
                found[same.pop()] = index
    return found
