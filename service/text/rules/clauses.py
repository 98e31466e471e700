"""Translates long sentences clause by clause, because models trained on short ones omit half of them."""

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
"""Minimum words of a clause; in shorter ones, a model lacks context."""
_KINDS = (",،、，፣", ";؛；·፤", ":：፥")
"""Commas, semicolons and colons."""
_KIND = {mark: kind for kind, marks in enumerate(_KINDS) for mark in marks}
_LETTER = r"(?:[^\W\d_]|[\p{M}\p{No}])"  # हिन्दी, m²
_WIDE = "，；：、"
_WIDE_MARKS = frozenset(_WIDE)
_NARROW_BOUNDARY = rf"[ ](?<=(?:{_LETTER}[,;:،؛·፣፤፥]|[ ][–—-])[ ])(?=\S)"
_BOUNDARY = rf"{_NARROW_BOUNDARY}|(?<={_LETTER}[{_WIDE}])[ ]?(?=\S)"  # wide marks need no space
_NARROWLY_MARKED, _MARKED = regex.compile(_NARROW_BOUNDARY), regex.compile(_BOUNDARY)
"""The first takes a seventh of the time, because it begins with a set, which is found fast."""
_MARKED_OR_BLANK = regex.compile(rf"{_BOUNDARY}|(?<=[^\x00-\x7f])[ ](?=[^\x00-\x7f])")
_BLANK = regex.compile(r"[ ](?=\S)")
_QUOTES, _BRACKETS = re.compile('[„“”"«»「」]'), re.compile(r"[()\[\]（）]")
_MARKS, _WORD = " .,;:–—-。۔।።" + "".join(_KINDS), re.compile(r"\w+")


class MaxWords(Parameters):
    """The parameter of the rule."""

    max_words: Annotated[int, Field(strict=True, ge=SHORTEST, le=10_000)]
    """Maximum words of a sentence that is translated as a whole."""


class Clauses(Rule):
    """Cuts long sentences into clauses, and joins their translations."""

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
        """Set the limit.

        Args:
            max_words: longer sentences are cut; 0 means no limit.
            within: gives the first word of a translation the case that it has within a sentence.
            source: the source language.
            target: the target language.
        """
        self.max_words, self._within = max_words, within
        self._source, self._target = source, target

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for both languages and the vocabulary of the target."""
        source, target = setting.languages
        within = partial(setting.tokenizers.target.within, language=target)
        return cls(cast(MaxWords, setting.parameters).max_words, within, source, target)

    def cut(self, text: str) -> list[str]:
        """Cut a sentence into clauses; only the space between them is lost.

        A sentence that is too long is cut in two at the punctuation mark nearest to its middle, and so are
        its halves. A part without a mark that is more than twice too long is cut before a word that usually
        begins sentences, or otherwise at any space. Sentences are not cut within quotes or brackets, nor into
        parts of less than `SHORTEST` words. If the language does not separate words by spaces, characters are
        counted, and spaces are treated as marks.
        """
        language = self._source
        word, count = language.word_length or 1, _length(text, language)
        max_length, min_length = self.max_words * word, SHORTEST * word
        if not self.max_words or count <= max_length:
            return [text]
        marked = _NARROWLY_MARKED if _WIDE_MARKS.isdisjoint(text) else _MARKED
        marks = _boundaries(
            text, language, marked if language.separates_words else _MARKED_OR_BLANK
        )
        other_boundaries: list[_Boundaries] | None = None
        clauses: list[str] = []
        to_cut = [_Stretch(0, len(text), 0, count)]  # the next one last
        while to_cut:
            stretch = to_cut.pop()
            length = stretch.behind - stretch.before
            halves = stretch.halves(marks, min_length) if length > max_length else None
            if halves is None and length > 2 * max_length:
                if other_boundaries is None:
                    other_boundaries = _words_and_blanks(text, language)
                for boundaries in other_boundaries:
                    halves = halves or stretch.halves(boundaries, min_length)
            if halves is None:
                clauses.append(text[stretch.begin : stretch.end])
            else:
                to_cut += halves
        return clauses

    def join(self, sources: Sequence[str], translations: Sequence[str]) -> str:
        """Join the translations of a sentence's clauses; see `fitted`."""
        return "".join(text + blank for text, blank in self.fitted(sources, translations))

    def fitted(self, sources: Sequence[str], translations: Sequence[str]) -> list[tuple[str, str]]:
        """Return each clause's translation as it is within the sentence, and the blank that follows it.

        Clauses end with the marks of the source, written as in the target language. A space in a language
        that does not separate words by spaces becomes a comma.
        """
        fitted: list[tuple[str, str]] = []
        for index, (source, text) in enumerate(zip(sources, translations, strict=True)):
            if index:
                text = self._inner(sources[index - 1], source, text)
            blank = ""
            if index < len(sources) - 1 and (text := text.rstrip(_MARKS)):
                mark = self._mark_after(source)
                text += mark
                blank = "" if mark and east_asian_width(mark[-1]) in "FW" else " "
            fitted.append((text, blank))
        return fitted

    def _mark_after(self, source: str) -> str:
        """Return the mark of the target language for that at the end of a clause."""
        if source[-1] in "–—-":
            return f" {source[-1]}"
        if source[-1] not in _KIND and self._source.separates_words:
            return ""
        return self._target.clause_marks[_KIND.get(source[-1], 0)]

    def _inner(self, previous: str, source: str, translation: str) -> str:
        """Return a translation with the case that it has behind the clause `previous`."""
        if _keeps_capital(_KIND.get(previous[-1], 0), source, translation):
            return translation
        return self._within(translation)


def _length(text: str, language: Language) -> int:
    """Return the length in words, or in characters if spaces do not separate words."""
    words = text.split()
    return len(words) if language.separates_words else sum(map(len, words))


class _Boundaries(NamedTuple):
    """Places where clauses may end, in order."""

    places: list[int]
    begins: list[int]
    """The beginnings of the following clauses."""
    lengths: list[int]
    """The length of the text before each place."""


class _Stretch(NamedTuple):
    """A part of a sentence."""

    begin: int
    end: int
    before: int
    """The length of the text before its beginning."""
    behind: int
    """The length of the text before its end."""

    def halves(self, boundaries: _Boundaries, shortest: int) -> "list[_Stretch] | None":
        """Cut nearest to the middle and return the second and the first part, or None if one is too short."""
        places, starts, lengths = boundaries
        first = bisect_left(lengths, self.before + shortest)
        last = bisect_right(lengths, self.behind - shortest)
        if first >= last:
            return None
        nearest = bisect_left(places, (self.begin + self.end) / 2, first, last)
        around = range(max(first, nearest - 1), min(last, nearest + 1))
        middle = min(around, key=lambda index: abs(2 * places[index] - self.begin - self.end))
        length_before = lengths[middle]
        return [
            _Stretch(starts[middle], self.end, length_before, self.behind),
            _Stretch(self.begin, places[middle], self.before, length_before),
        ]


def _boundaries(text: str, language: Language, pattern: regex.Pattern[str]) -> _Boundaries:
    """Return the boundaries that a pattern finds outside of quotes and brackets."""
    boundaries = _Boundaries([], [], [])
    previous = length = quotes = brackets = 0
    for match in pattern.finditer(text):
        position = match.start()
        length += _length(text[previous:position], language)
        quotes += len(_QUOTES.findall(text, previous, position))
        brackets += len(_BRACKETS.findall(text, previous, position))
        if quotes % 2 == brackets % 2 == 0:
            boundaries.places.append(position)
            boundaries.begins.append(match.end())
            boundaries.lengths.append(length)
        previous = position
    return boundaries


def _words_and_blanks(text: str, language: Language) -> list[_Boundaries]:
    """Return the spaces before words that usually begin sentences, if there are any, and all spaces."""
    blanks = _boundaries(text, language, _BLANK)
    starting = [
        row
        for row in zip(*blanks, strict=True)
        if (word := _WORD.match(text, row[1])) and word[0].casefold() in language.starters
    ]
    starters = (
        _Boundaries(*(list(column) for column in zip(*starting, strict=True))) if starting else None
    )
    return [boundaries for boundaries in (starters, blanks) if boundaries]


def _keeps_capital(kind: int, source: str, translation: str) -> bool:
    """Check whether a clause is a sentence after a colon, or begins with a source word, such as a name."""
    if kind == _KIND[":"] and source[:1].isupper():
        return True
    return any(word in _WORD.findall(source) for word in _WORD.findall(translation)[:1])
