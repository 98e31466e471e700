"""Long sentences, translated clause by clause: models trained on short ones leave out half."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, NamedTuple, Self, cast
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
_WIDE = "，；：、"
_WIDE_MARKS = frozenset(_WIDE)
_NARROW_BOUNDARY = rf"[ ](?<=(?:{_LETTER}[,;:،؛·፣፤፥]|[ ][–—-])[ ])(?=\S)"
_BOUNDARY = rf"{_NARROW_BOUNDARY}|(?<={_LETTER}[{_WIDE}])[ ]?(?=\S)"  # wide marks need no blank
_NARROWLY_MARKED, _MARKED = regex.compile(_NARROW_BOUNDARY), regex.compile(_BOUNDARY)
"""The first takes a seventh of the time, as it begins with what can be found fast."""
_MARKED_OR_BLANK = regex.compile(rf"{_BOUNDARY}|(?<=[^\x00-\x7f])[ ](?=[^\x00-\x7f])")
_BLANK = regex.compile(r"[ ](?=\S)")
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

    name = "clauses"
    scope = "sentence"
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

        What has no mark is cut if it is more than twice too long: in front of a word that begins sentences,
        else at any blank. Neither within quotes or brackets, nor into less than `SHORTEST` words. Where
        blanks do not separate words, characters are counted, and a blank is a mark.
        """
        language = self._source
        word, count = language.word_length or 1, _length(text, language)
        most, shortest = self.max_words * word, SHORTEST * word
        if not self.max_words or count <= most:
            return [text]
        marked = _NARROWLY_MARKED if _WIDE_MARKS.isdisjoint(text) else _MARKED
        marks = _boundaries(
            text, language, marked if language.separates_words else _MARKED_OR_BLANK
        )
        others: list[_Boundaries] | None = None
        found: list[str] = []
        to_cut = [_Stretch(0, len(text), 0, count)]  # the next one last
        while to_cut:
            stretch = to_cut.pop()
            length = stretch.behind - stretch.before
            halves = stretch.halves(marks, shortest) if length > most else None
            if halves is None and length > 2 * most:
                others = _words_and_blanks(text, language) if others is None else others
                halves = next(filter(None, (stretch.halves(one, shortest) for one in others)), None)
            if halves is None:
                found.append(text[stretch.begin : stretch.end])
            else:
                to_cut += halves
        return found

    def join(self, sources: Sequence[str], translations: Sequence[str]) -> str:
        """The translations of a sentence's clauses as one: with the marks of the source between them.

        Marks are written as those of the target; a comma stands for a blank that
        does not separate words.
        """
        if len(translations) == 1:
            return translations[0]
        joined = [translations[0]]
        for before, source, translation in zip(
            sources, sources[1:], translations[1:], strict=False
        ):
            kind = _KIND.get(before[-1], 0)
            mark = self._target.clause_marks[kind]
            if before[-1] in "–—-":
                mark = f" {before[-1]}"
            elif before[-1] not in _KIND and self._source.separates_words:
                mark = ""
            begins = (
                translation
                if _keeps_capital(kind, source, translation)
                else self._within(translation)
            )
            while joined and not (stripped := joined.pop().rstrip(_MARKS)):
                pass
            blank = "" if mark and east_asian_width(mark[-1]) in "FW" else " "
            joined += [stripped, f"{mark}{blank}", begins]
        return "".join(joined)


def _length(text: str, language: Language) -> int:
    """In words, or in characters where blanks do not separate words."""
    words = text.split()
    return len(words) if language.separates_words else sum(map(len, words))


class _Boundaries(NamedTuple):
    """Where clauses may end, in order."""

    places: list[int]
    begins: list[int]
    """Where the next ones begin."""
    lengths: list[int]
    """Of all that is before each."""


class _Stretch(NamedTuple):
    """A part of a sentence, by its characters and by what is before its beginning and its end."""

    begin: int
    end: int
    before: int
    behind: int

    def halves(self, boundaries: _Boundaries, shortest: int) -> "list[_Stretch] | None":
        """The second and the first part, cut nearest the middle; None if neither may be so short."""
        places, begins, lengths = boundaries
        first = bisect_left(lengths, self.before + shortest)
        last = bisect_right(lengths, self.behind - shortest)
        if first >= last:
            return None
        nearest = bisect_left(places, (self.begin + self.end) / 2, first, last)
        around = range(max(first, nearest - 1), min(last, nearest + 1))
        middle = min(around, key=lambda at: abs(2 * places[at] - self.begin - self.end))
        between = lengths[middle]
        return [
            _Stretch(begins[middle], self.end, between, self.behind),
            _Stretch(self.begin, places[middle], self.before, between),
        ]


def _boundaries(text: str, language: Language, pattern: regex.Pattern[str]) -> _Boundaries:
    """Those that a pattern finds, outside of quotes and brackets."""
    found = _Boundaries([], [], [])
    at = length = quotes = brackets = 0
    for match in pattern.finditer(text):
        place = match.start()
        length += _length(text[at:place], language)
        quotes += len(_QUOTES.findall(text, at, place))
        brackets += len(_BRACKETS.findall(text, at, place))
        if quotes % 2 == brackets % 2 == 0:
            found.places.append(place)
            found.begins.append(match.end())
            found.lengths.append(length)
        at = place
    return found


def _words_and_blanks(text: str, language: Language) -> list[_Boundaries]:
    """Blanks in front of words with which sentences begin, and all blanks."""
    blanks = _boundaries(text, language, _BLANK)
    kept = [
        row
        for row in zip(*blanks, strict=True)
        if (word := _WORD.match(text, row[1])) and word[0].casefold() in language.starters
    ]
    starters = _Boundaries(*(list(column) for column in zip(*kept, strict=True))) if kept else None
    return [one for one in (starters, blanks) if one]


def _keeps_capital(kind: int, source: str, translation: str) -> bool:
    """Whether a clause is a sentence behind a colon, or begins with a name: with a word of the source."""
    if kind == _KIND[":"] and source[:1].isupper():
        return True
    return any(word in _WORD.findall(source) for word in _WORD.findall(translation)[:1])
