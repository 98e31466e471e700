"""Cuts text into sentences, so that what a model sees is what it was trained on, and puts the layout back.

`"".join(segment.text for segment in split(text))` is always `text`: what is not a sentence (line breaks,
indentation, list markers, spaces between sentences, lines without a letter) is kept as it is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# What ends a sentence, with the quotes and brackets that close behind it, if what follows may begin one.
# Possessive quantifiers, and one look at a row of marks: a text may hold nothing else.
_BOUNDARY = re.compile(
    r"""(?<![.!?…])(?P<mark>[.!?…]++)
        [)\]}"'”’»“]*+          # closing marks
        (?P<space>[ \t\u00a0]++)
        (?=[("'„“‚‘«¿¡\[\s]*+[^\W_a-zß-öø-ÿ])   # a capital letter or a digit, perhaps in quotes
      | (?P<full_width>[。！？]++[」』”）]*+)
    """,
    re.VERBOSE,
)
# "- ", "* ", "1. ", "(2) ", "a) " in front of a line
_MARKER = re.compile(
    r"[ \t\u00a0]*(?:[-*+•‣–—>#]+[ \t]+|\d{1,3}[.)][ \t]+|\(?(?:\d{1,3}|[a-z])\)[ \t]+)*"
)
_LETTER = re.compile(r"[^\W\d_]")
_ABBREVIATIONS = frozenset(
    """
    mr mrs ms dr prof st jr sr vs etc e.g i.e cf no vol pp p fig al inc ltd co corp dept est approx
    jan feb mar apr jun jul aug sep sept oct nov dec gen col lt sgt capt rev hon mt
    z.b d.h u.a o.ä bzw ca nr str evtl ggf usw vgl bsp inkl zzgl abs art bd hr fr frl hrsg jh mio mrd
    mind max min sog tel u.s.w z.t i.d.r s.o s.u v.a v.chr n.chr geb gest
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)
_NEVER_FINAL = _ABBREVIATIONS - {
    "etc",
    "usw",
    "inc",
    "ltd",
    "co",
    "corp",
    "u.s.w",
    "al",
    "str",
    "no",
    "max",
    "min",
    "art",
}

# with which a sentence begins, and no name of a month, a century or a king: "Er ist 30. Sie ist 25."
_STARTERS = frozenset(
    """
    i you he she it we they the a an this that these those there here then and but or so if when what
    who where why how is are was were do does did can could will would my your his her our their no
    yes please however also not in on at from with for to by any some all
    ich du er sie es wir ihr der die das ein eine einen einem einer dieser diese dieses dann da hier dort
    und aber oder so wenn als was wer wo warum wie wann ist sind war waren hat haben kann können wird
    werden mein meine dein deine sein seine ihre unser unsere kein keine nein ja bitte auch nicht im am
    an auf von mit für zu zum zur bei nach jede jeder jedes
    """.split()  # noqa: SIM905
)
_FIRST_WORD = re.compile(r"\W*(\w*)")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the text."""

    text: str
    is_sentence: bool
    """Whether it is to be translated; what is not comes back as it is."""


Splitting = Literal["all", "sentences", "none"]
"""Where to cut: at line breaks and between sentences, between sentences only, or nowhere."""


def split(text: str, splitting: Splitting = "all") -> list[Segment]:
    """Cut `text` into sentences and what lies between them."""
    if splitting == "none":
        return _trimmed(text)
    if splitting == "sentences":
        return _split_line(text)
    segments: list[Segment] = []
    for piece in re.split(r"((?:\r\n|[\n\r\v\f\x85\u2028\u2029])+)", text):
        if not piece:
            continue
        if piece[0] in "\n\r\v\f\x85\u2028\u2029":
            segments.append(Segment(piece, False))
        else:
            segments.extend(_split_line(piece))
    return segments


def _split_line(line: str) -> list[Segment]:
    """Sentences of one line, which holds no line break."""
    segments: list[Segment] = []
    marker = _MARKER.match(line)
    start = marker.end() if marker and marker.end() < len(line) else 0
    if start:
        segments.append(Segment(line[:start], False))
    for end, next_start in _boundaries(line, start):
        segments.extend(_trimmed(line[start:end]))
        if next_start > end:
            segments.append(Segment(line[end:next_start], False))
        start = next_start
    return segments


def _trimmed(sentence: str) -> list[Segment]:
    """A sentence without the spaces around it, which become segments of their own."""
    core = sentence.strip()
    if not has_letter(core):
        return [Segment(sentence, False)]
    begin = len(sentence) - len(sentence.lstrip())
    parts = [
        Segment(sentence[:begin], False),
        Segment(core, True),
        Segment(sentence[begin + len(core) :], False),
    ]
    return [part for part in parts if part.text]


def has_letter(text: str) -> bool:
    """Whether there is anything to translate."""
    return _LETTER.search(text) is not None


def _boundaries(line: str, start: int) -> Iterator[tuple[int, int]]:
    """Where each sentence from `start` on ends, and where what follows it begins.

    The dot of an abbreviation, an initial or an ordinal number ends none.
    """
    seen = start  # behind the last mark: there begins a word, so that the next mark's is behind it, too
    for match in _BOUNDARY.finditer(line, start):
        before, seen = line[seen : match.start()], match.end()
        if match["mark"] == "." and _is_inner_dot(before, line, seen):
            continue
        end = match.end() if match["full_width"] else match.start("space")
        yield end, match.end()
        start = match.end()
    if start < len(line):
        yield len(line), len(line)


def _is_inner_dot(before: str, line: str, behind: int) -> bool:
    """Whether a dot between `before` and what is from `behind` on belongs to the last word of `before`."""
    word = before.rsplit(maxsplit=1)[-1] if before.strip() else ""
    word = word.lstrip("(\"'„“‚‘«[").casefold()
    found = _FIRST_WORD.match(line, behind)
    following = found[1].casefold() if found else ""
    if word.isdigit():
        return len(word) <= 2 and following not in _STARTERS  # "am 3. Mai"; a year ends a sentence
    if following[:1].isdigit() and (word in _ABBREVIATIONS or word.endswith("str")):
        return True  # "No. 5", "Hauptstr. 5"
    if len(word) == 1 and word.isalpha():
        return before[-1:].isupper() or word in "zdusoivn"  # "J. S. Bach", "z. B."
    return word in _NEVER_FINAL
