"""The bundled tables on the way from text to text; the search here copies everything."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from service.engine.types import FinishReason, Hypothesis, Work
from service.models.bundle import DEFAULT_BUNDLE, load
from service.models.vocabularies import load_tokenizers
from service.translation.aligner import Aligner, Attention
from service.translation.decoding import SearchPolicy
from service.translation.options import TranslationOptions
from service.translation.searcher import Found, Searcher
from service.translation.translator import ModelTranslator
from service.translation.types import SentenceResult


class Copying:
    max_sentences = 100
    max_tokens = 100_000

    def check_deadline(self, deadline: float) -> None:
        pass

    async def search(self, work: Sequence[Work], *more: float) -> AsyncIterator[dict[int, Found]]:
        for at, (ids, _) in enumerate(work):
            yield {at: Found([Hypothesis(ids[1:-1], -1.0, FinishReason.END)])}  # no tag, no EOS


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("de", "Köln und München!", "Cologne und Munich!"),
        ("de", "In Köln %s, und das Wetter", "In Cologne %s, und das Wetter"),
        ("en", "Vienna, Austria", "Wien, Österreich"),
    ],
)
def test_names_are_translated_by_the_table(source: str, text: str, expected: str) -> None:
    bundle = load(DEFAULT_BUNDLE)
    tokenizers = load_tokenizers(bundle)
    searcher, attention = cast(Searcher, Copying()), cast(Attention, None)
    aligner = Aligner(tokenizers, bundle.manifest.special_tokens, attention, 1, time.monotonic)
    translator = ModelTranslator(bundle, tokenizers, searcher, aligner, SearchPolicy(4))
    direction = next(one for one in bundle.manifest.directions if one.source == source)

    reported = list[SentenceResult]()
    asked = [text], direction, TranslationOptions(), 60.0
    [translation] = asyncio.run(translator.translate(*asked, on_sentence=reported.append))
    assert [one.target for one in reported] == [translation.text] == [expected]


@pytest.mark.parametrize("table", ["names.tsv", "memory.tsv"])
def test_the_bundled_tables_are_well_formed(table: str) -> None:
    lines = Path(DEFAULT_BUNDLE / table).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    assert rows[0] == ["de", "en"]
    assert all(len(row) in (2, 3) and all(cell == cell.strip() for cell in row) for row in rows)
    assert len(set(lines)) == len(lines)


def test_each_bundled_name_has_one_line() -> None:
    lines = Path(DEFAULT_BUNDLE / "names.tsv").read_text(encoding="utf-8").splitlines()
    assert len({line.split("\t")[1] for line in lines}) == len(lines)
