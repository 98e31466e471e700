"""Distinguishes the text of Markdown from its markers, link targets and code.

pulldown-cmark, the parser of rustdoc and mdBook, gives the place of each piece of text in the source.
Everything else is markup, so the syntax is not implemented again here, and nothing can be lost. As most texts
are not Markdown, what only looks like it is treated as text (`_is_text`, `_is_code`).
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import numpy as np
from pyromark import Options, events_with_range

from service.text.markup.directives import Bodies
from service.text.markup.html_tags import kind_of, untranslated
from service.text.rules.placeholders import CODE_SIGNS, Placeholders
from service.text.run import Protected, Run
from service.text.words import TOUCHING

_OPTIONS = (
    Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_GFM  # [!NOTE] at the beginning of a quote
)
_LINKS = frozenset(["Link", "Image"])
_AROUND = _LINKS | {"Emphasis", "Strong", "Strikethrough"}
_SURE = _LINKS | {"Heading", "Table", "TaskListMarker", "Code"}
"""Elements that hardly occur in texts that are not Markdown."""
_CONTAINERS = re.compile(r"^[ \t>+*\-\d.)]++", re.MULTILINE)
"""What a line begins with in nested quotes and lists."""
MAX_READS = 50
"""How often each character of a text may be read because of them: at most 3 times in usual texts."""
_LETTER_IN_WORD = re.compile(rf"[^\W{TOUCHING}]")
_TIGHT = rf"[^\s{TOUCHING}]"
_IN_FORMULA = re.compile(  # 2**3**4, a**b**c, x**y**(z), but **H**TML
    rf"[\d_]|(?:{_LETTER_IN_WORD.pattern}{_TIGHT}|{_TIGHT}{_LETTER_IN_WORD.pattern})"
)
_NAME = re.compile(r"__\w+__")
_YEAR = re.compile(r"\d{4,}[.)]")
_HAS_CODE = re.compile(r"^[ \t]*+(?:```|~~~)|^[ \t]*+\r?\n(?:[ ]{8}|\t\t)", re.MULTILINE)
"""In the body of a directive, which is indented by four spaces."""
_END_OF_FENCE = re.compile(r"\n[ \t>]*+~~~+\s*+\Z")
_OF_CODE = re.compile(rf"[^\s{CODE_SIGNS}]*+[{CODE_SIGNS}]\S*+")
_CODE_SIGN = re.compile(
    r"""
    [={}\\|`] | \w\( | _\w | </?\w                                 # f(x), a_b, <a>
  | (?:^|[ \t]) (?: --?\w | \.{0,2}/\w | ~/ | // | \$[ \w] | \#[ ] )  # -v, ./x, ~/x, $ ls
    """,
    re.MULTILINE | re.VERBOSE,
)
_PROSE_LINE = re.compile(
    r"""
    ^[ \t]*+[^a-z\s]             # does not begin with a Latin lower-case letter
  | \s[^\W\d_a-z]                # has a capitalized word
  | [.,;:!?…\"“”»)][ \t]*$       # ends with a mark
    """,
    re.MULTILINE | re.VERBOSE,
)

Kind = Literal["text", "open", "close", "void", "protected", "break", "block", "html", "unread"]
"""`break` is a boundary between lines or paragraphs, as in any text; `block` is a boundary that only Markdown
has, or a block that is preserved; `html` is a block of HTML. `unread` begins text, up to the next boundary,
that Markdown takes for code."""


class Atom(NamedTuple):
    """A stretch of the source. What is between blocks and in no atom is preserved."""

    first: int
    last: int
    kind: Kind
    full: str = ""
    """Of a tag; see `Tag.full`."""


class _Event(NamedTuple):
    """An event of the parser: a `Start`, an `End`, or another piece, with its span in characters."""

    name: str
    first: int
    last: int
    of: str = ""
    """The element that starts or ends."""
    info: Any = None


def atoms(text: str) -> Iterator[Atom]:
    """Yield the atoms of a text, in order; none if it is too deeply nested to be read in linear time."""
    return _Reader(text, [] if _nests_too_deeply(text) else _events(text)).atoms()


def _nests_too_deeply(text: str) -> bool:
    """Check whether reading takes too long, as the parser compares each line with all that it may be in."""
    deepest = max(map(len, _CONTAINERS.findall(text)), default=0)
    return deepest * (1 + text.count("\n") + text.count("\r")) > MAX_READS * len(text)


def _events(text: str) -> list[_Event]:
    """Return the parser's events with spans converted from bytes to characters, and adjacent texts joined."""
    encoded = text.encode("utf-8", "replace")  # an unpaired surrogate becomes one character, too
    is_first_byte = (np.frombuffer(encoded, np.uint8) & 0xC0) != 0x80
    character_at: Sequence[int] = range(len(text) + 1)
    if len(encoded) > len(text):
        character_at = [0, *np.cumsum(is_first_byte).tolist()]
    events: list[_Event] = []
    options = _OPTIONS if _has_short_rows(text) else _OPTIONS | Options.ENABLE_TABLES
    for parser_event, span in events_with_range(encoded.decode(), options=options):
        event = _event(parser_event, character_at[span["start"]], character_at[span["end"]])
        previous = events[-1] if events else event
        if event.name == previous.name == "Text" and event.first == previous.last:
            events[-1] = _Event("Text", previous.first, event.last)
        else:
            events.append(event)
    return events


def _has_short_rows(text: str) -> bool:
    """Check whether a table might have more cells than characters: the parser completes short rows."""
    if "|" not in text:
        return False
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for _, block in groupby(lines, lambda line: line.strip(" \t") == ""):
        rows = list(block)
        if max(row.count("|") for row in rows) * len(rows) > sum(map(len, rows)):
            return True
    return False


def _event(parser_event: Any, first: int, last: int) -> _Event:
    """Convert an event: `"SoftBreak"`, `{"Start": "Emphasis"}` or `{"Start": {"Link": …}}`, for example."""
    if isinstance(parser_event, str):
        return _Event(parser_event, first, last)
    [(name, details)] = parser_event.items()
    if name not in ("Start", "End"):
        return _Event(name, first, last)
    if isinstance(details, str):
        return _Event(name, first, last, details)
    [(element, info)] = details.items()
    return _Event(name, first, last, element, info)


class _Reader:
    """Converts events to atoms."""

    def __init__(self, text: str, events: list[_Event]) -> None:
        self.text, self.events = text, events
        self.is_sure = any(event.of in _SURE or event.name in _SURE for event in events)
        self.ends = _ends(text, events)
        self.starts = {last: first for first, last in self.ends.items()}
        self.are_tags: list[bool] = []
        """For each open element of `_AROUND`, whether its marks are tags, not text."""

    @cached_property
    def placeholders(self) -> Sequence[Protected]:
        """The placeholders of the text, in order."""
        return Placeholders().prepare(Run(_without_targets(self.text, self.events))).protected

    @cached_property
    def bodies(self) -> Bodies:
        """The bodies of directives."""
        return Bodies(self.text)

    @cached_property
    def bold_words(self) -> frozenset[int]:
        """The places of the bold words between double underscores; others are placeholders, as `__name__`.

        These are labels in title case at the beginning of a line. If other double underscores in the text
        enclose several words, they are also all words with a capital or a letter beyond ASCII.
        """
        text = self.text
        marked = [
            (before, event, text[inner.first : inner.last])
            for before, event, inner in zip(
                self.events, self.events[1:], self.events[2:], strict=False
            )
            if event.name == "Start" and event.of == "Strong" and inner.name == "Text"
            if text.startswith("__", event.first)
        ]
        are_bold = any(" " in inner for _, _, inner in marked)
        return frozenset(
            event.first
            for before, event, inner in marked
            if inner.isalpha() and event.last - event.first == len(inner) + 4
            if (are_bold and not (inner.isascii() and inner.islower()))
            or (
                (before.name == "SoftBreak" or before.of not in ("", *_AROUND))
                and inner.istitle()
                and text.startswith(":", event.last)
            )
        )

    def atoms(self) -> Iterator[Atom]:
        """Yield the atoms, which do not overlap."""
        index = position = 0
        while index < len(self.events):
            event, end = self.events[index], self._end(index)
            kind = self._kind(event, is_whole=end > index)
            first, last, full = event.first, self.events[end].last, ""
            if end == index and event.of in _AROUND:
                first, last = self._mark(index, position)
                full = self._full(index) if kind == "close" else ""
            elif end == index and event.of:
                first = last = event.last if event.name == "End" else event.first
            position, previous_end = max(position, last), position
            yield Atom(max(first, previous_end), position, kind, full)
            if event.of == "Item" and (year := _YEAR.match(self.text, first, event.last)):
                position = year.end()
                yield Atom(year.start(), position, "text")
            index = end + 1

    def _end(self, index: int) -> int:
        """Return the last event of an element that is one atom, or `index` itself for other events."""
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

    def _mark(self, index: int, position: int) -> tuple[int, int]:
        """Return the span of an element's opening or closing mark; atoms cover the text before `position`."""
        event = self.events[index]
        if event.name == "End":
            is_collapsed = self._link_type(index) == "Collapsed"
            return position, event.last + len("[]") * is_collapsed  # they are not in its span
        next_event = self.events[index + 1]
        return event.first, event.last if next_event.name == "End" else next_event.first

    def _link_type(self, index: int) -> str:
        """Return the type of the link that an event ends, or "" for other elements."""
        start = self.events[self.starts[index]]
        return start.info["link_type"] if start.of in _LINKS else ""

    def _full(self, index: int) -> str:
        """Return the closing mark with its label for a link that has none besides its text, as `[this]`."""
        is_short = self._link_type(index) in ("Shortcut", "Collapsed")
        return f"][{self.events[self.starts[index]].info['id']}]" if is_short else ""

    def _kind(self, event: _Event, *, is_whole: bool) -> Kind:
        if event.name in ("Text", "SoftBreak"):
            return "text"
        if event.name == "InlineHtml":
            kind = kind_of(self.text[event.first : event.last])
            return "protected" if is_whole and kind == "open" else kind
        if event.name == "Code":
            return "text" if self._is_text(event) else "protected"
        if event.of in _AROUND:
            return "protected" if is_whole else self._kind_of_mark(event)
        if event.of == "HtmlBlock":
            return "html"
        if event.of == "Paragraph" or event.name == "HardBreak":
            return "break"
        if event.of == "CodeBlock" and not is_whole:
            return "unread" if event.name == "Start" else "break"
        return "void" if event.name == "FootnoteReference" else "block"

    def _kind_of_mark(self, event: _Event) -> Kind:
        if event.name == "Start":
            self.are_tags.append(not self._is_text(event))
            return "open" if self.are_tags[-1] else "text"
        return "close" if self.are_tags.pop() else "text"

    def _is_text(self, event: _Event) -> bool:
        """Check whether marks, except a link's, are text: in placeholders and within words (`2*3*4`)."""
        if event.of in _LINKS:
            return False
        first, last = event.first, event.last
        if event.name == "Code" and (
            "`" in self.text[first:last].strip("`") or _OF_CODE.fullmatch(self.text, first, last)
        ):
            return False
        if first in self.bold_words and not self._is_within_placeholder(first):
            return False
        marks = [first] if event.name == "Code" else [first, last - 1]
        if any(self._is_within_placeholder(mark) for mark in marks):
            return True
        neighbours = self.text[max(0, first - 1) : first] + self.text[last : last + 1]
        pattern = _IN_FORMULA if event.of == "Strong" else _LETTER_IN_WORD
        return bool(pattern.search(neighbours) or _NAME.fullmatch(self.text, first, last))

    def _is_within_placeholder(self, position: int) -> bool:
        """Check whether a place is within a placeholder, but not at its beginning."""
        index = bisect_left(self.placeholders, position, key=attrgetter("begin")) - 1
        return index >= 0 and position < self.placeholders[index].end

    def _is_code(self, event: _Event) -> bool:
        """Check whether a code block is code, not verse, a letter, or the text after `~~~ A title ~~~`.

        Indented lines are code if the text is certainly Markdown, if they contain signs of code, or if they
        follow a colon and have no line that begins or ends like prose. Those of a directive are, if they
        contain a block of code.
        """
        block = self.text[event.first : event.last]
        if event.info != "Indented":
            return block[0] != "~" or _END_OF_FENCE.search(block) is not None
        if self.bodies.has(event.first):
            return _HAS_CODE.search(block) is not None
        if self.is_sure or _CODE_SIGN.search(block):
            return True
        text_before = self.text[max(0, event.first - 50) : event.first].rstrip()
        return text_before.endswith(":") and not _PROSE_LINE.search(block)


def _without_targets(text: str, events: list[_Event]) -> str:
    """Replace the ends of links by spaces: placeholders must not extend beyond the address in them."""
    pieces, position = [], 0
    for previous, event in pairwise(events):
        if event.name == "End" and event.of in _LINKS and previous.last >= position:
            pieces += [text[position : previous.last], " " * (event.last - previous.last)]
            position = event.last
    return "".join([*pieces, text[position:]])


def _ends(text: str, events: list[_Event]) -> Mapping[int, int]:
    """Return the index of each element's last event; of HTML elements, only for those not translated."""
    last_events: dict[int, int] = {}
    opened: list[int] = [-1]
    tags: dict[tuple[str, int], list[int]] = {}
    """Open tags by name and enclosing element, in which they must be closed."""
    for index, event in enumerate(events):
        if event.name == "Start":
            opened.append(index)
        elif event.name == "End":
            last_events[opened.pop()] = index
        elif event.name == "InlineHtml" and (name := untranslated(text[event.first : event.last])):
            unclosed = tags.setdefault((name, opened[-1]), [])
            if not text.startswith("</", event.first):
                unclosed.append(index)
            elif unclosed:
                last_events[unclosed.pop()] = index
    return last_events
