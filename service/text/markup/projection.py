"""Places a sentence's inline tags in its translation, around the corresponding words.

For any alignment, the nesting is preserved: an element lies within its parent and beside its siblings. Where
the words of several elements became one, links and other elements that are nothing without text take a
neighbouring word, and emphasis and quotes that would enclose nothing are left out.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from service.text.markup.html_tags import is_link_like, is_only_marks
from service.text.markup.stretches import Stretch, Stretches
from service.text.run import Tag, TagKind
from service.text.words import Alignment, Span

_COMMAS = ",;:\u060c\u061b\u3001\uff0c\uff1a\uff1b"
"""Commas, semicolons and colons, also Arabic and Chinese ones."""


@dataclass(slots=True)
class Element:
    """A pair of tags, or a single one, and the stretch of the sentence that it encloses.

    An element that began in an earlier sentence has no `open` and begins with the sentence. One that ends in
    a later sentence has no `close` and ends with the sentence. A void tag is an `open` around no text.
    """

    begin: int
    end: int
    open: str = ""
    close: str = ""
    full_close: str = ""
    """See `Tag.full`."""
    children: list["Element"] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether both tags are in this sentence."""
        return bool(self.open and self.close)

    @property
    def is_open(self) -> bool:
        """Whether it ends in a later sentence."""
        return not self.close and self.begin < self.end


def tree(tags: Sequence[Tag], length: int) -> list[Element]:
    """Return the nested elements of a sentence of `length` characters.

    A close tag without an open tag encloses everything before it on its level.
    """
    stack = [Element(0, length)]
    for tag in tags:
        if tag.kind == "void":
            stack[-1].children.append(Element(tag.at, tag.at, tag.raw))
        elif tag.kind == "open":
            stack.append(Element(tag.at, length, tag.raw))
        elif len(stack) > 1:
            element = stack.pop()
            element.end, element.close, element.full_close = tag.at, tag.raw, tag.full
            stack[-1].children.append(element)
        else:
            root = stack[0]
            root.children = [Element(0, tag.at, "", tag.raw, tag.full, root.children)]
    while len(stack) > 1:  # elements that end in a later sentence
        element = stack.pop()
        stack[-1].children.append(element)
    return stack[0].children


def project(elements: Sequence[Element], alignment: Alignment) -> list[Tag]:
    """Return the tags of the elements at their places in the translation."""
    links = alignment.links()
    placer = _Placer(alignment, links)
    placer.place_all(elements, (0, len(links)), (0, len(alignment.target)))
    return placer.tags


class _Placer:
    """Finds the places of elements in stretches of target words, in order.

    As a sentence may have as many elements as words, no element searches all the words.
    """

    def __init__(self, alignment: Alignment, links: list[int]) -> None:
        self.alignment, self.links = alignment, links
        source_words = alignment.source_words
        self.tags: list[Tag] = []
        self.begins = [begin for begin, _ in alignment.source_spans]
        self.ends = [end for _, end in alignment.source_spans]
        self.linked: list[list[int]] = [[] for _ in alignment.source_spans]
        """For each source word, the target words that translate it, in order."""
        for target, source in enumerate(links if self.linked else []):
            self.linked[source].append(target)
        self.densest: dict[tuple[range, int, int], tuple[int, int]] = {}
        self.stretches = Stretches(alignment.target_words)
        self.readable = [place for place, char in enumerate(alignment.source) if char.isalnum()]
        pairs = zip(alignment.target_words, links, strict=True)
        self.is_changed = np.array(
            [
                any(map(str.isalnum, word)) and source_words[source : source + 1] != [word]
                for word, source in pairs
            ]
        )
        """Whether a target word differs from what it translates: marks and numbers have their own place."""
        self.needs: dict[int, int] = {}
        """Minimum number of words that an element needs, by its id."""

    def place_all(self, elements: Sequence[Element], words: Span, characters: Span) -> None:
        """Place elements in a stretch of the translation, given as spans of words and of characters."""
        start, end = characters
        stretches = [
            Stretch(*self._place(element, *words), index, self._needs(element), element.is_open)
            for index, element in enumerate(elements)
        ]
        for stretch in self.stretches.arrange(stretches, *words):
            element = elements[stretch.index]
            first, last = stretch.first, stretch.last
            opening, closing = self._characters(first, last)
            if first == last > words[0] and self._trails(element):
                opening = closing = self.alignment.target_spans[first - 1][1]
            opening, closing = self._with_spaces(
                element, *self._without_commas(element, opening, closing)
            )
            opening = min(max(opening, start), end)
            closing = min(max(closing, opening), end)
            if not element.open:  # it began before this sentence
                opening = start
            if element.is_open:
                closing = end
            self._add(opening, element.open, "open" if element.close else "void")
            num_tags = len(self.tags)
            self.place_all(element.children, (first, last), (opening, closing))
            is_alone = len(self.tags) == num_tags and element.is_complete
            if (
                is_alone
                and is_only_marks(element.open)
                and self._is_lost(element, opening, closing)
            ):
                self.tags.pop()
            else:
                self._add(closing, self._close(element, opening, closing), "close")
            start = closing

    def _is_lost(self, element: Element, opening: int, closing: int) -> bool:
        """Return whether a stretch of the translation has nothing to read for an element that had."""
        if opening == closing:
            return True
        has_words = any(map(str.isalnum, self.alignment.source[element.begin : element.end]))
        return has_words and not any(map(str.isalnum, self.alignment.target[opening:closing]))

    def _close(self, element: Element, opening: int, closing: int) -> str:
        """Return the close tag of an element around a stretch of the translation."""
        if not element.full_close:
            return element.close
        before = self.alignment.source[element.begin : element.end]
        is_unchanged = before == self.alignment.target[opening:closing] and not element.children
        return element.close if is_unchanged and element.open else element.full_close

    def _needs(self, element: Element) -> int:
        """Return the minimum number of words that an element needs."""
        if id(element) not in self.needs:
            is_needy = element.is_complete and is_link_like(element.open)
            begin, end = (bisect_left(self.readable, at) for at in (element.begin, element.end))
            own = is_needy and begin < end
            self.needs[id(element)] = max(own, sum(map(self._needs, element.children)))
        return self.needs[id(element)]

    def _add(self, position: int, raw: str, kind: TagKind) -> None:
        if raw:
            self.tags.append(Tag(position, raw, kind))

    def _characters(self, first: int, last: int) -> Span:
        """Return the span from the beginning of word `first` to the end of the word before `last`."""
        spans, length = self.alignment.target_spans, len(self.alignment.target)
        start = spans[first][0] if first < len(spans) else length
        return start, max(start, spans[last - 1][1]) if last > first else start

    def _without_commas(self, element: Element, low: int, high: int) -> Span:
        """Shorten the stretch of marks by the commas at its edges that are not there in the source.

        To Markdown, marks between a word and a comma are none.
        """
        if not is_only_marks(element.open):
            return low, high
        inside = self.alignment.source[element.begin : element.end].strip()
        stretch = self.alignment.target[low:high]
        if inside[:1] not in _COMMAS:
            stretch = stretch.lstrip(f"{_COMMAS} ")
        low = high - len(stretch)
        if inside[-1:] not in _COMMAS:
            stretch = stretch.rstrip(f"{_COMMAS} ")
        return low, low + len(stretch)

    def _with_spaces(self, element: Element, low: int, high: int) -> Span:
        """Extend a stretch by the spaces around it, if the element had spaces at its inner edges."""
        source, target = self.alignment.source, self.alignment.target
        if element.begin == element.end:
            return low, high
        if source[element.begin].isspace() and target[max(0, low - 1) : low].isspace():
            low -= 1
        if source[element.end - 1].isspace() and target[high : high + 1].isspace():
            high += 1
        return low, high

    def _trails(self, element: Element) -> bool:
        """Check whether an empty element directly follows a word, and does not directly precede another."""
        num_before = bisect_right(self.ends, element.begin)
        return (
            element.begin == element.end
            and self.ends[num_before - 1 : num_before] == [element.begin]
            and self.begins[num_before : num_before + 1] != [element.begin]
        )

    def _place(self, element: Element, first: int, last: int) -> tuple[int, int]:
        """Return the range of target words, from `first` to before `last`, that belong to an element."""
        count = len(self.begins)
        source_words = range(
            bisect_right(self.ends, element.begin), bisect_left(self.begins, element.end)
        )
        if not source_words:
            next_word = bisect_left(self.begins, element.begin)
            if next_word == count:
                return last, last
            if next_word == 0:
                return first, first
            if self._trails(element):
                start = self._word(next_word - 1, first, last) + 1
                return min(start, last), min(start, last)
            start = self._word(next_word, first, last)
            return start, start
        if len(source_words) == count:
            return first, last
        start, stop = self._densest(source_words, first, last)
        if not element.open:
            start = first
        if not element.close:
            stop = last
        return start, stop

    def _word(self, source: int, first: int, last: int) -> int:
        """Return the first target word, from `first` to before `last`, that translates a source word."""
        index = bisect_left(self.linked[source], first)
        candidates = self.linked[source][index : index + 1]
        return (
            candidates[0]
            if candidates and candidates[0] < last
            else self._in_proportion(source, first, last)
        )

    def _densest(self, source_words: range, first: int, last: int) -> tuple[int, int]:
        """Return the stretch with the most words of the element and the fewest others (Kadane's algorithm).

        If no word mainly translates the element, it is the closest one. Results are cached, because many
        elements may enclose the same words.
        """
        key = (source_words, first, last)
        if key in self.densest:
            return self.densest[key]
        best, best_place, current, start, last_end = 0, (first, first), 0, first, first
        for target in sorted(chain.from_iterable(self.linked[source] for source in source_words)):
            if not first <= target < last:
                continue
            current -= target - last_end  # other words between
            if current <= 0:
                current, start = 0, target
            current, last_end = current + 1, target + 1
            if current > best:
                best, best_place = current, (start, target + 1)
        if not best:
            closest = self.alignment.closest(source_words, first, last, self.is_changed)
            in_proportion = self._in_proportion(source_words[0], first, last)
            start = in_proportion if closest is None else closest
            best_place = (start, min(last, start + 1))
        self.densest[key] = best_place
        return best_place

    def _in_proportion(self, source: int, first: int, last: int) -> int:
        fraction = source / max(1, len(self.alignment.source_spans))
        return min(max(first, round(fraction * len(self.links))), last)
