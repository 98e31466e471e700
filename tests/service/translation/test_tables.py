"""The bundled table of names on the way from text to text; the search here copies everything."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from service.engine.types import FinishReason, Hypothesis
from service.models.bundle import DEFAULT_BUNDLE, load
from service.text.tokenizer import Tokenizers
from service.translation.aligner import Aligner, Attention
from service.translation.searcher import Found, OnFound, Searcher, Work
from service.translation.translator import Translator
from service.translation.types import TranslationOptions


class Copying:
    max_sentences = 100
    max_tokens = 100_000

    def check_deadline(self, deadline: float) -> None:
        pass

    async def search(
        self,
        work: Sequence[Work],
        deadline: float,
        on_found: OnFound | None = None,
        seconds_after: float = 0.0,
    ) -> list[Found]:
        found = [
            Found([Hypothesis(ids[1:-1], -1.0, FinishReason.END)], "end")  # no tag, no EOS
            for ids, _ in work
        ]
        for at, one in enumerate(found):
            if on_found:
                on_found(at, one)
        return found


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("de", "Köln und München!", "Cologne und Munich!"),
        ("de", "In Köln %s, und das Wetter", "In Cologne %s, und das Wetter"),
        ("en", "Vienna, Austria", "Wien, Österreich"),
    ],
)
def test_names_are_looked_up(source: str, text: str, expected: str) -> None:
    bundle = load(DEFAULT_BUNDLE)
    tokenizers = Tokenizers.load(bundle.vocabulary, bundle.target_vocabulary)
    searcher, attention = cast(Searcher, Copying()), cast(Attention, None)
    aligner = Aligner(tokenizers, bundle.manifest.special_tokens, attention, 1, time.monotonic)
    translator = Translator(bundle, tokenizers, searcher, aligner, max_beam_size=4)
    direction = next(one for one in bundle.manifest.directions if one.source == source)
    told: list[str] = []
    found = asyncio.run(
        translator.translate(
            [text],
            direction,
            TranslationOptions(),
            60.0,
            lambda *sentence: told.append(sentence[3]),
        )
    )
    assert found[0].text == expected
    assert told == [expected]


def test_every_name_of_the_bundled_table_leads_somewhere() -> None:
    rows = [
        line.split("\t")
        for line in Path(DEFAULT_BUNDLE / "names.tsv").read_text(encoding="utf-8").splitlines()
    ]
    assert rows[0] == ["de", "en"]
    assert all(len(row) == 2 and all(name == name.strip() for name in row) for row in rows)
    assert len({name for _, name in rows}) == len(rows)
