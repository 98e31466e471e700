"""Replaces characters that models do not know by those that they know."""

import re
from collections.abc import Callable, Iterator
from typing import Self

from service.text.normal_forms import normalize
from service.text.rules.rule import Setting, SpellingRule
from service.text.run import Place, Run
from service.text.words import MARKS

_UNTIDY = re.compile(
    r"""
    (?<=\w)
    (?: [\u00ad\u200b\u2060\ufeff]+  # characters without width, such as soft hyphens
      | -\r?\n[ \t]*+(?=(?P<rest>[^\W\d_]++))
      | (?P<accent>[`´](?![^\s`´]*+[`´]))  # instead of an apostrophe, unless it closes code: it`s
    )
    (?=\w)
    """,
    re.VERBOSE,
)
_DASH = "—"
_TYPED_DASH = re.compile(r"(?<=\S )-{2,3}(?= \S)")
_BETWEEN_BLANKS = re.compile(f"(?<= ){_DASH}(?= )")
_MARKED = re.compile(rf"[^\W\d_][{MARKS}]++")
_MAY_BE_UNTIDY = re.compile(
    f"[\u00ad\u200b\u2060\ufeff`´{MARKS}-](?:(?<!-)|[-\r\n])"
)  # begins with a set: fast


class Spelling(SpellingRule):
    """Removes invisible characters and ends of lines within words, and marks that the vocabulary lacks.

    Accents typed instead of apostrophes, and hyphens typed instead of dashes, are replaced by these.
    """

    name = "spelling"
    scope = "sentence"
    is_default = True
    is_of_signs = True

    def __init__(
        self, spells: Callable[[str], bool], starters: frozenset[str] = frozenset()
    ) -> None:
        """Set the vocabulary, see `SpellingRule`, and words of which none ends a divided word: Vor- und."""
        super().__init__(spells)
        self._starters = starters

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for the source vocabulary and language."""
        return cls(setting.tokenizers.source.spells, setting.languages[0].starters)

    def prepare(self, run: Run) -> Run:
        """Return the sentence with these characters replaced."""
        if _MAY_BE_UNTIDY.search(run.text) is None:
            return run
        places = [
            (*match.span(), "'" if match["accent"] else "")
            for match in _UNTIDY.finditer(run.text)
            if not match["rest"] or self._ends_word(match["rest"])
        ]
        places += self._unmarked(run.text)
        if self._spells(_DASH):
            places += [(*match.span(), _DASH) for match in _TYPED_DASH.finditer(run.text)]
        return run.edited_outside(sorted(places))

    def _ends_word(self, text: str) -> bool:
        """Check whether the first letters of a line are the rest of a word that was divided."""
        return text.islower() and text not in self._starters

    def _unmarked(self, text: str) -> Iterator[Place]:
        """Yield the places of letters with combining marks that the vocabulary lacks, without these marks."""
        for match in _MARKED.finditer(text):
            composed = normalize("NFC", match[0])
            spelled = "".join(filter(self._spells, composed[1:]))
            if len(spelled) < len(composed) - 1:
                yield *match.span(), composed[0] + spelled

    def restore(self, source: Run, translation: Run) -> Run:
        """Return the translation with dashes as they were typed in the source."""
        if "--" not in source.text or _DASH in source.text:
            return translation
        typed = _TYPED_DASH.search(source.text)
        if typed is None:
            return translation
        dashes = _BETWEEN_BLANKS.finditer(translation.text)
        return translation.edited_outside((*match.span(), typed[0]) for match in dashes)
