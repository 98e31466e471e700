"""Compares the numbers of source and translation; if they differ, they are protected in a second attempt."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from service.text.languages import NEUTRAL, Language
from service.text.rules.clock import TimeInWords
from service.text.rules.converting import ConvertingRule
from service.text.rules.currency_names import CODES
from service.text.rules.currency_names import names as currency_names
from service.text.rules.figures import NUMBER, Figures, are_same, difference, figures_of
from service.text.rules.notation import Standing
from service.text.rules.unit_names import names_of_units
from service.text.run import Place, Run, Stretch

_DIGIT = re.compile(r"\d")
_NEXT_WORD = re.compile(r"\s(\w++)")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]++(?:\.[^\W\d_]++)*+")
_LEAST, _LEAST_INFLECTED, _LONGEST_ENDING = 2, 4, 3
"""Letters of a word, of a name that may have an ending which CLDR lacks, and of such endings: Metern."""
_WITH_MARKS = re.compile(r"\d[\d.,]*\d")


class Numbers(ConvertingRule):
    """Demands the same numbers; the model may convert the format of decimals, dates and times."""

    name = "numbers"
    scope = "sentence"
    is_default = True

    def __init__(self, source: Language = NEUTRAL, target: Language = NEUTRAL) -> None:
        """Set the languages, which determine how numbers are read."""
        super().__init__(source, target)
        self._languages = source, target
        self._source, self._target = figures_of(source), figures_of(target)

    def kept(self, run: Run) -> Run:
        """Write the numbers of a stretch without words as the target language does."""
        # mark by mark, so that tags among the digits stay where they are
        return run.edited_outside(
            [
                (at, at + 1, written)
                for amount in self._notation.amounts(run.text)
                if amount.standing >= self._notation.least
                for at, written in enumerate(amount.written, amount.begin)
                if written != run.text[at]
            ]
        )

    def restore(self, source: Run, translation: Run) -> Run:
        """Write amounts as the target language does, and protected times in words in its words."""
        if _DIGIT.search(translation.text) is None:
            return translation
        translation = self._with_times_in_words(source, translation)
        if self._target.ordinals.are_known:
            endings = self._endings(source.text, translation)
            translation = translation.edited_outside(sorted(endings))
        converted = self._converted(source.text, translation.text)
        if named := self._named(source.text):
            spans = self._notation.written_spans(translation.text)
            translation = translation.edited_outside(
                [
                    (begin, end, named[number])
                    for begin, end in spans
                    if (number := translation.text[begin:end]) in named
                ]
            )
        if not converted:
            return translation
        times = {time.begin for time in self._target.clock.times(translation.text)}
        return translation.edited_outside(
            [
                (begin, end, converted[number])
                for begin, end in self._notation.spans(translation.text)
                if (number := translation.text[begin:end]) in converted and begin not in times
            ]
        )

    def _endings(self, source: str, translation: Run) -> Iterator[Place]:
        """Yield the wrong endings of ordinal numbers, and right ones: 3th, or 3. where the target has 3rd."""
        ours, theirs, text = self._source.ordinals, self._target.ordinals, translation.text
        for ordinal in theirs.pattern.finditer(text):
            ending, right = ordinal["ending"], theirs.ending(ordinal["digits"])
            begin, end = ordinal.span("ending")
            if not ending.startswith(right):
                if ordinal[0] not in source:
                    yield begin, end, right
            elif ending != right and translation.is_protected(begin - 1):
                # the rest is that of a stand-in, behind a protected ordinal number
                yield begin + len(right), end, ""
        if not ours.are_known or ours.pattern == theirs.pattern:
            return
        for ordinal in ours.pattern.finditer(text):
            next_word = _NEXT_WORD.match(text, ordinal.end())
            is_inner = ordinal["ending"].isalpha() or (
                next_word
                and (next_word[1][0].islower() or next_word[1] in self._target.months.names)
            )
            if is_inner and ordinal[0] in source:
                yield *ordinal.span("ending"), theirs.ending(ordinal["digits"])

    def _with_times_in_words(self, source: Run, translation: Run) -> Run:
        """Write times in words that were protected as digits, without a word such as Uhr behind them."""
        protected = {part.raw for part in source.protected} if source.protected else set()
        if not protected:
            return translation
        clock = self._source.clock
        values = protected & {time.value for time in clock.in_words(source.text)}
        if not values:
            return translation
        places = []
        for part in translation.protected:
            if part.raw and part.raw in values:
                words = self._target.clock.written_in_words(part.raw)
                if part.begin == 0:
                    words = self._languages[1].capitalized(words)
                end = self._target.clock.end_of_hour_word(translation.text, part.end)
                places.append((part.begin, part.end if words[0].isdigit() else end, words))
        edited = translation.edited(places)
        protected_parts = [
            replace(part, raw=None) if part.raw in values else part for part in edited.protected
        ]
        return replace(edited, protected=protected_parts)

    def _named(self, source: str) -> dict[str, str]:
        """Return the numbers of a source that are none of its amounts, by how a model may write them."""
        named = {self._notation.written(number): number for number in self._notation.named(source)}
        if not named:
            return {}
        amounts = {amount.written for amount in self._notation.amounts(source)}
        return {written: number for written, number in named.items() if written not in amounts}

    def _converted(self, source: str, translation: str) -> dict[str, str]:
        """Return the numbers of a source that are to be converted, as the target language writes them.

        If the model has converted one that is only possible, so are the others. A number stays as it is if
        the source also has it in the target's format, or as something else, such as a version.
        """
        amounts = list(self._notation.amounts(source))
        if not amounts:
            return {}
        found = _WITH_MARKS.findall(translation)
        possible = [one.written for one in amounts if one.standing is Standing.POSSIBLE]
        least = self._notation.least if set(possible).isdisjoint(found) else Standing.POSSIBLE
        amounts = [one for one in amounts if one.standing >= least]
        converted = {source[one.begin : one.end]: one.written for one in amounts}
        others = {*self._notation.spans(source)} - {(one.begin, one.end) for one in amounts}
        ambiguous = {source[begin:end] for begin, end in others}
        ambiguous |= converted.keys() & {*converted.values()}
        return {
            number: written
            for number, written in converted.items()
            if ambiguous.isdisjoint((number, written))
        }

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has the numbers of its source.

        If the source has no digits, the translation may have some, unless the source has "am" or "pm" alone.
        """
        if not (self._keeps_words(source, translation) and self._keeps_times(source, translation)):
            return False
        if _DIGIT.search(source.text) is None:
            if not self._source.clock.has_halves or _DIGIT.search(translation.text) is None:
                return True
            return not self._source.clock.lone_halves(source.unprotected())
        if _halves(self._target, translation) > _halves(self._source, source):
            return False
        text, other = source.unprotected(), translation.unprotected()
        if _DIGIT.search(text) is None:
            return True
        if self._has_plain_numbers(text) and are_same(
            self._source.read(text), self._target.read(other)
        ):
            return True
        return self._are_alike(text, other)

    def _keeps_words(self, source: Run, translation: Run) -> bool:
        """Check that a label has not become part of an amount: Summe 5 € is not €5."""
        if not (source.protected or _DIGIT.search(source.text)):
            return True
        target = words_of_facts(self._languages[1])
        words = _WORD.finditer(translation.unprotected())
        if any(match[0].lower() not in target for match in words):
            return True
        language = self._languages[0]
        ours = words_of_facts(language)
        return not language.separates_words or not any(
            word not in language.starters and ours.isdisjoint(_without_endings(word))
            for word in map(str.lower, _WORD.findall(source.unprotected()))
            if len(word) >= _LEAST
        )

    def _keeps_times(self, source: Run, translation: Run) -> bool:
        """Check that a translation has the times that its source has in words, as words or digits."""
        if not (times := self._times_in_words(source)):
            return True
        wanted = Counter(time.value for time in times)
        return wanted <= self._target.clock.on_dial(translation.unprotected())

    def _times_in_words(self, run: Run) -> list[TimeInWords]:
        """Return the certain times in words that are not protected, if both languages have such words."""
        clock = self._source.clock
        if not (clock.may_hold_words(run.text) and self._target.clock.has_words):
            return []
        return [
            time
            for time in clock.in_words(run.text)
            if time.is_certain and not run.protected_between(time.begin, time.end)
        ]

    def _has_plain_numbers(self, source: str) -> bool:
        """Check whether only the digits matter; 100万 is not 100 million, and 3 million is not 3 billion."""
        scales = self._source.scales, self._target.scales
        are_known = all(scale.are_known for scale in scales)
        are_shared = all(scale.are_shared for scale in scales)
        return are_shared and not (are_known and any(self._source.scales.find(source)))

    def _are_alike(self, source: str, translation: str) -> bool:
        """Check for the same numbers, which may be grouped, counted in words, or named as months."""
        months = self._source.months.named(source), self._target.months.named(translation)
        ours = self._source.read(self._source.in_digits(source))
        for with_endings in (False, True):
            digits = self._target.in_digits(translation, with_endings=with_endings)
            lost, new = difference(ours, self._target.read(digits))
            if lost <= months[1] - months[0] and new <= months[0] - months[1]:
                return True
        return False

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect the numbers; times become 24-hour times if the languages write times differently.

        Times in words are digits, which models translate better, until `restore`.
        """
        run = run.protecting(
            (time.begin, time.end, time.value) for time in self._times_in_words(run)
        )
        if _DIGIT.search(run.text) is None:
            return run.protecting(self._source.clock.lone_halves(run.text))
        if self._source.clock.notation != self._target.clock.notation:
            run = run.protecting(time[:3] for time in self._source.clock.times(run.text))
        run = run.protecting(self._scaled(run.text))
        converted = self._converted(run.text, translation.text)
        run = run.protecting(
            (begin, end, converted[number])
            for begin, end, *_ in self._notation.amounts(run.text)
            if (number := run.text[begin:end]) in converted
        )
        run = run.protecting(
            (*ordinal.span(), self._target.ordinals.written(ordinal["digits"]))
            for ordinal in self._source.ordinals.pattern.finditer(run.text)
            if ordinal["ending"].isalpha() and self._target.ordinals.are_known
        )
        # digits are the rest, at tags and in long words
        for pattern in (NUMBER, _DIGITS):
            run = run.protecting(match.span() for match in pattern.finditer(run.text))
        return run

    def _scaled(self, text: str) -> Iterator[Stretch]:
        """Yield the amounts with words for powers of ten, as the target language writes them.

        If it has no such word, those that most languages have are left to the model, the others unchanged.
        """
        for begin, end, value, is_shared in self._source.scales.find(text):
            written = self._target.scales.written(value)
            if written:
                yield begin, end, written
            elif not is_shared:
                yield begin, end


def _without_endings(word: str) -> list[str]:
    """Return a word with and without each of its last letters, which may be an ending."""
    shortest = max(_LEAST_INFLECTED, len(word) - _LONGEST_ENDING)
    return [word, *(word[:length] for length in range(shortest, len(word)))]


@lru_cache(64)
def words_of_facts(language: Language) -> frozenset[str]:
    """Return the words that say what a number counts or names, in lower case: units, currencies, months.

    Not those for the halves of the day, which may translate other words: 5 Uhr morgens is 5 am.
    """
    units, figures = names_of_units(language.code), figures_of(language)
    names = [*units.words, *units.signs, *units.times, *currency_names(language), *CODES]
    names += [*figures.months.names, *figures.scales.words]
    names += [*language.hour_words, *language.range_words]
    names += [word for words in language.numerals for word in words]
    return frozenset(word.lower() for name in names for word in _WORD.findall(name))


def _halves(figures: Figures, run: Run) -> int:
    """Count the protected parts that are followed by a word for a half of the day."""
    return sum(figures.clock.begins_with_half(run.text, part.end) for part in run.protected)
