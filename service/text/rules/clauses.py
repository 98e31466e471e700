"""Long sentences as clauses: a model that was trained on short ones leaves half of a long one out."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, ClassVar, Literal, Self, cast
from unicodedata import east_asian_width

import regex
from pydantic import Field

from service.text.languages import NEUTRAL, Language
from service.text.rules.rule import Parameters, Rule, Setting

SHORTEST = 7
"""Words of a clause; of less, a model does not know what it is about."""
_KINDS = (",،、，፣", ";؛；·፤", ":：፥")
"""Commas, semicolons and colons."""
_KIND = {mark: kind for kind, marks in enumerate(_KINDS) for mark in marks}
_LETTER = r"(?:[^\W\d_]|[\p{M}\p{No}])"  # हिन्दी, m²
_BOUNDARY = (
    rf"(?<={_LETTER}[,;:،؛·፣፤፥]|[ ][–—-])[ ](?=\S)"
    rf"|(?<={_LETTER}[，；：、])[ ]?(?=\S)"  # wide marks need no blank
)
_MARKED = regex.compile(_BOUNDARY)
_MARKED_OR_BLANK = regex.compile(rf"{_BOUNDARY}|(?<=[^\x00-\x7f])[ ](?=[^\x00-\x7f])")
_QUOTES, _BRACKETS = re.compile('[„“”"«»「」]'), re.compile(r"[()\[\]（）]")
_MARKS, _WORD = " .,;:–—-。۔।።" + "".join(_KINDS), re.compile(r"\w+")


class MaxWords(Parameters):
    """What a bundle says of it."""

    max_words: Annotated[int, Field(strict=True, ge=SHORTEST, le=10_000)]
    """Of a sentence that is translated whole."""


class Clauses(Rule):
    """Has long sentences translated clause by clause.

    The clauses of a text and the blanks between them are the text.
    """

    name: ClassVar[str] = "clauses"
    scope: ClassVar[Literal["run", "sentence"]] = "sentence"
    parameters = MaxWords

    def __init__(
        self,
        max_words: int,
        within: Callable[[str], str] = str,
        source: Language = NEUTRAL,
        target: Language = NEUTRAL,
    ) -> None:
        """Cut sentences of more than `max_words`; 0 is no limit.

        `within` gives the beginning of a sentence the case that it has within one.
        """
        self.max_words, self._within = max_words, within
        self._source, self._target = source, target

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """For both languages, and the vocabulary of the target."""
        source, target = setting.languages
        within = partial(setting.tokenizers.target.within, language=target)
        return cls(cast(MaxWords, setting.parameters).max_words, within, source, target)

    def cut(self, text: str) -> list[str]:
        """A sentence of too many words in two at the mark nearest its middle, and these again.

        Neither within quotes or brackets, nor into less than `SHORTEST` words. Where blanks do not separate
        words, characters are counted, and a blank is a mark.
        """
        word, count = self._source.word_length or 1, _length(text, self._source)
        most, shortest = self.max_words * word, SHORTEST * word
        if not self.max_words or count <= most:
            return [text]
        places, begins, lengths = _boundaries(text, self._source)
        found: list[str] = []
        to_cut = [
            (0, len(text), 0, count)
        ]  # characters and lengths of stretches, the next one last
        while to_cut:
            begin, end, before, behind = to_cut.pop()
            first = bisect_left(lengths, before + shortest)
            last = bisect_right(lengths, behind - shortest)
            if behind - before <= most or first >= last:
                found.append(text[begin:end])
                continue
            nearest = bisect_left(places, (begin + end) / 2, first, last)
            around = range(max(first, nearest - 1), min(last, nearest + 1))
            middle = min(around, key=lambda at: abs(2 * places[at] - begin - end))
            between = lengths[middle]
            to_cut.append((begins[middle], end, between, behind))
            to_cut.append((begin, places[middle], before, between))
        return found

    def join(self, sources: Sequence[str], translations: Sequence[str]) -> str:
        """The translations of a sentence's clauses as one: with the marks of the source between them.

        Marks are written as those of the target; a comma stands for a blank alone.
        """
        joined = [translations[0]]
        for before, source, translation in zip(
            sources, sources[1:], translations[1:], strict=False
        ):
            kind, is_dash = _KIND.get(before[-1], 0), before[-1] in "–—-"
            mark = f" {before[-1]}" if is_dash else self._target.clause_marks[kind]
            begins = (
                translation
                if _keeps_capital(kind, source, translation)
                else self._within(translation)
            )
            while joined and not (stripped := joined.pop().rstrip(_MARKS)):
                pass
            blank = "" if east_asian_width(mark[-1]) in "FW" else " "
            joined += [stripped, f"{mark}{blank}", begins]
        return "".join(joined)


def _length(text: str, language: Language) -> int:
    """In words, or in characters where blanks do not separate words."""
    words = text.split()
    return len(words) if language.separates_words else sum(map(len, words))


def _boundaries(text: str, language: Language) -> tuple[list[int], list[int], list[int]]:
    """Where clauses end, outside of quotes and brackets, where the next begin, and the lengths before."""
    places, begins, lengths = [], [], []
    at = length = quotes = brackets = 0
    pattern = _MARKED if language.separates_words else _MARKED_OR_BLANK
    for match in pattern.finditer(text):
        place = match.start()
        length += _length(text[at:place], language)
        quotes += len(_QUOTES.findall(text, at, place))
        brackets += len(_BRACKETS.findall(text, at, place))
        if quotes % 2 == brackets % 2 == 0:
            places.append(place)
            begins.append(match.end())
            lengths.append(length)
        at = place
    return places, begins, lengths


def _keeps_capital(kind: int, source: str, translation: str) -> bool:
    """Whether a clause is a sentence behind a colon, or begins with a name: with a word of the source."""
    if kind == _KIND[":"] and source[:1].isupper():
        return True
    return any(word in _WORD.findall(source) for word in _WORD.findall(translation)[:1])
