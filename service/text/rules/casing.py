"""Sentences whose case carries no information: IN CAPITALS, in lower case, With Every Word Capitalized.

Models have hardly seen such sentences, so they are translated in ordinary case.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Self

import regex

from service.text.common_words import common_words
from service.text.languages import NEUTRAL, Language
from service.text.rules.rule import Rule, Setting
from service.text.run import Run

MIN_LETTERS, MIN_SMALL_WORDS, MIN_CAPITAL_WORDS = 5, 3, 2
"""Minimum size of a sentence in capitals, in lower case, and with capitalized words: shorter ones may be
intended."""
MIN_FREQUENT_WORDS = 2
"""Minimum number of words such as "der" that have a capital within a sentence, where nouns have one, too."""
_ENDS = (".", "!", "?", "…", ":")
_SMALL_WORD = re.compile(r"(?<![^\W\d_])[a-z]")
_LETTER, _WORD = re.compile(r"[^\W\d_]"), re.compile(r"[^\W\d_]+")
_KEPT = re.compile(
    r"""
    \d[ \u00a0]?[^\W\d_]{1,2}(?:/[^\W\d_]{1,2})?(?!\w)  # 80 km/h
  | (?<![\w.=])\w{2,}+(?:[.=][^\W\d]\w*+)+             # main.c, key=value, but not z.b.
  | (?<!\w)[^\W_]*+_\w*+                               # my_file
  | (?<![^\s(])/[\w-]++(?:\.\w++)*+                   # /x.txt, but not und/oder
    """,
    re.VERBOSE,
)
_NOT_OF_CODE = re.compile(r"[^\w./:=$%@#&+]")
_OF_WORDS = re.compile(r"(?<![\w./])[^\W\d_]{3}|[^\W\d_]:|:[^\W\d_]")  # /x.txt has none
_CASELESS = regex.compile(r"(?V1)[\p{Lo}--\p{Latin}]")  # Latin has ª and º


def is_in_capitals(text: str) -> bool:
    """Check whether a text is in capitals, is more than an acronym, and has no caseless letters.

    >>> is_in_capitals("ACHTUNG!"), is_in_capitals("NATO"), is_in_capitals("これはNATOです。")
    (True, False, False)
    """
    if not text.isupper() or _CASELESS.search(text):
        return False
    return len(_LETTER.findall(text)) >= MIN_LETTERS


def says_nothing(text: str, capitalizes_nouns: bool) -> bool:
    """Check whether the case of a text does not distinguish names and nouns from other words.

    >>> [says_nothing(text, False) for text in ("Save As", "Call Tom now", "how are you?", "OK")]
    [True, False, True, False]
    """
    if text.islower():
        # Georgian letters have no title case
        if _CASELESS.search(text) or text == text.title():
            return False
        return len(_WORD.findall(text)) >= MIN_SMALL_WORDS
    if text.isupper() or capitalizes_nouns:
        return is_in_capitals(text)
    if _SMALL_WORD.search(text) or _CASELESS.search(text):
        return False
    words = _WORD.findall(text)
    return len(words) >= MIN_CAPITAL_WORDS and all(word[0].isupper() for word in words)


def in_truecase(
    text: str, truecase: Callable[[str], str], keeps_acronyms: bool, is_first: bool = True
) -> str:
    """Give each word its usual case; the text is returned unchanged if its length would change.

    Args:
        text: a sentence or a part of one.
        truecase: returns the usual case of a word.
        keeps_acronyms: whether words in capitals keep them.
        is_first: whether the text begins the sentence, so that its first letter keeps its case.
    """
    first_letter = _LETTER.search(text) if is_first else None
    capital_end = first_letter.end() if first_letter and first_letter.group().isupper() else 0

    def recase(match: re.Match[str]) -> str:
        word = match.group()
        return word if keeps_acronyms and len(word) > 1 and word.isupper() else truecase(word)

    kept = {position for match in _KEPT.finditer(text) for position in range(*match.span())}
    recased = _WORD.sub(lambda word: word[0] if word.start() in kept else recase(word), text)
    return text[:capital_end] + recased[capital_end:] if len(recased) == len(text) else text


def _apart(text: str, is_after: bool, is_before: bool) -> tuple[str, str, str]:
    """Separate from a text what joins it to protected parts: %s_%s, {0}x{1}, %s.txt, but not DATUM:%d.

    Args:
        text: a text without protected parts.
        is_after: whether one is directly in front of it.
        is_before: whether one directly follows it.
    """
    head = _joint(_NOT_OF_CODE.split(text, maxsplit=1)[0]) if is_after else ""
    rest = text[len(head) :]
    tail = _joint(_NOT_OF_CODE.split(rest[::-1], maxsplit=1)[0][::-1]) if is_before else ""
    return head, rest[: len(rest) - len(tail)], tail


def _joint(text: str) -> str:
    """Return a text beside a protected part if it belongs to it; otherwise nothing."""
    return text if "_" in text or _OF_WORDS.search(text) is None else ""


class Case(Rule):
    """Gives words their usual case if the sentence's case carries no information.

    A translation is in capitals if its source is. It begins with a capital if its source does and is a
    sentence, or a single word, such as a heading or a label.
    """

    name = "case"
    scope = "sentence"

    def __init__(
        self,
        truecase: Callable[[str], str],
        source: Language = NEUTRAL,
        target: Language = NEUTRAL,
    ) -> None:
        """Use `truecase`, which returns a source word in its usual case."""
        self._truecase, self._source, self._target = truecase, source, target
        self._frequent = frozenset(common_words().frequent.get(source.code, ()))

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for both languages and the vocabulary of the source."""
        source, target = setting.languages
        truecase = partial(setting.tokenizers.source.truecase, language=source)
        return cls(truecase, source, target)

    def prepare(self, run: Run) -> Run:
        """Return the sentence with its words in their usual case."""
        unprotected = run.unprotected()
        if not (
            says_nothing(unprotected, self._source.capitalizes_nouns) or self._is_title(unprotected)
        ):
            return run
        keeps_acronyms = not is_in_capitals(unprotected)
        pieces, start = [], 0
        for part in run.protected:
            pieces += [run.text[start : part.begin], run.text[part.begin : part.end]]
            start = part.end
        pieces.append(run.text[start:])
        is_first = True
        for index in range(0, len(pieces), 2):
            head, middle, tail = _apart(pieces[index], index > 0, index + 1 < len(pieces))
            is_first = is_first and _LETTER.search(head) is None
            recased = in_truecase(middle, self._truecase, keeps_acronyms, is_first)
            is_first = is_first and _LETTER.search(middle + tail) is None
            pieces[index] = head + recased + tail
        return replace(run, text="".join(pieces))

    def _is_title(self, text: str) -> bool:
        """Check whether all words have a capital, even frequent ones that usually have none."""
        if not self._source.capitalizes_nouns or _SMALL_WORD.search(text):
            return False
        words = _WORD.findall(text)
        unusual = [
            word
            for word in words[1:]
            if word.istitle()
            and self._source.lower(word) in self._frequent
            and self._truecase(word).islower()
        ]
        return len(unusual) >= MIN_FREQUENT_WORDS and all(word[0].isupper() for word in words)

    def restore(self, source: Run, translation: Run) -> Run:
        """Write the translation in capitals, or capitalize its first letter, as in the source."""
        if is_in_capitals(source.unprotected()):
            return translation.edited(
                [
                    (position, position + 1, capital)
                    for position, character in enumerate(translation.text)
                    if character != (capital := self._target.upper(character))
                    and not translation.is_protected(position)
                ]
            )
        text = translation.text
        word = _WORD.match(text)
        if (
            word is None
            or translation.is_protected(0)
            or not (word[0].islower() and source.text[:1].isupper())
            or not (source.text.endswith(_ENDS) or len(source.words) == 1)
        ):
            return translation
        return translation.edited([(0, 1, self._target.capitalized(text[0]))])
