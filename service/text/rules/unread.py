"""Protects characters that a vocabulary lacks or confuses with others, with their word or amount.

Most vocabularies normalize by compatibility (NFKC), so that `10⁶` becomes 106. Vocabularies that lack the
characters of `49 €` and `10 µg` spell them with bytes, which models change to other characters.
"""

import re
from collections.abc import Iterator
from unicodedata import decomposition

import regex

from service.text.normal_forms import normalize
from service.text.rules.rule import SpellingRule
from service.text.rules.symbols import is_of_number
from service.text.run import Run
from service.text.words import MARKS, TOUCHING

# symbols; punctuation, except that of Latin text and the ends of sentences; numbers that are not digits; the
# micro sign; phonetic letters, except those used as apostrophes; unassigned characters
_SIGN = regex.compile(
    r"(?V1)[[\p{S}\p{P}\p{No}\p{Nl}\p{Cn}\u00b5\u0250-\u02b8\u02c0-\u02ff\u2100-\u214f]"
    r"--[\x00-\x7f«»‹›\u2010\u2011\u2013\u2014\u2018-\u201f…‥]--\p{Sentence_Terminal}]"
)
_MAY_HOLD_ONE = re.compile(
    "[^\x00-\x7f\xc0-\xd6\xd8-\xf6\xf8-\u024f\u2010\u2011\u2013\u2014\u2018-\u201f]"
)
"""A fast check: Latin letters, dashes and quotes are not signs."""
_MARK = regex.compile(r"\p{P}")
_INSIDE = regex.compile(rf"(?V1)[[\p{{L}}\p{{M}}\p{{N}}.,·-]--[{TOUCHING}]]")
"""A character of the word beside a sign, except in scripts without spaces, where words are not separate."""
_SIGN_OR_INSIDE = regex.compile(rf"(?!\p{{P}}){_SIGN.pattern}|{_INSIDE.pattern}")
_WIDTHS = ("<wide>", "<narrow>", "<small>", "<vertical>")
_OPERATOR = regex.compile(r"[\p{Sm}\p{Pd}]")
_NUMBER_BEFORE = regex.compile(r"\p{Nd}[\p{Nd}.,]*+[ \u00a0\u202f]?\Z")
_NUMBER_BEHIND = regex.compile(r"[ \u00a0\u202f]?\p{Nd}++(?:[.,]\p{Nd}++)*+\p{Ll}?+(?!\w)")
_LONGEST_NUMBER = 24
_MARKED_LETTER = re.compile(rf"(?<![\w{MARKS}])[^\W\d_][{MARKS}]++(?!\w)")


class Unread(SpellingRule):
    """Protects characters that the vocabulary lacks or confuses with others."""

    name = "unread"
    is_default = True
    is_of_signs = True

    def prepare(self, run: Run) -> Run:
        """Protect words and amounts with such characters."""
        if run.text.isascii() or _MAY_HOLD_ONE.search(run.text) is None:
            return run
        run = run.protecting(self._marked_letters(run.text))
        return run.protecting(self._spans(run))

    def _marked_letters(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield single letters with combining marks that the vocabulary lacks: the mean is x\u0304."""
        for match in _MARKED_LETTER.finditer(text):
            if not all(map(self._spells, normalize("NFC", match[0]))):
                yield match.span()

    def _spans(self, run: Run) -> Iterator[tuple[int, int]]:
        text, end = run.text, 0
        for match in _SIGN.finditer(text):
            sign, position = match[0], match.start()
            if position < end or run.protected_between(position, position + 1):
                continue
            if self._is_read(sign) and not is_of_number(text, position):
                continue
            start, is_mark = position, _MARK.match(sign) is not None  # it belongs to numbers only
            while start > end and not is_mark and _INSIDE.match(text, start - 1):
                start -= 1
            if start == position or not text[start].isalpha():
                amount = _NUMBER_BEFORE.search(text, max(end, start - _LONGEST_NUMBER), start)
                start = amount.start() if amount else start
            end = match.end()
            while text.startswith(sign, end) if is_mark else _SIGN_OR_INSIDE.match(text, end):
                end += 1
            is_between = start == position or _OPERATOR.match(sign) is not None
            if is_between and (amount := _NUMBER_BEHIND.match(text, end)):
                end = amount.end()
            while text[end - 1] in ".,-":
                end -= 1
            yield start, end

    def _is_read(self, sign: str) -> bool:
        """Check whether the vocabulary has a sign, and reads it as itself or as its form of another width."""
        is_same = normalize("NFKC", sign) == sign
        return self._spells(sign) and (is_same or decomposition(sign).startswith(_WIDTHS))
