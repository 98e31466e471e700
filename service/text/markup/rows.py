"""Splits rows of links, so that each label stays on its link: the entries of a menu, tags, badges.

In a row, all words are in elements, and at least two of these are links. As one sentence, its words would
merge and change places. Other elements alone make no row: they may as well be the styled words of a sentence.
Nor do links with commas: in an enumeration, words tell the meanings of their neighbours, and keep apart.

A link to the rest of a text, behind its last sentence, is no part of that either. Nor is a number behind a
title that is a link.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import regex

from service.text.languages import Language
from service.text.markup.html_tags import is_link
from service.text.markup.nesting import close_tags
from service.text.run import Run, Tag
from service.text.segmenter import has_letter

_BETWEEN = regex.compile(r"(?:[\s\p{S}\ufe0f\u200d|/\\·•‧*()\[\]›»]|(?<=\s)[-–—](?=\s))*+")
"""Blanks, separators, brackets and emoji, but neither marks of sentences nor dashes between two words."""
_MIN_LINKS = 2
_JOINS = regex.compile(r"\s*+[\p{Ll},.;:!?]")
_END_OF_SENTENCE = regex.compile(
    r"""
      (?<!\s)(?:\.{3}|…)[\p{Pe}\p{Pf}"']*+\s*+\Z
    | [!?]\s++\Z
    | (?<![\p{L}.])(?P<word>\p{L}{2}\p{Ll}{2,})\.[\p{Pe}\p{Pf}"']*+\s++\Z  # not etc. or XIV.
    """,
    regex.VERBOSE,
)
_NUMBER = regex.compile(r"[\s()\[\]]*+\d[\d\s.:/()\[\]–-]*+")
"""A number, a date or a time."""
_LOOKED_AT = 48
"""Characters in front of a link that are examined."""
_WORD = regex.compile(r"\w++")
_MOST_WORDS, _MOST_WORDS_OF_LABEL = 4, 5
"""Maximum words of a link to the rest of a text, and of a label with marks of sentences."""


def cut(sentence: Run) -> list[str | Run]:
    """Return the elements of a row and what is between them, in order, or only the sentence if it is none."""
    links = [at for at, tag in enumerate(sentence.tags) if tag.kind == "open" and is_link(tag.raw)]
    if len(links) < _MIN_LINKS:
        return _without_badge(sentence, links[0]) if links else [sentence]
    tags = sentence.tags
    edges = [(0, 0)]
    for opening, closing in _elements(tags):
        edges += [(opening, tags[opening].at), (closing + 1, tags[closing].at)]
    edges.append((len(tags), len(sentence.text)))
    parts = [
        sentence.part(begin, end, tags[first:last])
        for (first, begin), (last, end) in pairwise(edges)
    ]
    gaps, elements = parts[::2], parts[1::2]
    if not (_are_labels(elements) and all(_BETWEEN.fullmatch(gap.unprotected()) for gap in gaps)):
        return [sentence]
    pieces = [part.written() if index % 2 == 0 else part for index, part in enumerate(parts)]
    return list(filter(None, pieces))


def _without_badge(sentence: Run, link: int) -> list[str | Run]:
    """Split a title that is a link from an element without words behind it, such as a number or a date."""
    tags = sentence.tags
    last = close_tags(tags[link:]).get(0)
    if last is None or sentence.text[: tags[link].at].strip() or link + last + 1 == len(tags):
        return [sentence]
    first_behind, end = link + last + 1, tags[link + last].at
    badge = sentence.part(end, len(sentence.text), tags[first_behind:])
    if _NUMBER.fullmatch(badge.unprotected()) is None:
        return [sentence]
    return [sentence.part(0, end, tags[:first_behind]), badge]


def cut_labels(run: Run) -> list[str | Run]:
    """Return the elements of a row if all are labels, which marks such as those of `Co. KG` do not divide."""
    pieces = cut(run)
    elements = [piece for piece in pieces if isinstance(piece, Run)]
    most = _MOST_WORDS_OF_LABEL
    are_labels = all(len(one.text.split(maxsplit=most)) <= most for one in elements)
    return pieces if are_labels else [run]


def without_last_link(run: Run, language: Language) -> list[Run]:
    """Split a text from the link behind its last sentence, such as "more" or "Read on", or return it alone.

    In one sentence, the link would enclose other words.
    """
    links = [at for at, tag in enumerate(run.tags) if tag.kind == "open" and is_link(tag.raw)]
    if not links:
        return [run]
    index = links[-1]
    begin = run.tags[index].at
    last = close_tags(run.tags[index:]).get(0)
    words = _WORD.findall(run.text, begin)
    end = _END_OF_SENTENCE.search(run.text, max(0, begin - _LOOKED_AT), begin)
    if (
        last is None
        or run.text[run.tags[index + last].at :].strip()
        or not 1 <= len(words) <= _MOST_WORDS
        or end is None
        or (end["word"] or "").casefold() in language.abbreviations
    ):
        return [run]
    return [
        run.part(0, begin, run.tags[:index]),
        run.part(begin, len(run.text), run.tags[index:]),
    ]


def _elements(tags: Sequence[Tag]) -> Iterator[tuple[int, int]]:
    """Yield the indices of the tags of each link, and of each other element with at most one link in it."""
    closing = close_tags(tags)
    links = [0, *accumulate(tag.kind == "open" and is_link(tag.raw) for tag in tags)]
    index = 0
    while index < len(tags):
        last = closing.get(index)
        if last is not None and (
            is_link(tags[index].raw) or links[last] - links[index] < _MIN_LINKS
        ):
            yield index, last
            index = last
        index += 1


def _are_labels(elements: Sequence[Run]) -> bool:
    """Check whether at least two elements are or have links, and the others can be labels.

    An element such as the current page of a menu is no link. If it begins in lower case or with a mark, it
    joins the links to a sentence: "Anna `<i>`and`</i>` Bob".
    """
    labels = [element for element in elements if has_letter(element.text)]
    linked = [
        any(tag.kind == "open" and is_link(tag.raw) for tag in element.tags) for element in labels
    ]
    return sum(linked) >= _MIN_LINKS and not any(
        _JOINS.match(label.text) is not None
        for label, is_linked in zip(labels, linked, strict=True)
        if not is_linked
    )
