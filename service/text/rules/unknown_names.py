"""Preserves names and codes that a model has never seen, because it may split them and translate the pieces.

A table of the bundle lists the words that the model has seen. What may be a typo of one is considered
a name if the translation has an imitation of it that is no word of the target language: Kamsen -> Camsen.
So is a word in capitals, even one that the model has seen: HTTP -> HTP.
"""

from collections.abc import Container, Iterator
from difflib import SequenceMatcher
from typing import Self, cast

import regex

from service.text.known_words import KnownWords
from service.text.rules.names import Names
from service.text.rules.rule import Rule, Setting, Table
from service.text.run import Run
from service.text.words import absent

_CAPITALIZED = regex.compile(
    r"""
    (?<![\p{L}\p{M}\p{N}_'’.-])
    \p{Lu} (?: \p{Ll}\p{L}++ | \p{Lu}++ )
    (?! [\p{L}\p{M}\p{N}_-] | ['’]\p{L}{2} )  # one letter after an apostrophe may be an ending: Anna's
    """,
    regex.VERBOSE,
)
"""A word of three letters or more with a capital, or one in capitals, if it is not part of a compound."""
_NUMERAL = regex.compile("[VX]|[IVX]{2,}")
"""A Roman numeral: models confuse VII and VIII, even if they have seen both."""
MIN_LETTERS, MIN_SIMILARITY = 4, 0.6
"""Minimum letters of an imitation that is not in capitals, and share of the letters that it has in common
with the name, in order."""
MAX_COMPARED = 16
"""Limit for words of a sentence, and of its translation, that are compared with each other."""


class UnknownNames(Rule):
    """Demands that unknown capitalized words are preserved."""

    name = "unknown_names"
    scope = "sentence"
    parameters = Table

    def __init__(
        self,
        known: KnownWords,
        known_targets: KnownWords | None = None,
        translated: Container[str] = (),
    ) -> None:
        """Set the words that are not unknown names.

        Args:
            known: words of the source language.
            known_targets: words of the target language; if there are none, imitations are not recognized.
            translated: names that another rule translates.
        """
        self._known, self._known_targets = known, known_targets
        self._translated = translated

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule with the bundle's table, and the names of the rule `names` if the bundle uses it."""
        languages = setting.source, setting.target
        table = setting.tables.known_words(cast(Table, setting.parameters).table)
        known = table.get(setting.source, KnownWords(())), table.get(setting.target)
        if Names.name not in setting.wanted:
            return cls(*known)
        names = cast(Table, setting.wanted[Names.name]).table
        return cls(*known, Names.read(setting.tables.folder / names, *languages).words)

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has each unknown name; a final s may be missing, as of a genitive.

        Words in capitals must be there as words, because VIII contains VII.
        """
        return not self._known or not self._lost_names(source, translation)

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect unknown names, and other capitalized words that the translation preserved.

        Most of those are names, too, and a second attempt might lose them.
        """
        if not self._known:
            return run
        kept, lost = translation.words, self._lost_names(run, translation)
        return run.protecting(
            match.span()
            for match in _CAPITALIZED.finditer(run.text)
            if (match.start() > 0 and match[0] in kept)
            or match[0] in lost
            or (match[0] not in self._translated and match[0] not in self._known)
        )

    def _lost_names(self, source: Run, translation: Run) -> set[str]:
        """Return the names that a translation lacks."""
        words = [
            match[0]
            for match in _CAPITALIZED.finditer(source.text)
            if not source.is_protected(match.start())
        ]
        names = {word: word.removesuffix("s") for word in words if not word.isupper()}
        lacked = absent(names.values(), translation.text)
        missing = [word for word, name in names.items() if name in lacked]
        if capitals := [word for word in words if word.isupper()]:
            folded = set(map(str.casefold, translation.words))
            missing += [word for word in capitals if not _is_among(folded, word)]
        rare = [word for word in missing if word not in self._translated]
        lost = set()
        if any(map(_NUMERAL.fullmatch, translation.words - source.words)):  # II may become "second"
            lost = {word for word in rare if _NUMERAL.fullmatch(word)}
        doubtful = [word for word in rare if word.isupper() or not self._known.knows(word)]
        lost.update(word for word in doubtful if word not in self._known)
        if doubtful and self._known_targets:
            lost.update(_imitated(doubtful, source, translation, self._known_targets))
        return lost


def _imitated(
    doubtful: list[str], source: Run, translation: Run, known: KnownWords
) -> Iterator[str]:
    """Yield the words that a translation imitates. `known` are the words of its language."""
    is_in_capitals = source.text.isupper()  # its translation is not yet
    invented = [
        word
        for word in sorted(translation.words - source.words)
        if word.isalpha()
        and (len(word) >= MIN_LETTERS or word.isupper() or is_in_capitals)
        and word not in known
    ]
    for word in doubtful[:MAX_COMPARED]:
        any_case = is_in_capitals or not word.isupper()
        others = [other for other in invented if any_case or other.isupper()]
        if any(_is_similar(word, other) for other in others[:MAX_COMPARED]):
            yield word


def _is_among(folded: Container[str], word: str) -> bool:
    """Check whether case-folded words have a word or its plural."""
    return word.casefold() in folded or f"{word.casefold()}s" in folded


def _is_similar(name: str, word: str) -> bool:
    matcher = SequenceMatcher(None, name.casefold(), word.casefold(), autojunk=False)
    # the first two are upper bounds, and much cheaper
    ratios = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
    return all(ratio() >= MIN_SIMILARITY for ratio in ratios)
