"""Places a sentence's inline tags in its translation, around the corresponding words.

For any alignment, the nesting is preserved: an element lies within its parent and beside its siblings.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from service.text.run import Tag, TagKind
from service.text.words import Alignment, Span


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
    children: list["Element"] = field(default_factory=list)


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
            element.end, element.close = tag.at, tag.raw
            stack[-1].children.append(element)
        else:
            root = stack[0]
            root.children = [Element(0, tag.at, "", tag.raw, root.children)]
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
        self.tags: list[Tag] = []
        self.begins = [begin for begin, _ in alignment.source_spans]
        self.ends = [end for _, end in alignment.source_spans]
        self.linked: list[list[int]] = [[] for _ in alignment.source_spans]
        """For each source word, the target words that translate it, in order."""
        for at, source in enumerate(links if self.linked else []):
            self.linked[source].append(at)
        self.densest: dict[tuple[range, int, int], tuple[int, int]] = {}

    def place_all(self, elements: Sequence[Element], words: Span, characters: Span) -> None:
        """Place elements in a stretch of the translation, given as spans of words and of characters."""
        first, last = words
        at, end = characters
        placed = sorted(
            ((*self._place(one, first, last), index) for index, one in enumerate(elements)),
            key=lambda place: (place[0], place[1], place[2]),
        )
        free = first
        for start, stop, index in placed:
            start, stop = max(start, free), max(stop, start, free)
            element = elements[index]
            low, high = self._characters(start, stop)
            if start == stop > first and self._trails(element):
                low = high = self.alignment.target_spans[start - 1][1]
            low, high = self._with_spaces(element, low, high)
            low = min(max(low, at), end)
            high = min(max(high, low), end)
            if not element.open:  # it began before this sentence
                low = at
            if not element.close and element.begin < element.end:
                high = end
            self._add(low, element.open, "open" if element.close else "void")
            self.place_all(element.children, (start, stop), (low, high))
            self._add(high, element.close, "close")
            at, free = high, stop

    def _add(self, at: int, raw: str, kind: TagKind) -> None:
        if raw:
            self.tags.append(Tag(at, raw, kind))

    def _characters(self, first: int, last: int) -> Span:
        """Return the span from the beginning of word `first` to the end of the word before `last`."""
        spans, length = self.alignment.target_spans, len(self.alignment.target)
        begin = spans[first][0] if first < len(spans) else length
        return begin, max(begin, spans[last - 1][1]) if last > first else begin

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
        before = bisect_right(self.ends, element.begin)
        return (
            element.begin == element.end
            and self.ends[before - 1 : before] == [element.begin]
            and self.begins[before : before + 1] != [element.begin]
        )

    def _place(self, element: Element, first: int, last: int) -> tuple[int, int]:
        """Return the range of target words, from `first` to before `last`, that belong to an element."""
        count = len(self.begins)
        inside = range(
            bisect_right(self.ends, element.begin), bisect_left(self.begins, element.end)
        )
        if not inside:
            following = bisect_left(self.begins, element.begin)
            if following == count:
                return last, last
            if following == 0:
                return first, first
            if self._trails(element):
                start = self._word(following - 1, first, last) + 1
                return min(start, last), min(start, last)
            start = self._word(following, first, last)
            return start, start
        if len(inside) == count:
            return first, last
        start, stop = self._densest(inside, first, last)
        if start == stop:  # no word translates it: place it in proportion
            start = self._in_proportion(inside[0], first, last)
            stop = min(last, start + 1)
        if not element.open:
            start = first
        if not element.close:
            stop = last
        return start, stop

    def _word(self, source: int, first: int, last: int) -> int:
        """Return the first target word, from `first` to before `last`, that translates a source word."""
        near = bisect_left(self.linked[source], first)
        found = self.linked[source][near : near + 1]
        return found[0] if found and found[0] < last else self._in_proportion(source, first, last)

    def _densest(self, inside: range, first: int, last: int) -> tuple[int, int]:
        """Return the stretch with the most words of the element and the fewest others (Kadane's algorithm).

        Results are cached, because many elements may enclose the same words.
        """
        key = (inside, first, last)
        if key in self.densest:
            return self.densest[key]
        best, best_place, current, start, behind = 0, (first, first), 0, first, first
        for at in sorted(chain.from_iterable(self.linked[source] for source in inside)):
            if not first <= at < last:
                continue
            current -= at - behind  # other words between
            if current <= 0:
                current, start = 0, at
            current, behind = current + 1, at + 1
            if current > best:
                best, best_place = current, (start, at + 1)
        self.densest[key] = best_place
        return best_place

    def _in_proportion(self, source: int, first: int, last: int) -> int:
        share = source / max(1, len(self.alignment.source_spans))
        return min(max(first, round(share * len(self.links))), last)
