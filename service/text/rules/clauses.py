"""Long sentences as clauses: a model that was trained on short ones leaves half of a long one out."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal, Self, cast

from pydantic import Field

from service.text.rules.rule import Parameters, Rule, Setting

SHORTEST = 7
"""Words of a clause; of less, a model does not know what it is about."""
_BOUNDARY = re.compile(r"(?:(?<=[^\W\d_][,;:])|(?<= [–—-])) (?=\S)")
_QUOTES, _BRACKETS = re.compile('[„“”"«»]'), re.compile(r"[()\[\]]")
_MARKS, _WORD = " .,;:–—-", re.compile(r"\w+")


class MaxWords(Parameters):
    """What a bundle says of it."""

    max_words: Annotated[int, Field(strict=True, ge=SHORTEST, le=10_000)]
    """Of a sentence that is translated whole."""


class Clauses(Rule):
    """Has long sentences translated clause by clause.

    `" ".join(cut(text))` is always `text`.
    """

    name: ClassVar[str] = "clauses"
    scope: ClassVar[Literal["run", "sentence"]] = "sentence"
    parameters = MaxWords

    def __init__(self, max_words: int, within: Callable[[str], str] = str) -> None:
        """Cut sentences of more than `max_words`; 0 is no limit.

        `within` gives the beginning of a sentence the case that it has within one.
        """
        self.max_words, self._within = max_words, within

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """For the vocabulary of the target."""
        return cls(cast(MaxWords, setting.parameters).max_words, setting.tokenizers.target.within)

    def cut(self, text: str) -> list[str]:
        """A sentence of too many words in two at the mark nearest its middle, and these again.

        Neither within quotes or brackets, nor into less than `SHORTEST` words.
        """
        count = len(text.split())
        if not self.max_words or count <= self.max_words:
            return [text]
        places, words = _boundaries(text)
        found: list[str] = []
        to_cut = [(0, len(text), 0, count)]  # characters and words of stretches, the next one last
        while to_cut:
            begin, end, before, behind = to_cut.pop()
            first = bisect_left(words, before + SHORTEST)
            last = bisect_right(words, behind - SHORTEST)
            if behind - before <= self.max_words or first >= last:
                found.append(text[begin:end])
                continue
            nearest = bisect_left(places, (begin + end) / 2, first, last)
            around = range(max(first, nearest - 1), min(last, nearest + 1))
            middle = min(around, key=lambda at: abs(2 * places[at] - begin - end))
            place, between = places[middle], words[middle]
            to_cut += [(place + 1, end, between, behind), (begin, place, before, between)]
        return found

    def join(self, sources: Sequence[str], translations: Sequence[str]) -> str:
        """The translations of a sentence's clauses as one: with the marks of the source between them."""
        joined = [translations[0]]
        for before, source, translation in zip(
            sources, sources[1:], translations[1:], strict=False
        ):
            mark = before[-1] if before[-1] in ",;:" else f" {before[-1]}"
            begins = (
                translation
                if _keeps_capital(mark, source, translation)
                else self._within(translation)
            )
            while joined and not (stripped := joined.pop().rstrip(_MARKS)):
                pass
            joined += [stripped, f"{mark} ", begins]
        return "".join(joined)


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


def _keeps_capital(mark: str, source: str, translation: str) -> bool:
    """Whether a clause is a sentence behind a colon, or begins with a name: with a word of the source."""
    if mark == ":" and source[:1].isupper():
        return True
    return any(word in _WORD.findall(source) for word in _WORD.findall(translation)[:1])
