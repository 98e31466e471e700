"""Compares the numbers of source and translation; if they differ, they are protected in a second attempt."""

import re
from collections.abc import Iterator
from typing import Self

import regex

from service.text.languages import NEUTRAL, Language
from service.text.rules.figures import NUMBER, Figures, are_same, difference, figures_of
from service.text.rules.rule import Rule, Setting
from service.text.run import Run, Stretch
from service.text.words import BLANKS

_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d+")
_BEFORE, _AFTER = regex.compile(rf"\p{{Sc}}[{BLANKS}]?$"), regex.compile(rf"[{BLANKS}]?\p{{Sc}}")
"""The sign of a currency in front of an amount or behind it."""
_CERTAIN = re.compile(r"\d+,\d{3}|\d{2,3}\.\d{3}(?!\.)|\d\.\d{3},|\d{1,3}(?:\.\d{3}){2}(?!\.)")
"""Numbers that are amounts by their form: 1,500 - 28.914 - 1.500,50 - 1.234.567, but not 1.500."""


class Numbers(Rule):
    """Demands the same numbers; the model may convert the format of decimals, dates and times."""

    name = "numbers"
    scope = "sentence"
    is_default = True

    def __init__(self, source: Language = NEUTRAL, target: Language = NEUTRAL) -> None:
        """Set the languages, which determine how numbers are read."""
        self._source, self._target = figures_of(source), figures_of(target)

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for both languages."""
        return cls(*setting.languages)

    def restore(self, source: Run, translation: Run) -> Run:
        """Write amounts that the model left in the source's format as the target language does."""
        converted = self._converted(source.text, translation.text)
        if not converted:
            return translation
        left = self._source.grouped(translation.text, self._target)
        return translation.edited_outside(
            [
                (begin, end, converted[number])
                for begin, end, _ in left
                if (number := translation.text[begin:end]) in converted
            ]
        )

    def _converted(self, source: str, translation: str) -> dict[str, str]:
        """Return the amounts of a source in the target's format, by the source's.

        A number such as 1.500 or 192.168.100.200 may also be that of a version or an address. It is an amount
        if a sign of a currency is beside it, if another one of the sentence is certainly an amount, or if the
        model has converted another one.
        """
        numbers = list(self._source.grouped(source, self._target))
        if not numbers:
            return {}
        found = {
            translation[begin:end]
            for begin, end, _ in self._target.grouped(translation, self._source)
        }
        are_amounts = any(
            written in found or _CERTAIN.match(source, begin) for begin, _, written in numbers
        )
        return {
            source[begin:end]: written
            for begin, end, written in numbers
            if are_amounts
            or _AFTER.match(source, end)
            or _BEFORE.search(source, max(0, begin - 2), begin)
        }

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has the numbers of its source.

        If the source has no digits, the translation may have some, unless the source has "am" or "pm" alone.
        """
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
        """Protect the numbers; times become 24-hour times if the languages write times differently."""
        if _DIGIT.search(run.text) is None:
            return run.protecting(self._source.clock.lone_halves(run.text))
        if self._source.clock.notation != self._target.clock.notation:
            run = run.protecting(time[:3] for time in self._source.clock.times(run.text))
        run = run.protecting(self._scaled(run.text))
        converted = self._converted(run.text, translation.text)
        run = run.protecting(
            (begin, end, written)
            for begin, end, written in self._source.grouped(run.text, self._target)
            if run.text[begin:end] in converted
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


def _halves(figures: Figures, run: Run) -> int:
    """Count the protected parts that are followed by a word for a half of the day."""
    return sum(figures.clock.begins_with_half(run.text, part.end) for part in run.protected)
