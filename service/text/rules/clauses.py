"""Long sentences as clauses: a model that was trained on short ones leaves half of a long one out.

`" ".join(clauses(text, n))` is always `text`.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

SHORTEST = 7
"""Words of a clause; of less, a model does not know what it is about."""
_BOUNDARY = re.compile(r"(?:(?<=[^\W\d_][,;:])|(?<= [–—-])) (?=\S)")
_QUOTES, _BRACKETS = re.compile('[„“”"«»]'), re.compile(r"[()\[\]]")
_MARKS, _WORD = " .,;:–—-", re.compile(r"\w+")


def clauses(text: str, most_words: int) -> list[str]:
    """Cut a sentence of more words than `most_words` in two at the mark nearest its middle, and these again.

    Neither within quotes or brackets, nor into less than `SHORTEST` words; 0 is no limit.
    """
    count = len(text.split())
    if not most_words or count <= most_words:
        return [text]
    places, words = _boundaries(text)
    found: list[str] = []
    to_cut = [(0, len(text), 0, count)]  # characters and words of stretches, the next one last
    while to_cut:
        begin, end, before, behind = to_cut.pop()
        first = bisect_left(words, before + SHORTEST)
        last = bisect_right(words, behind - SHORTEST)
        if behind - before <= most_words or first >= last:
            found.append(text[begin:end])
            continue
        nearest = bisect_left(places, (begin + end) / 2, first, last)
        around = range(max(first, nearest - 1), min(last, nearest + 1))
        middle = min(around, key=lambda at: abs(2 * places[at] - begin - end))
        place, between = places[middle], words[middle]
        to_cut += [(place + 1, end, between, behind), (begin, place, before, between)]
    return found


def _boundaries(text: str) -> tuple[list[int], list[int]]:
    """Where clauses may end, outside of quotes and brackets, and how many words are before each place."""
    places, words = [], []
    at = count = quotes = brackets = 0
    for match in _BOUNDARY.finditer(text):
        place = match.start()
        count += len(text[at:place].split())
        quotes += len(_QUOTES.findall(text, at, place))
        brackets += len(_BRACKETS.findall(text, at, place))
        if quotes % 2 == brackets % 2 == 0:
            places.append(place)
            words.append(count)
        at = place
    return places, words


def join(sources: Sequence[str], translations: Sequence[str], within: Callable[[str], str]) -> str:
    """The translations of a sentence's clauses as one: with the marks of the source between them.

    `within` gives the beginning of a sentence the case that it has within one.
    """
    joined = [translations[0]]
    for before, source, translation in zip(sources, sources[1:], translations[1:], strict=False):
        mark = before[-1] if before[-1] in ",;:" else f" {before[-1]}"
        begins = translation if _keeps_capital(mark, source, translation) else within(translation)
        while joined and not (stripped := joined.pop().rstrip(_MARKS)):
            pass
        joined += [stripped, f"{mark} ", begins]
    return "".join(joined)


def _keeps_capital(mark: str, source: str, translation: str) -> bool:
    """Whether a clause is a sentence behind a colon, or begins with a name: with a word of the source."""
    if mark == ":" and source[:1].isupper():
        return True
    return any(word in _WORD.findall(source) for word in _WORD.findall(translation)[:1])
