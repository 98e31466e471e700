"""What a request asks for and what it gets, as plain data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from service.text.detector import Detection
from service.text.run import Format
from service.text.segmenter import Splitting
from service.text.sentence import Sentence
from service.text.words import Alignment

Finish = Literal["end", "length", "repetition", "protected", "pieces", "copied"]
"""How a sentence's translation was found: the search ended by itself; at its limit; was done again without
a loop; again with its numbers protected, or in pieces around placeholders and numbers, which were lost
otherwise; not at all, so that the source stands in."""

OnSentence = Callable[[int, int, str, str], None]
"""Number of the text, number of the sentence in it, source and target."""


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """What a request may say; None is the bundle's default."""

    beam_size: int | None = None
    length_penalty: float | None = None
    alternatives: int = 0
    """How many translations beside the best."""
    max_decoding_length: int | None = None
    """Tokens of a sentence's translation; None: the source's and 50 more."""
    no_repeat_ngram_size: int = 0
    rerank: bool | None = None
    """Whether the opposite direction has a say, where the model has it; None is up to the operator."""
    target_prefix: str = ""
    """How the translation of a text's first sentence begins."""
    format: Format = "text"
    splitting: Splitting = "all"
    ignored_tags: tuple[str, ...] = ()
    """Names of elements whose text comes through untouched."""
    align: bool = False
    """Whether every sentence's alignment is wanted."""


@dataclass(frozen=True, slots=True)
class TranslatedSentence:
    """One sentence and its translations, best first; names may stand in for placeholders in all of them."""

    sentence: Sentence
    targets: tuple[str, ...]
    scores: tuple[float, ...]
    finish: Finish
    alignments: tuple[Alignment, ...] = ()
    """Of the targets, where they are wanted or needed."""


@dataclass(frozen=True, slots=True)
class Translation:
    """One text's translation."""

    text: str
    alternatives: tuple[str, ...]
    sentences: tuple[TranslatedSentence, ...]
    detected: Detection | None = None
    """Where the source's language was not given."""
    problem: str = ""
    """Why it is the text as it was."""
