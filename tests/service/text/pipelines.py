"""Texts taken apart by all rules and reassembled, with a stub vocabulary."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from service.text import document
from service.text.document import Document
from service.text.known_words import KnownWords
from service.text.languages import NEUTRAL, Language
from service.text.pipeline import ORDER, Pipeline
from service.text.rules.clauses import Clauses
from service.text.rules.names import Names
from service.text.rules.placeholders import Placeholders
from service.text.rules.punctuation import Punctuation
from service.text.rules.rule import Parameters, Rule, Setting
from service.text.rules.unknown_names import UnknownNames
from service.text.run import Format, Run
from service.text.segmenter import Splitting
from service.text.stand_ins import CODES, NAMES
from service.text.tables import Tables
from service.text.words import Alignment, align_words, word_spans

PLACEHOLDERS = Placeholders(kinds=(NAMES, CODES))
"""With names, which are easy to read in tests."""


@cache
def every_rule(
    spells: Callable[[str], bool] = lambda _: True,
    truecase: Callable[[str], str] = str,
    source: Language = NEUTRAL,
    target: Language = NEUTRAL,
    max_words: int = 0,
    placeholders: Placeholders = PLACEHOLDERS,
) -> Pipeline:
    """Return a pipeline of all rules except `Punctuation`, with empty tables."""
    vocabulary = SimpleNamespace(
        spells=spells,
        truecase=lambda word, language: truecase(word),
        within=lambda text, language: text,
    )
    tokenizers: Any = SimpleNamespace(source=vocabulary, target=vocabulary)
    setting = Setting(Tables(Path()), source.code, target.code, tokenizers, Parameters())
    given: dict[type[Rule], Rule] = {
        Names: Names({}),
        Placeholders: placeholders,
        UnknownNames: UnknownNames(KnownWords(())),
        Clauses: Clauses(max_words, source=source, target=target),
    }
    rules = (rule for rule in ORDER if rule is not Punctuation)
    return Pipeline([given.get(rule) or rule.make(setting) for rule in rules], source)


def take_apart(
    text: str,
    form: Format,
    splitting: Splitting = "all",
    ignored: Sequence[str] = (),
    **rules: Any,
) -> Document:
    """Take a text apart with all rules."""
    return document.take_apart(text, form, splitting, ignored, every_rule(**rules))


def aligned(source: str, target: str, links: list[int]) -> Alignment:
    """Return an alignment that links each word of `target` to one word of `source`."""
    weights = np.eye(len(word_spans(source)), dtype=np.float32)[links]
    return align_words(source, target, word_spans(source), word_spans(target), weights)


def assembled(
    document: Document, texts: Sequence[str], alignments: Sequence[Alignment | None]
) -> str:
    """Assemble a document with the given translations of its sentences."""
    found = zip(document.sentences, texts, alignments, strict=True)
    return document.assemble([one.translated(text, alignment) for one, text, alignment in found])


def unchanged(document: Document) -> str:
    """Assemble a document with its sentences as their own translations."""
    texts = [sentence.text for sentence in document.sentences]
    same = [aligned(text, text, list(range(len(word_spans(text))))) for text in texts]
    return assembled(document, texts, same)


def mended(names: Names, source: str, translation: str) -> str:
    """Replace the names that were copied into a translation."""
    return names.restore(Run(source), Run(translation)).text
