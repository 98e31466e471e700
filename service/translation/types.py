"""A request's results, as plain data."""

from dataclasses import dataclass
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.engine.types import FinishReason
from service.errors import TextTooLongError
from service.text.detector import Detection

NOT_KEPT = "no translation was found that keeps all numbers and placeholders"
TOO_LONG = f"{NOT_KEPT}: a part is too long for another attempt"
Recovery = Literal["repetition", "protected", "pieces", "copied", "memory"]
"""What was done about a search that went wrong: it was repeated with n-gram blocking; with placeholders and
numbers protected; in pieces around them; or the source was copied. Or why none was needed: the translation is
in the memory."""


class WordAlignment(NamedTuple):
    """The S words of a sentence, the T words of its translation, and the attention between them."""

    sources: list[str]
    targets: list[str]
    weights: NDArray[np.float32]
    """[T, S]"""


@dataclass(frozen=True, slots=True)
class TranslatedSentence:
    """A sentence and its translations, best first, as a reader sees them."""

    source: str
    """The sentence in the text, with its markup."""
    targets: tuple[str, ...]
    """Without tags."""
    scores: tuple[float, ...]
    finish_reason: FinishReason = FinishReason.END
    recovery: Recovery | None = None
    problem: str = ""
    """Which part of the sentence was left untranslated, and why; "" if none was."""
    written: tuple[str, ...] = ()
    """Each target as it is written in the text's format, with its tags."""
    alignment: WordAlignment | None = None
    """That of the best translation, if it is wanted and known."""

    def __repr__(self) -> str:
        names = ("source", "target", "score", "finish_reason", "recovery")
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({values})"

    @property
    def target(self) -> str:
        """The best translation, without tags."""
        return self.targets[0]

    @property
    def score(self) -> float:
        """Log-probability of the best translation divided by the length penalty; 0 means certain."""
        return self.scores[0]


@dataclass(frozen=True, slots=True, repr=False)
class PivotedSentence(TranslatedSentence):
    """A sentence that was translated through a third language. It has one target and no alignment.

    If the two halves split the text differently, it is several sentences that belong together. The score is
    the sum of both halves' scores.
    """

    pivot: str = ""
    """Code of the third language."""
    pivot_text: str = ""
    """The sentence in that language."""


@dataclass(frozen=True, slots=True)
class SentenceResult:
    """A sentence of a request, reported as soon as it is translated."""

    text: int
    """Index of the text."""
    segment: int
    """Index of the sentence in the text."""
    translated: TranslatedSentence

    @property
    def source(self) -> str:
        """The sentence in the text, with its markup."""
        return self.translated.source

    @property
    def target(self) -> str:
        """The best translation, without tags."""
        return self.translated.target


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation of a text."""

    text: str
    alternatives: tuple[str, ...]
    sentences: tuple[TranslatedSentence, ...]
    detected: Detection | None = None
    """The detected source language; None if it was given."""
    error: TextTooLongError | None = None
    """Why the text was returned untranslated; None if it was translated."""

    @property
    def problem(self) -> str:
        """Why the text was returned untranslated; "" if it was translated."""
        return str(self.error) if self.error else ""

    @property
    def is_copied(self) -> bool:
        """Whether the text is returned as it is because no translation of any sentence was found."""
        return bool(self.sentences) and all(one.recovery == "copied" for one in self.sentences)

    @property
    def first_problem(self) -> str:
        """Why the text, or else the first part of it that was, was left untranslated; "" if none was."""
        problems = [self.problem, *(sentence.problem for sentence in self.sentences)]
        return next(filter(None, problems), "")

    @property
    def score(self) -> float:
        """The mean of the sentences' scores; 0, which means certain, without sentences."""
        return fmean(sentence.score for sentence in self.sentences) if self.sentences else 0.0


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a request: the translations of all texts, in order."""

    translations: list[Translation]


Event = SentenceResult | Done
"""What a request yields: each sentence when it is translated, and finally the complete translations."""
