"""Separates words with a slash between them, which a vocabulary treats as one word: Montag/Dienstag."""

import re

import regex

from service.text.rules.rule import Rule
from service.text.run import Run

_BETWEEN_WORDS = regex.compile(r"(?<=[^\W\d_]{3})/(?=[^\W\d_]{3})")
_SPACED = re.compile(r" / ")


class Slashes(Rule):
    """Puts spaces around slashes, removes them from the translation, and demands that no slash is lost."""

    name = "slashes"
    scope = "sentence"
    is_of_signs = True

    def prepare(self, run: Run) -> Run:
        """Put spaces around slashes."""
        if "/" not in run.text:
            return run
        return run.edited_outside(
            (*match.span(), " / ") for match in _BETWEEN_WORDS.finditer(run.text)
        )

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has as many slashes: models omit one of three alternatives."""
        if "/" not in source.text:
            return True
        return translation.text.count("/") >= len(_BETWEEN_WORDS.findall(source.text))

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect the slashes."""
        return run.protecting(match.span() for match in _BETWEEN_WORDS.finditer(run.text))

    def restore(self, source: Run, translation: Run) -> Run:
        """Remove the spaces around slashes, unless the source has some."""
        text = source.text
        if "/" not in text or " / " in text or not _BETWEEN_WORDS.search(text):
            return translation
        matches = _SPACED.finditer(translation.text)
        return translation.edited_outside((*match.span(), "/") for match in matches)
