"""Compares the amounts of money in source and translation: a sign must stay with its number."""

import re
from functools import lru_cache

from service.text.languages import NEUTRAL, Language
from service.text.rules.converting import ConvertingRule
from service.text.rules.currency_names import CODES, SIGN
from service.text.rules.figures import difference
from service.text.rules.money import Money
from service.text.run import Run
from service.text.segmenter import has_letter

_DIGIT = re.compile("[0-9]")
_ABBREVIATED = re.compile(r"[0-9][a-z]{2}\b")
"""A number with what may be a word for a power of ten that CLDR lacks: $5bn."""
_money = lru_cache(maxsize=256)(Money)
"""Directions share the languages, and looking names up takes 10 ms."""


class Currencies(ConvertingRule):
    """Demands the same amounts, which may be written in another way: $20 to $30 is 20–30 Dollar.

    The numbers themselves are compared by the rule `numbers`.
    """

    name = "currencies"
    scope = "sentence"
    is_default = True

    def __init__(self, source: Language = NEUTRAL, target: Language = NEUTRAL) -> None:
        """Set the languages, which determine how amounts are read."""
        super().__init__(source, target)
        self._source, self._target = _money(source), _money(target)
        self._scaled = self._source.knows_scales and self._target.knows_scales

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that each number has the same currency; a source without signs or codes has no amounts.

        The translation may have a currency's name in the place of its sign or code, and one sign for a range.
        """
        if not _may_have_amounts(source):
            return True
        text, other = source.unprotected(), translation.unprotected()
        if self._are_same(text, other, scaled=self._scaled):
            return True
        is_abbreviated = _ABBREVIATED.search(text) is not None
        return is_abbreviated and self._are_same(text, other, scaled=False)

    def _are_same(self, source: str, translation: str, *, scaled: bool) -> bool:
        """Compare the amounts; with `scaled`, 3 million is 3000000."""
        ours = self._source.read(source, scaled=scaled)
        theirs = self._target.read(translation, scaled=scaled)
        lost, new = difference(ours.certain, theirs.certain)
        return lost <= theirs.possible and new <= ours.possible

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect each sign with its number, unless only something else was lost.

        In that case, the model can write the sign where the target language has it, unless it has written
        nothing but an amount.
        """
        if has_letter(translation.text) and self.came_through(run, translation):
            return run
        return run.protecting(
            sorted(self._source.stretches(run.text, self._target, self._notation))
        )


def _may_have_amounts(run: Run) -> bool:
    if not run.is_of_words and SIGN.search(run.text):
        return True
    return _DIGIT.search(run.text) is not None and not CODES.keys().isdisjoint(run.words)
