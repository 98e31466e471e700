"""Translates a sentence of one word that a model copied although it is different in the target language.

Models see few such sentences. The table is a dictionary, which is safe only for them: within a longer
sentence, a copied "Apple" may be a name.
"""

import re
from collections.abc import Mapping
from typing import Self, cast

from service.text.languages import NEUTRAL, Language
from service.text.rules.rule import Rule, Setting, Table
from service.text.run import Run
from service.text.tables import read_translations

_WORD = re.compile(r"\w+")


class SingleWords(Rule):
    """Looks up the only word of a sentence if its translation has the same word."""

    name = "single_words"
    scope = "sentence"
    parameters = Table

    def __init__(self, translations: Mapping[str, str], source: Language = NEUTRAL) -> None:
        """Set the translations of words in their usual case, and the language of the words."""
        self._translations, self._source = translations, source

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule with the bundle's table, which is like one of names."""
        path = setting.tables.folder / cast(Table, setting.parameters).table
        source, _ = setting.languages
        return cls(read_translations(path, setting.source, setting.target), source)

    def restore(self, source: Run, translation: Run) -> Run:
        """Return the translation with its word translated, if it was copied in any case."""
        if len(source.words) != 1 or len(translation.words) != 1:
            return translation
        [word], [copy] = source.words, translation.words
        if copy.casefold() != word.casefold():
            return translation
        lower = self._source.lower(word)
        forms = (word, lower, self._source.capitalized(lower))
        found = next((form for form in forms if form in self._translations), None)
        if found is None:
            return translation
        places = [
            (*match.span(), self._translations[found]) for match in _WORD.finditer(translation.text)
        ]
        return translation.edited_outside(places)
