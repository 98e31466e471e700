"""Preserves symbols that models change: emoji, smileys, arrows, lines, final hashtags, invisible characters.

They are extracted from a text as tags, and the alignment determines their places in the translation.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import regex

from service.text.rules.placeholders import HASHTAG
from service.text.rules.rule import Rule
from service.text.run import PROTECTED, Place, Run
from service.text.words import BLANKS, LINE_BREAKS

_DIRECTION = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROL = r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # the others are whitespace
_NONE = "\ufdd0-\ufdef" + "".join(
    chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17)
)
"""Unicode's noncharacters."""
_EMPTY = (
    "\u00ad\u034f\u115f\u1160\u180b-\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff"
)
"""Characters without width; within a word, soft hyphens and the like are left to the rule `spelling`."""
_BETWEEN_WORDS = "|".join(  # to `regex`, unlike `re`, vowel signs and other marks belong to a word
    [
        rf"(?<![\w{_EMPTY}])[{_EMPTY}]++",
        rf"(?<=\w)[{_EMPTY}]++(?!\w)",
        r"(?<![^\0-\u024f])[\u200c\u200d]++(?!\w)",  # in many scripts, joiners belong to a word, too
    ]
)
_PICTURES = (  # those in private use areas are from icon fonts
    f"•©®™℠†‡¶{_DIRECTION}{_CONTROL}{_NONE}\u2190-\u21ff\u2300-\u23ff\u2500-\u27bf\u2900-\u297f\u2b00-\u2bff\ue000-\uf8ff"
    "\U0001f000-\U0001faff\U000f0000-\U0010ffff"
)
_OF_TERMINALS = r"\x1b\[[\d;]*+[A-Za-z]"
"""An escape sequence, such as those for colours."""
_UNSEEN = re.compile(f"(?:{_OF_TERMINALS}|[{_DIRECTION}{_CONTROL}{_NONE}{_EMPTY}\u200c\u200d])+")
_OF_WORD_BEFORE = "®™℠†‡"
_SECTION = rf"(?<![\d§])(?<!\d[{BLANKS}])§++"
_NUMBER_OF_SECTION = re.compile(rf"[{BLANKS}]?[\d{PROTECTED}{{%$<]")
"""What follows a section sign, also in a tag, unless it stands alone, as in a link to a heading."""
_VERSE = (
    r"(?<![\w\u00b9\u00b2\u00b3\u2070-\u2079])[\u00b9\u00b2\u00b3\u2070-\u2079]++(?=\p{L}\p{Ll}{2})"
)
"""The number of a footnote, a sentence or a verse before a word: `¹The`."""
_KEYCAP = "[0-9#*]\ufe0f?\u20e3"
_HEART = r"(?<!\w)<3(?!\w)"
_ACCELERATOR = r"(?<![\s\S])&(?=[^\W\d_])|(?<=\w )&(?=\p{Ll}++(?!;))"
"""&File, Save &as; elsewhere, it may mean "and"."""
_FACE = r"(?<![\w:;=])[:;=]['^o-]?(?:\)++|\(++|[DPp|/\\])(?![\w/])"  # :-) ;) :'( =D
_ARROW = r"(?<![-=~])(?:<?[-=~]++>++|<++[-=~]++)"  # begins once, so a long shaft is read once
_SIGN = r"[-=~*+_<>|#^/\\&:]"
_REPEATED_SIGNS = r"-=~*+_#|<>"
_DRAWN = "|".join(
    [
        rf"(?<!\w){_ARROW}",  # --->
        rf"{_ARROW}(?!\w)",
        rf"(?<!\S)(?!(?<=\w )-{{2,3}} \w){_SIGN}{{2,}}+(?!\S)",  # ~~*~~ by itself, but not a dash
        *(
            rf"[{sign}]{{4,}}+"  # ======
            rf"|(?<!\S)(?<!\s[{sign}] )[{sign}](?: [{sign}]){{3,}}+(?!\S)"  # - - - -
            for sign in _REPEATED_SIGNS
        ),
    ]
)
"""Arrows and lines that are drawn with signs."""
_JOINED = "[\u200d\u20e3\ufe0e\ufe0f\U000e0020-\U000e007f]"
_OF_NUMBER = rf"[{_OF_WORD_BEFORE}©](?![\w-])(?<=(?<![\w.,·-])\d[\d.,]*[{_OF_WORD_BEFORE}©])"
"""A sign after a number; in Windows11® and 365®-users, it belongs to a word."""
_PICTURE = rf"(?!{_OF_NUMBER})[{_PICTURES}]"
_KINDS = (
    _OF_TERMINALS,
    _PICTURE,
    _SECTION,
    _VERSE,
    _BETWEEN_WORDS,
    _KEYCAP,
    _HEART,
    _FACE,
    _ACCELERATOR,
    _DRAWN,
)
_SYMBOL = f"(?:{'|'.join(_KINDS)}){_JOINED}*"
_MAY_HOLD_ONE = re.compile(  # single signs between letters are common: up-to-date, and/or
    rf"[{_PICTURES}§\u00b9\u00b2\u00b3\u2070-\u2079{_EMPTY}\u200c\u200d<:;=#\u20e3~*+_>|^&/\\-]"
    rf"(?:(?<![-~*+_>|^&/\\])|[ ]?{_SIGN}|(?<=&)(?<!\S&)(?=\w))"
)
"""A fast check that rejects most texts."""
_IS_OF_NUMBER = regex.compile(_OF_NUMBER)
_SYMBOLS = regex.compile(f"{_SYMBOL}(?:[ \t\u00a0]*+{_SYMBOL})*")
_WITH_HASHTAGS = regex.compile(f"(?:{_SYMBOL}|{HASHTAG})(?:[ \t\u00a0]*+(?:{_SYMBOL}|{HASHTAG}))*")
_OPENS = re.compile(r"""[(\[{„«‹‚]\Z|(?<![^\s(\[])["'“‘»›]\Z""")
"""A mark that directly precedes words."""
_ENDS_LINE = re.compile(r"\s*?(?:\n|\Z)")
_ENDS_TEXT = re.compile(r"\s*+\Z")
"""The same in HTML and XML, where a line break is a space."""
_SPACES = " \t\u00a0"


class Symbols(Rule):
    """Extracts symbols from a run as tags, with the spaces around them that the text does not need."""

    name = "symbols"
    is_default = True
    is_of_signs = True

    def prepare(self, run: Run) -> Run:
        """Return the run with its symbols as tags."""
        if _MAY_HOLD_ONE.search(run.text) is None:
            return run
        ends_line = _ENDS_LINE if run.format == "text" else _ENDS_TEXT
        matches = run.between_tags(partial(_matches, ends_line))
        extractions = [
            (match, *_extraction(match)) for match in matches if not _is_protected(match, run)
        ]
        if not extractions:
            return run
        untagged = replace(run, tags=())
        return run.extracted(
            [place for _, place, *_ in extractions],
            [
                f"{lead}{untagged.written_between(*match.span())}{trail}"
                for match, _, lead, trail in extractions
            ],
        )


def is_of_number(text: str, position: int) -> bool:
    """Check whether the sign at `position` directly follows a number that is not part of a word: 1999®."""
    return _IS_OF_NUMBER.match(text, position) is not None


def _is_protected(match: regex.Match[str], run: Run) -> bool:
    """Check whether symbols belong to a number or a protected part; hashtags may contain one."""
    start, end = match.span()
    parts = run.protected_between(start, end)
    if match.group().endswith("§") and _NUMBER_OF_SECTION.match(run.text, end):
        return True
    if not parts:
        return False
    return "#" not in match.group() or parts[0].begin < start or parts[-1].end > end


def _matches(
    ends_line: re.Pattern[str], text: str, start: int, end: int
) -> Iterator[regex.Match[str]]:
    """Yield symbols, and hashtags at the end of a line; other hashtags are words of their sentence."""
    for match in _WITH_HASHTAGS.finditer(text, start, end):
        if "#" not in match.group() or ends_line.match(text, match.end()):
            yield match
        else:
            yield from _SYMBOLS.finditer(text, *match.span())


def _extraction(match: regex.Match[str]) -> tuple[Place, str, str]:
    """Return the place to replace, with its replacement, and the spaces in the tag around the symbols."""
    text, (first, last) = match.string, match.span()
    begin, end = first, last
    while begin > match.pos and text[begin - 1] in _SPACES:
        begin -= 1
    while end < match.endpos and text[end] in _SPACES:
        end += 1
    if (
        begin == 0 or text[begin - 1] in LINE_BREAKS
    ):  # between lines: line breaks after it stay there
        while end < match.endpos and text[end].isspace():
            end += 1
    lead, trail = text[begin:first], text[last:end]
    previous, following = text[begin - 1 : begin].strip(), text[end : end + 1].strip()
    if _UNSEEN.fullmatch(match.group()) and not (lead and trail):  # they have no width
        return (first, last, ""), "", ""
    if previous and text[first] in _OF_WORD_BEFORE and not (following.isalnum() and not trail):
        return (begin, last, ""), lead, ""
    if (lead and trail) or not previous or (not lead and _OPENS.search(text, begin - 1, begin)):
        return (first, end, ""), "", trail
    if lead:
        if following.isalnum():
            return (first, last, ""), "", ""
        return (begin, last, ""), lead, ""
    if following.isalnum() and (trail or previous.isalnum()):  # it directly follows a word or mark
        return (first, end, " "), "", " "
    return (first, end, ""), "", trail
