"""Placeholders with models that write names, letters or digits as their target language does.

The models are simulated: they copy their source, except for what such a language writes differently.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from export import stand_ins
from service.engine.stalls import StallDetector
from service.engine.types import FinishReason, Hypothesis, SpecialIds, Work
from service.models.bundle import DEFAULT_BUNDLE, Bundle, load
from service.models.vocabularies import load_tokenizers
from service.text.tokenizer import Tokenizers
from service.translation.aligner import Aligner
from service.translation.decoding import SearchPolicy
from service.translation.options import TranslationOptions
from service.translation.searcher import Found, Searcher
from service.translation.translator import ModelTranslator
from service.translation.types import Translation

Write = Callable[[str], str]
TEMPLATES = """
Hallo {}, willkommen zurück!|Die Datei {} fehlt.|Möchten Sie {} löschen?|{} hat {} eingeladen.
Kopieren Sie {} nach {}.|Ihr Konto {} wurde gesperrt.|Klicken Sie auf {}, um {} zu öffnen.
Der Ordner {} ist leer.|Für {} gibt es eine neue Version.|Niemand außer {} darf {} lesen.
"""
SENTENCES = [
    (template.format(*kept), kept[: template.count("{}")])
    for line in TEMPLATES.strip().splitlines()
    for template in line.split("|")
    for kept in (
        ("{name}", "https://a.example/b?c=1"),
        ("%1$s", "{{ user.mail }}"),
        ("`config.json`", "${path}"),
        ("info@example.org", "--dry-run"),
    )
]
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_CYRILLIC = dict(
    zip(map(ord, _LATIN + _LATIN.upper()), "абцдефгхийклмнопярстуввхыз" * 2, strict=True)
)
_NATIVE_DIGITS = {ord("0") + digit: chr(ord("٠") + digit) for digit in range(10)}


def rewriting(pattern: str, change: Write) -> Write:
    """Return a function that changes what matches a pattern."""
    return lambda text: re.sub(pattern, lambda match: change(match[0]), text)


def cyrillic(word: str) -> str:
    return word.translate(_CYRILLIC)


MODELS: dict[str, Write] = {
    "names in Cyrillic": rewriting(r"\b[A-ZÄÖÜ][a-zäöüß]+\b", cyrillic),
    "words in Cyrillic": rewriting(r"\b[^\W\d_]+\b", cyrillic),
    "every letter in Cyrillic": cyrillic,
    "names with an ending": rewriting(r"\b[A-ZÄÖÜ][a-zäöüß]+\b", lambda name: f"{name}u"),
    "words with a capital with an ending": rewriting(r"\b[A-ZÄÖÜ]\w+\b", lambda name: f"{name}em"),
    "native digits": lambda text: text.translate(_NATIVE_DIGITS),
}


class Writing:
    """A searcher whose translations are the sources as a language writes them."""

    max_sentences, max_tokens = 1_000, 1_000_000
    engine = SimpleNamespace(clock=time.monotonic, watch=StallDetector(time.monotonic))

    def __init__(self, tokenizers: Tokenizers, write: Write) -> None:
        self.tokenizers, self.write = tokenizers, write
        self.searches = 0

    def check_deadline(self, deadline: float) -> None:
        pass

    def ids(self, source: Sequence[int]) -> tuple[int, ...]:
        [text] = self.tokenizers.source.decode([source[1:-1]])  # no tag, no EOS
        return tuple(self.tokenizers.target.encode([self.write(text)])[0])

    async def search(self, work: Sequence[Work], *more: float) -> AsyncIterator[dict[int, Found]]:
        self.searches += len(work)
        for at, (source, _) in enumerate(work):
            yield {at: Found([Hypothesis(self.ids(source), -1.0, FinishReason.END)])}


def without_tokens(target: str, rules: dict[str, dict[str, Any]]) -> Bundle:
    """Return the bundled model as if it had been imported, for a direction from German to `target`."""
    bundle = load(DEFAULT_BUNDLE)
    [direction] = [one for one in bundle.manifest.directions if one.source == "de"]
    changes = {"rules": rules, "directions": [direction.model_copy(update={"target": target})]}
    return Bundle(bundle.folder, bundle.manifest.model_copy(update=changes))


def translated(bundle: Bundle, write: Write, texts: list[str]) -> tuple[list[Translation], Writing]:
    tokenizers = load_tokenizers(bundle)
    searcher = Writing(tokenizers, write)
    aligner = Aligner(tokenizers, bundle.manifest.special_tokens, None, 1, time.monotonic)
    translator = ModelTranslator(
        bundle, tokenizers, cast(Searcher, searcher), aligner, SearchPolicy(4)
    )
    [direction] = bundle.manifest.directions
    work = translator.translate(texts, direction, TranslationOptions(), time.monotonic() + 600)
    return asyncio.run(work), searcher


def check_kept(found: Sequence[Translation]) -> None:
    """Check that every placeholder came through, and that no sentence was translated in pieces."""
    for (_, kept), translation in zip(SENTENCES, found, strict=True):
        assert [translation.text.count(one) for one in kept] == [1] * len(kept)
    recoveries = [sentence.recovery for one in found for sentence in one.sentences]
    assert len(recoveries) == len(SENTENCES)
    assert {"pieces", "copied"}.isdisjoint(recoveries)


@pytest.mark.parametrize("target", ["pl", "ru", "fa"])
@pytest.mark.parametrize("name", MODELS)
def test_placeholders_come_through_whatever_the_target_language_rewrites(
    name: str, target: str
) -> None:
    found, searcher = translated(
        without_tokens(target, {}), MODELS[name], [text for text, _ in SENTENCES]
    )
    check_kept(found)
    assert searcher.searches <= 2 * len(SENTENCES)


@pytest.mark.parametrize("name", MODELS)
def test_with_the_kinds_that_an_import_finds_one_search_suffices(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = without_tokens("pl" if name == "native digits" else "fa", {})
    tokenizers, end = load_tokenizers(bundle), bundle.manifest.special_tokens.eos
    writing = Writing(tokenizers, MODELS[name])

    def engine_translations(
        encoder: object, decoder: object, special: object, sources: list[list[int]], starts: object
    ) -> list[list[Hypothesis]]:
        return [[Hypothesis(writing.ids(ids), -1.0, FinishReason.END)] for ids in sources]

    monkeypatch.setattr(stand_ins, "engine_translations", engine_translations)
    [direction] = bundle.manifest.directions
    texts = ["Der Hund schläft.", "Wir essen heute mit Freunden.", "Das Haus am See ist alt."]
    sources = [[*direction.prefix, *ids, end] for ids in tokenizers.source.encode(texts * 3)]
    kinds = stand_ins.copied_kinds(bundle, sources, SpecialIds(0, 2, 3))
    rules = {"placeholders": {"kinds": kinds}}
    bundle = without_tokens(direction.target, rules)
    found, searcher = translated(bundle, MODELS[name], [text for text, _ in SENTENCES])
    check_kept(found)
    assert searcher.searches == len(SENTENCES)
