"""A request's options and results, as plain data."""

from collections.abc import Collection
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from statistics import fmean
from typing import Literal, get_args

from service.engine.types import FinishReason
from service.errors import InvalidRequestError, quoted
from service.text.detector import Detection
from service.text.run import Format
from service.text.segmenter import Splitting
from service.text.sentence import Sentence
from service.text.surrogates import unpaired_surrogate
from service.text.words import Alignment

Recovery = Literal["repetition", "protected", "pieces", "copied"]
"""What was done about a search that went wrong: it was repeated with n-gram blocking; with placeholders and
numbers protected; in pieces around them; or the source was copied."""

_RANGES: tuple[tuple[str, type, str, int, float], ...] = (
    ("beam_size", Integral, "an integer", 1, inf),
    ("length_penalty", Real, "a number", -10, 10),
    ("alternatives", Integral, "an integer", 0, inf),
    ("max_decoding_length", Integral, "an integer", 1, inf),
    ("no_repeat_ngram_size", Integral, "an integer", 0, inf),
)


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """Options of a request; None means the bundle's default."""

    beam_size: int | None = None
    length_penalty: float | None = None
    alternatives: int = 0
    """Number of translations besides the best one."""
    max_decoding_length: int | None = None
    """Limit for the tokens of a sentence's translation; the source's length implies another limit."""
    no_repeat_ngram_size: int = 0
    rerank: bool | None = None
    """Whether the channel model, if there is one, reranks hypotheses; None means the operator's default."""
    target_prefix: str = ""
    """Forced beginning of the translation of a text's first sentence."""
    format: Format = "text"
    splitting: Splitting | None = None
    """Where sentences end; None: at line breaks, too, except in HTML, where these are spaces."""
    ignored_tags: tuple[str, ...] = ()
    """Names of elements whose text is preserved unchanged."""
    align: bool = False
    """Whether to return the alignment of every sentence."""

    def __post_init__(self) -> None:
        """Check all that does not depend on the model.

        Raises:
            InvalidRequestError: a value has a wrong type, is out of its range, or not among its choices.
        """
        for name, kind, description, least, most in _RANGES:
            value = getattr(self, name)
            if value is None and self.__dataclass_fields__[name].default is None:
                continue
            is_number = isinstance(value, kind)
            if not is_number:
                raise _impossible(name, description, value)
            if not least <= value <= most:
                allowed = f">= {least}" if most == inf else f"between {least} and {most}"
                raise _impossible(name, allowed, value)
        for name, choices in (("format", get_args(Format)), ("splitting", get_args(Splitting))):
            value = getattr(self, name)
            if value not in choices and value is not self.__dataclass_fields__[name].default:
                raise _impossible(name, f"one of {', '.join(choices)}", value)
        if not _are_strings(self.ignored_tags):
            raise _impossible("ignored_tags", "a list of strings", self.ignored_tags)
        if not isinstance(self.target_prefix, str):
            raise _impossible("target_prefix", "a string", self.target_prefix)
        # hashable
        object.__setattr__(self, "ignored_tags", tuple(self.ignored_tags))
        tags = (("ignored_tags", tag) for tag in self.ignored_tags)
        for name, text in (("target_prefix", self.target_prefix), *tags):
            if (position := unpaired_surrogate(text)) is not None:
                raise InvalidRequestError(
                    f"Invalid request: {name} parameter has an unpaired surrogate at character {position}"
                )


def _are_strings(value: object) -> bool:
    """Check for a collection of strings. A string is not one, though its items are strings, too."""
    if isinstance(value, str) or not isinstance(value, Collection):
        return False
    return all(isinstance(item, str) for item in value)


def _impossible(name: str, allowed: str, value: object) -> InvalidRequestError:
    return InvalidRequestError(
        f"Invalid request: {name} parameter must be {allowed}, but is {quoted(value)}"
    )


@dataclass(frozen=True, slots=True)
class TranslatedSentence:
    """A sentence and its translations, best first; all may contain stand-ins."""

    sentence: Sentence
    targets: tuple[str, ...]
    scores: tuple[float, ...]
    finish_reason: FinishReason = FinishReason.END
    recovery: Recovery | None = None
    alignments: tuple[Alignment, ...] = ()
    """One for each target; empty unless they are wanted or needed for tags."""
    rejected: str = ""
    """If the source was copied, the best translation, in which something was lost."""

    def __repr__(self) -> str:
        names = ("source", "target", "score", "finish_reason", "recovery")
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({values})"

    @property
    def source(self) -> str:
        """The sentence in the text, with its markup."""
        return self.sentence.as_written

    @property
    def target(self) -> str:
        """The best translation, without tags."""
        return self.sentence.readable(self.targets[0])

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
    problem: str = ""
    """Why the text was returned untranslated; "" if it was translated."""

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
