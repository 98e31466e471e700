"""The bundled table of known words on the way from text to text; the search here says what it is told."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import cast

from service.engine.stalls import StallDetector
from service.engine.types import FinishReason, Hypothesis, Work
from service.models.bundle import DEFAULT_BUNDLE, load
from service.models.vocabularies import load_tokenizers
from service.translation.aligner import Aligner, Attention
from service.translation.decoding import SearchPolicy
from service.translation.options import TranslationOptions
from service.translation.searcher import Found, Searcher
from service.translation.translator import ModelTranslator

BUNDLE = load(DEFAULT_BUNDLE)
TOKENIZERS = load_tokenizers(BUNDLE)


class Scripted:
    max_sentences = 100
    max_tokens = 100_000

    def __init__(self, *translations: str) -> None:
        self.asked, self._translations = list[str](), iter(translations)
        self.engine = SimpleNamespace(clock=time.monotonic, watch=StallDetector(time.monotonic))

    def check_deadline(self, deadline: float) -> None:
        pass

    async def search(self, work: Sequence[Work], *more: float) -> AsyncIterator[dict[int, Found]]:
        [(ids, _)] = work
        self.asked += TOKENIZERS.source.decode([ids[1:-1]])
        [translation] = TOKENIZERS.target.encode([next(self._translations)])
        yield {0: Found([Hypothesis(tuple(translation), -1.0, FinishReason.END)])}


def test_the_second_search_has_exactly_the_names_protected() -> None:
    search = Scripted(
        "Mr Steinberg from wood camp lost a card in January.",
        "Mr <p0> from <p1> lost his card in January.",
    )
    aligner = Aligner(
        TOKENIZERS, BUNDLE.manifest.special_tokens, cast(Attention, None), 1, time.monotonic
    )
    translator = ModelTranslator(
        BUNDLE, TOKENIZERS, cast(Searcher, search), aligner, SearchPolicy(4)
    )
    direction = next(one for one in BUNDLE.manifest.directions if one.source == "de")
    text = "Herr Steinberg aus Holtkamp hat im Januar seinen Ausweis verloren."
    asked = [text], direction, TranslationOptions(), time.monotonic() + 60
    [translation] = asyncio.run(translator.translate(*asked))
    assert search.asked == [text, "Herr <p0> aus <p1> hat im Januar seinen Ausweis verloren."]
    assert translation.text == "Mr Steinberg from Holtkamp lost his card in January."
