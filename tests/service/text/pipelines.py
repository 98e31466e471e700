"""Texts taken apart by every rule there is, as far as no model is needed for it."""

from collections.abc import Callable, Sequence
from typing import Any

from service.text import document
from service.text.document import Document
from service.text.languages import NEUTRAL, Language
from service.text.pipeline import Pipeline
from service.text.rules.abbreviations import Abbreviations
from service.text.rules.casing import Case
from service.text.rules.clauses import Clauses
from service.text.rules.directions import Directions
from service.text.rules.elements import Elements
from service.text.rules.names import Names
from service.text.rules.placeholders import Placeholders
from service.text.rules.quotes import Quotes
from service.text.rules.scripts import Scripts
from service.text.rules.spelling import Spelling
from service.text.rules.symbols import Symbols
from service.text.rules.unread import Unread
from service.text.run import Format, Run
from service.text.segmenter import Splitting


def every_rule(
    spells: Callable[[str], bool] = lambda _: True,
    usual_case: Callable[[str], str] = str,
    source: Language = NEUTRAL,
    target: Language = NEUTRAL,
    abbreviations: Abbreviations | None = None,
    max_words: int = 0,
) -> Pipeline:
    """Rules that do what these say."""
    return Pipeline(
        [
            Spelling(),
            Placeholders(),
            Elements(),
            Directions(),
            Symbols(),
            Scripts(spells),
            Unread(spells),
            abbreviations or Abbreviations({}),
            Quotes(target.quotes),
            Case(usual_case, source, target),
            Clauses(max_words, source=source, target=target),
        ],
        source,
    )


def take_apart(
    text: str,
    form: Format,
    splitting: Splitting = "all",
    ignored: Sequence[str] = (),
    **rules: Any,
) -> Document:
    """A text taken apart by every rule."""
    return document.take_apart(text, form, splitting, ignored, every_rule(**rules))


def mended(names: Names, source: str, translation: str) -> str:
    """A translation with its copied names translated."""
    return names.restore(Run(source), Run(translation)).text
