"""What is to be known of the two languages, and of what the model knows of them, to take a text apart."""

from collections.abc import Callable
from dataclasses import dataclass

from service.text.languages import NEUTRAL, Language
from service.text.segmenter import QUOTES, Segment


@dataclass(frozen=True, slots=True)
class LanguagePair:
    """A source and a target language."""

    spells: Callable[[str], bool] = lambda _: True
    """Whether the model's vocabulary has a letter."""
    usual_case: Callable[[str], str] = str
    """A word of the source in the case that it has mostly."""
    source: Language = NEUTRAL
    target: Language = NEUTRAL

    @property
    def capitalizes_nouns(self) -> bool:
        """Whether the source language does."""
        return self.source.capitalizes_nouns

    @property
    def quotes(self) -> str:
        """The target language's, opening and closing, double and single; empty: as they are."""
        return self.target.quotes

    def written(self, segment: Segment) -> str:
        """What stands between sentences, with the target language's quotes; as long as it was."""
        if self.quotes and segment.text in QUOTES:
            return self.quotes[0 if segment.opens else 1]
        return segment.text
