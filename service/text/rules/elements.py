"""Elements that do not enclose words of a sentence: an image between two spaces, the 2 in m²."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from service.text.rules.rule import Rule
from service.text.run import Place, Run, Tag
from service.text.words import LINE_BREAKS

_RAISED = re.compile(r"<(?:sub|sup)\b", re.IGNORECASE)
_UNIT = re.compile(
    r"(?<![^\W\d_])(?:[A-Za-zµΩ]|[A-Z]{2,3}|[cdkmnµ]m|mc|ft|in|yd|mi|sq|sin|cos|tan|log|ln)\Z"
)
"""A letter, unit, formula or function; after other words, a superscript number is a footnote's."""
_WORD, _FEWEST_WORDS = re.compile(r"[^\W\d_]{3,}+"), 3
"""Words, and the least number of them that directly behind another word are no part of it."""
_FOOTNOTE = re.compile(r"[\d\[\](),*† \u00a0]*+|[\[(]?[a-z][)\]]?")
_LONG_WORD = re.compile(r"[^\W\d_][^\W\d_A-Z]{2}")
"""The beginning of a word that is no symbol of an element."""
_NOTE = re.compile(r"\s*+[\[(].*[)\]]\s*+", re.DOTALL)
"""A note in brackets, such as [citation needed]."""
_OPENING, _CLOSING = "([{", ",.;:!?…)]}"
_SPACE_AFTER = re.compile(r"[ ]|\s+")
_BEGINS_WORD = re.compile(rf"[{re.escape(_CLOSING)}]\w")
"""A mark that does not close anything: .NET, .05."""
_CLOSES = re.compile(rf"[{re.escape(_CLOSING)}](?!\w)")


class Elements(Rule):
    """Protects units and formulas, separates footnote numbers from words, and keeps the spaces of void tags.

    Danke 😊 aber nein becomes Thanks 😊, but no.
    """

    name = "elements"
    is_default = True

    def prepare(self, run: Run) -> Run:
        """Return the run with such elements protected, or as void tags."""
        return _with_its_spaces(_whole(_without_footnotes(run))) if run.tags else run

    def restore(self, source: Run, translation: Run) -> Run:
        """Move the spaces of void tags to the sides where the translation needs them."""
        if not translation.tags:
            return translation
        text, tags = translation.text, list(translation.tags)
        places = Counter(tag.at for tag in tags)
        for index, tag in enumerate(tags):
            raw = tag.raw.strip(" ")
            if tag.kind == "void" and places[tag.at] == 1 and raw not in ("", tag.raw):
                lead, trail = tag.raw.split(raw, 1)
                lead = _space(lead, text[max(0, tag.at - 1) : tag.at], _OPENING, _CLOSING)
                if not _BEGINS_WORD.match(text, tag.at):
                    trail = _space(trail, text[tag.at : tag.at + 1], _CLOSING, _OPENING)
                tags[index] = replace(tag, raw=f"{lead}{raw}{trail}")
        return replace(translation, tags=tags)


def _space(space: str, neighbour: str, touching: str, separate: str) -> str:
    """Return the spaces that a tag needs beside a character; beside ambiguous marks, they are as before."""
    if not neighbour or neighbour.isspace() or neighbour in touching:
        return ""
    return space or " " if neighbour.isalnum() or neighbour in separate else space


def _without_footnotes(run: Run) -> Run:
    """Convert superscript numbers beside words to void tags, as they are not part of the word."""
    places: list[Place] = []
    tags: list[Tag] = []
    next_tag = 0
    for index, last in _raised(run):
        start, end = run.tags[index].at, run.tags[last].at
        tags += run.tags[next_tag:index]
        next_tag = index
        if _is_footnote(run, run.tags[index], end):
            raw = replace(run, tags=run.tags[index : last + 1]).written_between(start, end)
            tags.append(Tag(start, raw, "void"))
            places.append((start, end, ""))
            next_tag = last + 1
    return replace(run, tags=[*tags, *run.tags[next_tag:]]).edited(places) if places else run


def _is_footnote(run: Run, tag: Tag, end: int) -> bool:
    """Check whether the element that begins with a tag is a superscript number beside a word, not a unit.

    Before a word, it is the number of a footnote, a sentence or a verse.
    """
    start, text = tag.at, run.text
    if tag.raw[1:4].lower() != "sup" or not _FOOTNOTE.fullmatch(text, start, end):
        return False
    if text[start - 1 : start].isalpha():
        is_part = text[end : end + 1].isalnum() or text.startswith("-", end)
        return not (is_part or _UNIT.search(text, max(0, start - 4), start))
    return not text[start - 1 : start].isalnum() and _LONG_WORD.match(text, end) is not None


def _whole(run: Run) -> Run:
    """Protect words with superscripts or subscripts: `m<sup>2</sup>`, `H<sub>2</sub>O`."""
    stretches: list[tuple[int, int]] = []
    free_from = 0
    for index, last in _raised(run):
        start, end = run.tags[index].at, run.tags[last].at
        if start < free_from or _is_prose(run.text, start, end):
            continue
        while start > free_from and run.text[start - 1].isalnum():
            start -= 1
        while end < len(run.text) and run.text[end].isalnum():
            end += 1
        stretches.append((start, end))
        free_from = end
    return run.protecting(stretches)


def _is_prose(text: str, start: int, end: int) -> bool:
    """Check whether a raised or lowered stretch has words of its own, such as captions in small print."""
    is_beside_word = text[max(0, start - 1) : start].isalnum() and not _NOTE.fullmatch(
        text, start, end
    )
    words = _WORD.findall(text, start, end)
    return len(words) >= (_FEWEST_WORDS if is_beside_word else 1)


def _raised(run: Run) -> Iterator[tuple[int, int]]:
    """Yield the indices of the tags that begin and end the outermost superscripts and subscripts."""
    opened = ""
    first_tag = depth = 0
    for index, tag in enumerate(run.tags):
        if not opened and tag.kind == "open" and (match := _RAISED.match(tag.raw)):
            opened, first_tag, depth = match[0].lower(), index, 0
        if opened:
            depth += tag.depth
            if depth == 0:
                yield first_tag, index
                opened = ""


def _with_its_spaces(run: Run) -> Run:
    """Move one of two spaces around a void tag into it, or the one before it if a mark or line break follows.

    If no words precede it on its line, the line breaks behind it are moved, so that it stays there in any
    splitting.
    """
    text, tags, places = run.text, list(run.tags), list[Place]()
    position, free_from, begins_line = 0, 0, True
    groups = [
        (at, list(group)) for at, group in groupby(range(len(tags)), lambda one: tags[one].at)
    ]
    ends = [*(at for at, _ in groups[1:]), len(text)]
    for (at, group), end in zip(groups, ends, strict=False):
        between, position = text[position:at].rstrip(" \t\u00a0"), at
        begins_line = between[-1] in LINE_BREAKS if between else begins_line
        before, after = text[max(0, at - 1) : at], text[at : at + 1]
        is_before_break = after.isspace() and after != " "
        for index in group:
            if tags[index].kind != "void" or at < free_from:
                continue
            is_first, is_last = index == group[0], index == group[-1]
            takes_before = (
                (is_before_break and not begins_line)
                or (after == " " and not is_last)
                or _CLOSES.match(text, at) is not None
            )
            if before == " " and is_first and free_from < at and takes_before:
                places.append((at - 1, at, ""))
                tags[index] = replace(tags[index], raw=f" {tags[index].raw}")
                free_from = at + 1
            elif (
                before.isspace()
                # in plain text, a line break may end a sentence
                and (not is_before_break or run.format != "text" or (begins_line and is_last))
                and (spaces := _SPACE_AFTER.match(text, at, end))
            ):
                places.append((*spaces.span(), ""))
                tags[index] = replace(tags[index], raw=f"{tags[index].raw}{spaces[0]}")
                free_from = spaces.end()
    return replace(run, tags=tags).edited(places)
