"""Unknown tokens of a translation are written as the pieces of the source that they attended to."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from unittest.mock import MagicMock, Mock

import numpy as np
import pytest
from sentencepiece import SentencePieceProcessor

from service.engine.types import FinishReason, Floats, Hypothesis, Work
from service.models.bundle import load
from service.text.piece_tokenizer import PieceTokenizer
from service.text.tokenizer import Tokenizers
from service.translation.aligner import Aligner, Attention
from service.translation.decoded import Part
from service.translation.offload import Check
from service.translation.searcher import Found
from service.translation.sentence_translator import Result, SentenceTranslator
from service.translation.unknown_words import UnknownWords
from tests.conftest import TINY_BUNDLE
from tests.service.text.pipelines import take_apart

MODEL = TINY_BUNDLE / "sentencepiece.model"
SOURCE = "Ž der Ψ"


def backwards(source: Sequence[int], target: Sequence[int]) -> Floats:
    """The first token of the translation attends to the last one in front of EOS, and so on."""
    rows = [max(0, len(source) - 2 - at) for at in range(len(target) - 2)]
    found: Floats = np.eye(len(source), dtype=np.float32)[rows]
    return found


def failing(*_: object) -> Floats:
    raise RuntimeError("no attention")


@pytest.fixture
def tokenizers(tmp_path: Path) -> Tokenizers:
    processor = SentencePieceProcessor(model_file=str(MODEL))
    path = tmp_path / "pieces.json"
    pieces = [processor.id_to_piece(id) for id in range(processor.vocab_size())]
    path.write_text(json.dumps(pieces), encoding="utf-8")
    tokenizer = PieceTokenizer(MODEL, path)
    return Tokenizers(tokenizer, tokenizer)


def texts_of(
    tokenizers: Tokenizers, rows: Sequence[Sequence[int]], attention: Attention | None
) -> list[str]:
    """Of a source's hypotheses."""
    return looked_up_by(aligner_of(tokenizers, attention), rows)


def aligner_of(tokenizers: Tokenizers, attention: Attention | None) -> Aligner:
    special = load(TINY_BUNDLE).manifest.special_tokens
    return Aligner(tokenizers, special, attention, 1, time.monotonic, Mock())


def looked_up_by(aligner: Aligner, rows: Sequence[Sequence[int]]) -> list[str]:
    manifest, tokenizers = load(TINY_BUNDLE).manifest, aligner.tokenizers
    direction = next(one for one in manifest.directions if one.source == "de")
    unknown_words = UnknownWords(aligner, tokenizers.target.unknown_id, direction)
    [ids] = tokenizers.source.encode([SOURCE])
    work = (*direction.prefix, *ids, *manifest.special_tokens.source_end), Mock()
    found = Found([Hypothesis(tuple(row), 0.0, FinishReason.END) for row in rows])
    looking = unknown_words.looked_up([work], {0: found}, time.monotonic() + 60)
    try:
        looked_up = asyncio.run(looking)[0]
    finally:
        aligner.close()
    assert looked_up.hypotheses == found.hypotheses
    return tokenizers.translations(SOURCE, rows, looked_up.attended)


def test_unknown_tokens_are_replaced_by_the_attended_words(tokenizers: Tokenizers) -> None:
    assert tokenizers.source.pieces(SOURCE) == ["▁", "Ž", "▁d", "er", "▁", "Ψ"]
    [the] = tokenizers.target.encode(["The"])
    unknown = tokenizers.target.unknown_id
    assert unknown is not None
    rows = [[unknown, *the], [unknown] * 6, the]
    assert texts_of(tokenizers, rows, backwards) == ["Ψ The", "Ψ er dŽ", "The"]
    assert texts_of(tokenizers, rows, None) == ["Ž The", "ŽΨ", "The"]


@pytest.mark.parametrize("attention", [None, failing])
def test_without_attention_unknown_words_are_used_in_order(
    tokenizers: Tokenizers, attention: Attention | None
) -> None:
    unknown = tokenizers.target.unknown_id
    assert unknown is not None
    assert texts_of(tokenizers, [[unknown, unknown]], attention) == ["ŽΨ"]
    assert texts_of(tokenizers, [[unknown, unknown]], backwards) != ["ŽΨ"]


def test_finding_attended_words_counts_as_alignment_work(tokenizers: Tokenizers) -> None:
    owed: list[float] = []

    def slow(source: Sequence[int], target: Sequence[int]) -> Floats:
        owed.append(aligner.backlog.seconds)
        return backwards(source, target)

    aligner = aligner_of(tokenizers, slow)
    aligner.backlog.measured(1, 1)  # a second a character
    unknown = tokenizers.target.unknown_id
    assert unknown is not None
    looked_up_by(aligner, [[unknown], [unknown, unknown]])
    assert owed[0] > 200, "each of the two costs more than a hundred characters"
    assert aligner.backlog.seconds == 0


def test_unknown_words_are_copied_in_pieces_too(tokenizers: Tokenizers) -> None:
    [sentence] = take_apart("Ž {x}", "text").sentences
    [the] = tokenizers.target.encode(["The"])
    assert tokenizers.target.unknown_id is not None
    best = Hypothesis((tokenizers.target.unknown_id, *the), 0.0, FinishReason.END)

    async def search(work: Sequence[Work], *_: float) -> AsyncIterator[dict[int, Found]]:
        yield {at: Found([best]) for at in range(len(work))}

    async def at_once(work: Callable[[Check], Result], _: float) -> Result:
        return work(lambda: None)

    async def in_order(_: object, found: dict[int, Found], __: float) -> dict[int, Found]:
        return found

    searcher, unknown_words = Mock(search=search, max_sentences=10), Mock(looked_up=in_order)
    how = MagicMock(forced=lambda sentence: (sentence, ())), 60.0, at_once
    translator = SentenceTranslator(searcher, tokenizers, unknown_words, *how)
    lost = {(0, 0): Part(sentence, ("Ž {x}",), (0.0,))}
    found = asyncio.run(translator._in_pieces(lost))
    assert found[0, 0].restored().targets == ("Ž The {x}",)
