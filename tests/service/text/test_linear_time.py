"""Every step takes linear time in the length of a text, so that no request can stall the service."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.types import DecodingOptions
from service.errors import LimitExceededError
from service.models.bundle import load
from service.models.vocabularies import load_tokenizers
from service.text import stand_ins, words
from service.text.certainty import Certainty
from service.text.detector import Detector
from service.text.document import Document, take_apart
from service.text.known_words import KnownWords
from service.text.languages import lookup, profile
from service.text.markup import lexer
from service.text.memory import Entry, Memory
from service.text.rules import casing
from service.text.rules.clauses import Clauses
from service.text.rules.currencies import Currencies
from service.text.rules.dashes import Dashes
from service.text.rules.elements import Elements
from service.text.rules.ellipses import Ellipses
from service.text.rules.end_marks import EndMarks
from service.text.rules.escapes import Escapes
from service.text.rules.letters import Letters
from service.text.rules.month_names import MonthNames
from service.text.rules.names import Names
from service.text.rules.notation import notation_of
from service.text.rules.number_words import NumberWords
from service.text.rules.numbers import Numbers
from service.text.rules.operators import Operators
from service.text.rules.placeholders import Placeholders
from service.text.rules.slashes import Slashes
from service.text.rules.unit_words import UnitWords
from service.text.rules.unknown_names import UnknownNames
from service.text.run import Format, Run, Tag
from service.text.segmenter import Splitting, split
from service.text.sentence import Sentence, prepared
from service.text.stand_ins import StandIn
from service.translation.options import TranslationOptions
from service.translation.preparation import Preparation
from tests.conftest import TINY_BUNDLE
from tests.growth import beyond_linear
from tests.service.text.pipelines import assembled, every_rule
from tests.service.text.repetitions import PATTERNS, UNITS, repeated

LETTERS_FOR_DIGITS = str.maketrans("0123456789", "abcdefghij")
CHARACTERS = 1_000
"""Length of the shorter text; the other is four times as long."""

BUNDLE = load(TINY_BUNDLE)
TOKENIZERS = load_tokenizers(BUNDLE)
TOKENIZER = TOKENIZERS.source
PIPELINE = every_rule(
    TOKENIZER.spells,
    TOKENIZER.truecase,
    source=profile("de"),
    target=profile("en"),
    max_words=8,
)
NAMES = Names({"Bonn": "Bonn", "Ab": "Off", "A B": "B A"})
DETECTOR, CERTAINTY = Detector(["de", "en"]), Certainty("en", "de")
MEMORY = Memory([Entry(40 * "a b ", "b")])
UNKNOWN = UnknownNames(KnownWords((), ["abab", "aaaa"], ["", "a"]))
LETTERS = Letters(str.isascii)
UNIT_WORDS = UnitWords(profile("de"), profile("en"))
NUMBER_WORDS = NumberWords(profile("de"), profile("en"))
MONTH_NAMES = MonthNames("de", "en")
NOTATION = notation_of(profile("en"), profile("de"))
RESTORED = [StandIn(name, "x", "x") for name in stand_ins.NAMES]
MANIFEST = BUNDLE.manifest.model_copy(
    update={
        "limits": BUNDLE.manifest.limits.model_copy(update={"max_source_length": 10**6}),
    }
)


def _apart(form: Format, splitting: Splitting) -> Callable[[str], Document]:
    return lambda text: take_apart(text, form, splitting, ("x",), PIPELINE)


def _prepared(text: str) -> None:
    options = TranslationOptions(format="html", splitting="sentences", align=True)
    decoding = DecodingOptions(max_decoding_length=100)
    direction = MANIFEST.directions[0]
    Preparation(MANIFEST, TOKENIZERS, direction, options, decoding, PIPELINE).take_apart([text])


class _Mirrored(words.Alignment):
    """Links the words in reverse order, without a table of weights, whose size is quadratic."""

    def links(self) -> list[int]:
        return list(range(len(self.target_spans)))[::-1]


def _mirrored(text: str) -> _Mirrored:
    spans = words.word_spans(text)
    return _Mirrored(text, text, spans, spans, np.zeros((0, 0), np.float32))


def _assembled(document: Document) -> None:
    texts = [sentence.text for sentence in document.sentences]
    assembled(document, texts, [_mirrored(text) for text in texts])


def _cut_and_joined(text: str) -> None:
    for language in map(profile, ("de", "ja")):
        clauses = Clauses(1, TOKENIZER.within, language, language)
        parts = clauses.cut(text)
        clauses.join(parts, parts)


def _with_tags_in_the_middle(text: str) -> Run:
    middle = len(text) // 2
    return Run(text, [Tag(middle, "<!>", "void")] * middle)


def _in_pieces(text: str) -> Sentence | None:
    sentence = prepared(Run(text), PIPELINE)
    return sentence.in_pieces("") if sentence else None


def _in_clauses(text: str) -> list[Sentence]:
    sentence = prepared(Run(text), PIPELINE)
    return sentence.in_clauses() if sentence else []


ON_TEXT: dict[str, Callable[[str], object]] = {
    "text": _apart("text", "all"),
    "xml": _apart("xml", "none"),
    "prepared": _prepared,
    "tokens": lambda text: list(lexer.tokens(text, "html")),
    "split": lambda text: [list(split(text, "all", profile(code))) for code in ("de", "ja", "hu")],
    "paragraphs": lambda text: list(split(text, "paragraphs")),
    "clauses": _cut_and_joined,
    "lookup": lambda text: lookup(text, ["de", "zh-Hans-CN"]),
    "detector": DETECTOR.detect,
    "detector of html": lambda text: DETECTOR.detect(text, "html"),
    "certainly": CERTAINTY,
    "encode": TOKENIZER.encode_with_spans,
    "within": TOKENIZER.within,
    "usual case": TOKENIZER.truecase,
    "casing": lambda text: casing.in_truecase(text, str.lower, keeps_acronyms=True),
    "placeholders": lambda text: Placeholders().prepare(Run(text)),
    "notation": lambda text: (list(NOTATION.amounts(text)), NOTATION.adapted([text])),
    "ellipses": lambda text: Ellipses().prepare(Run(text)),
    "end marks": lambda text: EndMarks().restore(Run(text), Run(text)),
    "numbers": lambda text: Numbers().protect(Run(text), Run()),
    "operators": lambda text: Operators().protect(Run(text), Run()),
    "elements": lambda text: Elements().prepare(_with_tags_in_the_middle(text)),
    "currencies": lambda text: Currencies(profile("de"), profile("en")).protect(Run(text), Run()),
    "unit words": lambda text: UNIT_WORDS.protect(Run(text), Run(text)),
    "number words": lambda text: NUMBER_WORDS.came_through(Run(text), Run(text)),
    "month names": lambda text: MONTH_NAMES.came_through(Run(text), Run(text)),
    "dashes": lambda text: Dashes().restore(Run(text), Dashes().prepare(Run(text))),
    "escapes": lambda text: Escapes().restore(Run(text), Escapes().prepare(Run(text))),
    "numbers came through": lambda text: Numbers().came_through(Run(text), Run(text)),
    "slashes": lambda text: Slashes().restore(Run(text), Slashes().prepare(Run(text))),
    "came through": lambda text: PIPELINE.came_through(Run(text), Run(text)),
    "in pieces": _in_pieces,
    "in clauses": _in_clauses,
    "for pieces": lambda text: stand_ins.for_pieces(Run(text)),
    "stand-ins": lambda text: stand_ins.came_through(text, RESTORED),
    "restored": lambda text: stand_ins.restored(Run(text), RESTORED),
    "words": lambda text: (words.word_spans(text), words.words_of(text)),
    "memory": MEMORY.find,
    "names": lambda text: NAMES.restore(Run(text), Run(text)),
    "lost names": lambda text: UNKNOWN.came_through(Run(text), Run(text.lower())),
    "lost letters": lambda text: LETTERS.came_through(Run(text), Run(text.replace(" ", ""))),
    "unknown names": lambda text: UNKNOWN.protect(Run(text.title()), Run()),
}
STEPS: dict[str, tuple[Callable[[str], Any], Callable[[Any], object]]] = {
    **{name: (str, step) for name, step in ON_TEXT.items()},
    "joints": (lambda text: Numbers().protect(Run(text), Run()), stand_ins.num_joints),
    "text again": (_apart("text", "none"), _assembled),
    "html again": (_apart("html", "sentences"), _assembled),
}
"""A preparation that is not measured, and the measured step, by name."""


def grows(name: str, pattern: Callable[[int], str], length: int = CHARACTERS) -> str:
    """Check that a step's time grows linearly; return the times if it does not, or else an empty string."""
    prepare, step = STEPS[name]

    def refusing(given: object) -> None:
        with suppress(LimitExceededError):  # refusing a text takes no longer
            step(given)

    try:
        return beyond_linear(refusing, lambda times: prepare(pattern(times * length)))
    except LimitExceededError:
        return ""  # there is nothing to assemble


@pytest.mark.parametrize("name", STEPS)
def test_every_step_takes_linear_time(name: str) -> None:
    found = {label: grows(name, pattern) for label, pattern in PATTERNS.items()}
    assert {label: times for label, times in found.items() if times} == {}


@given(
    st.lists(st.sampled_from(UNITS) | st.text(min_size=1, max_size=3), min_size=1, max_size=5),
    st.sampled_from(["text", "xml", "prepared", "text again", "html again"]),
)
@settings(max_examples=30)
def test_any_repetition_takes_linear_time(units: list[str], name: str) -> None:
    assert grows(name, partial(repeated, "".join(units))) == ""


@pytest.mark.parametrize(
    ("name", "unit", "length", "around"),
    [
        ("lookup", "-", 40_000, ("", "")),
        ("prepared", "a", 25_000, ("<", "")),
        ("prepared", "a", 49_000, ("</", "")),
        ("clauses", "ab, ", 49_600, ("", "")),
        ("prepared", "ab, ", 49_600, ("", "")),
        ("prepared", "9", 5_000, ("a &#", ";")),
        ("text", "%s", 50_000, ("", "")),
        ("text", "z. B. ", 48_000, ("", "")),
        ("prepared", "a<wbr>", 48_000, ("", "")),
        ("text", ">", 50_000, ("", "")),
        ("text", "*_", 50_000, ("", "")),
        ("text", "[a](b) ", 49_000, ("", "")),
        ("text", "日 » ", 48_000, ("", "")),
        ("text", "-=", 50_000, ("a", "b")),
        ("prepared", "\u0315\u0323", 49_000, ("a", "")),
        ("prepared", "\u0301\u0323\u0327", 49_800, ("ж", "")),
        ("prepared", "b\u0315\u0323\u0315", 49_800, ("a", "")),
        ("xml", "<?", 48_000, ("<!DOCTYPE a [", "")),
        ("xml", "<!--", 48_000, ("<!DOCTYPE a [", "]> <p>Ab</p>")),
        ("detector", "\u0315\u0323", 49_000, ("a", "")),
        ("elements", "\n", 48_000, ("a", "b")),
        ("ellipses", ".", 48_000, ("Ab ", "?")),
        ("ellipses", "…", 48_000, ("Ab ", "?")),
        ("placeholders", "01 ", 12_000, ("$1 ", "01.5")),
        ("placeholders", "01- 01 1-01 ", 12_000, ("$1 ", "01.5")),
    ],
)
def test_the_longest_text_takes_linear_time(
    name: str, unit: str, length: int, around: tuple[str, str]
) -> None:
    before, after = around
    pattern = partial(repeated, unit, before=before, after=after)
    assert grows(name, pattern, length // 4) == ""


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [("lost names", "Ab", ""), ("lost letters", "ä", ""), ("for pieces", "X", "Y")],
)
def test_different_words_take_linear_time(name: str, before: str, after: str) -> None:
    def pattern(length: int) -> str:
        text = " ".join(f"{before}{number}{after}" for number in range(length // 7))
        return text if name == "for pieces" else text.translate(LETTERS_FOR_DIGITS)

    assert grows(name, pattern, 25_000) == ""


@pytest.mark.parametrize("unread", "\x01\x7f\u061c\u200b\u200c\u200e\u200f\ufeff\ufffd")
def test_the_size_of_an_alignment_is_bounded_by_tokens(unread: str) -> None:
    text = f"a{unread * 1_000} b"
    assert len(TOKENIZER.encode_with_spans(text)[0]) <= 10
    assert [text[begin:end] for begin, end in words.word_spans(text)] == ["a", "b"]
