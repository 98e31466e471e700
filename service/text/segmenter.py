"""Splits text into sentences, the units on which models are trained, and preserves the layout.

`"".join(segment.text for segment in split(text))` is always `text`: everything that is not a sentence (line
breaks, indentation, list markers, spaces between sentences, lines without letters) is kept as segments.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import regex

from service.text.inner_dots import LOOKED_AT, is_inner
from service.text.languages import NEUTRAL, Language
from service.text.rules.months import months_of
from service.text.words import ROMAN, Span

_OPEN, _CLOSE = "(\\[\"'„“‚‘«»‹›「『（【《〈¿¡", ")\\]}\"'”’»“«‘›‹」』）】》〉\u200e\u200f"
_BREAKS = r"\n\r\v\f\x1c-\x1f\x85\u2028\u2029"  # of lines, and separators of records and fields
_BLANK, _LINE_BREAK = rf"[^\S{_BREAKS}]", f"[{_BREAKS}]"
_LINE_BREAKS = re.compile(
    f"{_LINE_BREAK}{_LINE_BREAK}*"
)  # begins with a set, which `re` finds fast
_BLANK_LINES = re.compile(rf"(?>\r\n|\n|\r){_BLANK}*+(?>\r\n|\n|\r)\s*+")
_DOTS = frozenset(".۔")
_BEGINS_ITEM = r"""["'„“«(]*+(?: (?!\p{L}{2,4}\.)\p{Lu}\p{L} | \d | A[ ] )"""
# "- ", "* ", "1. ", "(2) ", "a) ", "iv. " at the beginning of a line; later letters before a dot may be
# abbreviations, such as German "s. Anhang", and a no-break space keeps "XX. Jahrhundert" together
_MARKER = regex.compile(
    rf"""
    [ \t\u00a0]*+
    (?: (?: [-*+•‣⁃∙·–—>#]++ | [»›] )[ \t\u00a0]++ | (?: ・ | \[\*\] )[ \t]*+
      | \d{{1,3}}[.)][ \t]++                                # 1. or 1)
      | (?: AW | Aw | WG | Wg | RE | Re | FW | Fw ):[ ]++    # of a subject
      | (?: \(?(?: \d{{1,3}} | {ROMAN} | [^\W\d_\p{{Lu}}] )\)  # (1), ii) or a)
          | (?: {ROMAN} | [a-h] )\.(?= [ \t\u00a0]++ {_BEGINS_ITEM} | \Z )  # IV. The
        ) (?: (?:[ \t]|\u00a0{{2}})[ \t\u00a0]*+ | \Z )
    )*+
    """,
    regex.VERBOSE,
)
_SECTION = regex.compile(
    r"\d{1,3}(?:\.\d{1,3})++(?P<mark>[:)])?+[ \t]++(?=(?P<next>\p{Lu}\p{Ll}*+))"
)
"""The number of a section or clause: 1.1) Buyers, 1.1 The buyer, but not 2.5 Liters."""
_MAY_BE_MARKED = re.compile(
    r"[ \t\u00a0*+•‣⁃∙·–—>»›#・(\[-]|[\da-hivxIVX\x80-\U0010ffff]{1,7}[.)]|.\)|[A-Z]\w:", re.DOTALL
)
"""A fast check that rejects most lines, because each call to `regex` releases Python's lock."""
_RIGHT, _LEFT = re.compile("[»›]"), re.compile("[«‹]")
_WORD = re.compile(r"\w*")
_DAY = re.compile(r"(?:3[01]|[12]\d|[1-9])\.[ \u00a0]\Z")
_REST_OF_NOTE = re.compile(r"[^().!?]{1,40}\)")
"""What follows the abbreviation with which a note in brackets begins: (Gr. M)."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the text."""

    text: str
    is_sentence: bool
    """Whether it is translated; other parts are kept unchanged."""


Splitting = Literal["all", "paragraphs", "sentences", "none"]
"""Where to split: between sentences, and at all line breaks, blank lines or no line breaks; or nowhere.

A model writes spaces for the line breaks within a sentence.
"""


def split(
    text: str, splitting: Splitting = "all", language: Language = NEUTRAL
) -> Iterator[Segment]:
    """Split a text into sentences and the parts between them."""
    if splitting == "none":
        yield from _trimmed(text)
    elif splitting == "sentences":
        yield from _split_line(text, language)
    else:
        position = 0
        for begin, end in [*line_breaks(text, splitting), (len(text), len(text))]:
            if position < begin:
                yield from _split_line(text[position:begin], language)
            if begin < end:
                yield Segment(text[begin:end], False)
            position = end


def line_breaks(text: str, splitting: Splitting) -> list[Span]:
    """Return the spans of the line breaks at which a text is split, whatever precedes and follows them."""
    if splitting in ("sentences", "none"):
        return []
    breaks = _LINE_BREAKS if splitting == "all" else _BLANK_LINES
    return [found.span() for found in breaks.finditer(text)]


def _split_line(line: str, language: Language) -> Iterator[Segment]:
    """Split a part of the text in which line breaks, if any, do not end sentences."""
    marker = _MARKER.match(line) if _MAY_BE_MARKED.match(line) else None
    start = marker.end() if marker else 0
    if marker and _RIGHT.search(marker[0]) and _LEFT.search(line, start):  # » Ja «
        start = 0
    if marker and (day := _DAY.search(marker[0])) and _names_month(line, start, language):  # 3. Mai
        start = day.start()
    # a fast check, too
    section = _SECTION.match(line, start) if line[start : start + 1].isdecimal() else None
    if section and (section["mark"] or section["next"].casefold() in language.starters):
        start = section.end()
    if start:
        yield Segment(line[:start], False)
    for end, next_start in _boundaries(line, start, language):
        yield from _trimmed(line[start:end])
        if next_start > end:
            yield Segment(line[end:next_start], False)
        start = next_start


def _names_month(line: str, start: int, language: Language) -> bool:
    """Check whether the name of a month begins at `start`, which makes the number before it a day."""
    word = _WORD.match(line, start)
    months = months_of(language.code).names if language.dotted_ordinals else ()
    return word is not None and word[0] in months


def _trimmed(sentence: str) -> list[Segment]:
    """Separate a sentence from the whitespace around it."""
    core = sentence.strip()
    if not has_letter(core):
        return [Segment(sentence, False)] if sentence else []
    if len(core) == len(sentence):
        return [Segment(sentence, True)]
    start = len(sentence) - len(sentence.lstrip())
    parts = [
        Segment(sentence[:start], False),
        Segment(core, True),
        Segment(sentence[start + len(core) :], False),
    ]
    return [part for part in parts if part.text]


def has_letter(text: str) -> bool:
    """Check whether there is anything to translate."""
    return any(map(str.isalpha, text))


def _boundaries(line: str, start: int, language: Language) -> Iterator[tuple[int, int]]:
    """Yield the end of each sentence from `start` on, and the beginning of the next."""
    pattern = _boundary(language.sentence_marks, language.unspaced_marks)
    for match in pattern.finditer(line, start):
        if not _ends_sentence(match, start, language):
            continue
        end = match.end() if match["space"] is None else match.start("space")
        yield end, match.end()
        start = match.end()
    if start < len(line):
        yield len(line), len(line)


@lru_cache(maxsize=256)
def _boundary(sentence_marks: str, unspaced_marks: str) -> re.Pattern[str]:
    """Return a pattern for a possible end of a sentence, with closing quotes and brackets, and what follows.

    Its time is linear even in a text of nothing but marks: quantifiers are possessive, and a run of marks is
    matched once. It begins with a set, which `re` finds fast.
    """
    marks, unspaced = re.escape(sentence_marks), re.escape(unspaced_marks)
    without_blank = (
        rf"(?<=[{unspaced}])[{unspaced}]*+(?P<shut>[{_CLOSE}]*+)" if unspaced else "(?!)(?P<shut>)"
    )
    return re.compile(
        rf"""[{marks}{unspaced}](?:
            (?<=[{marks}])(?<![{marks}]{{2}})(?P<more>[{marks}]*+)
            (?P<closing>[{_CLOSE}]*+)(?:\[[^\[\]\s]{{1,4}}\])*+  # a footnote's number
            (?:{_BLANK}[»›](?!\w))?  # « Oui ! »
            (?P<space>\s++)
            (?=[{_OPEN}\s]*+(?P<first>[^\W_]))
          | {without_blank}
          | (?<=[^\W\x00-\x7f][!?])[!?]*+[{_CLOSE}]*+(?=(?P<caseless>[^\W\d_\x00-\x7f]))  # 你好!我
        )""",
        re.VERBOSE,
    )


def _ends_sentence(match: re.Match[str], start: int, language: Language) -> bool:
    """Check whether a match of `_boundary` ends the sentence that begins at `start`."""
    line, position = match.string, match.start()
    if match["caseless"]:
        return match["caseless"].lower() == match["caseless"].upper()
    first_letter = match["first"] or ""
    # Georgian sentences begin in lower case
    if first_letter.islower() and first_letter != first_letter.title():
        return False
    text_before = line[max(start, position - LOOKED_AT) : position]
    if text_before.rfind("《") > text_before.rfind("》"):  # a title: 《摔跤吧！爸爸》
        return False
    if (match["closing"] or match["shut"]) and line.startswith(language.speech, match.end()):
        return False
    if match["more"] == "" and line[position] in _DOTS:
        note = text_before.rpartition("(")[2] if "(" in text_before else ""
        if note.isalpha() and _REST_OF_NOTE.match(line, match.end()):
            return False
        next_word = _WORD.match(line, match.start("first"))
        return not is_inner(text_before, next_word[0] if next_word else "", language)
    return True
