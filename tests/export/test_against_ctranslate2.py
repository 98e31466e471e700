"""The service's search, compared with an independent implementation: CTranslate2 with the same weights."""

from pathlib import Path

import pytest

from model import bundle
from model.evaluate import suppressed_ids
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.runner import OnnxModelRunner
from service.engine.types import DecodingOptions, SpecialIds
from tests import toy
from tests.bench import peer


@pytest.mark.parametrize("beam_size", [1, 2, 4])
def test_n_best_lists_equal_those_of_ctranslate2(
    tiny_bundle: Path, tmp_path: Path, beam_size: int
) -> None:
    checkpoint = bundle.load(tiny_bundle)
    tokenizer = checkpoint.vocabularies.source
    encoded = tokenizer.encode([german for german, _ in toy.sentences()[::7]])
    sources = [[tokenizer.tag_id("en"), *ids, EOS_ID] for ids in encoded]
    limit = 40

    names = peer.pieces(tokenizer.vocab_size)
    expected = peer.load(
        peer.convert(checkpoint.network(), tmp_path / "ct2"), intra_threads=1
    ).translate_batch(
        [[names[token] for token in source] for source in sources],
        beam_size=beam_size,
        num_hypotheses=beam_size,
        length_penalty=1e-9,  # with 0, it would continue until the best beam has finished
        max_decoding_length=limit,
        min_decoding_length=0,
        return_scores=True,
        suppress_sequences=[
            [names[token]] for token in suppressed_ids(checkpoint.vocabularies, checkpoint.config)
        ],
    )

    runner = OnnxModelRunner(tiny_bundle / "encoder.fp32.onnx", tiny_bundle / "decoder.fp32.onnx")
    engine = Engine([runner], SpecialIds(PAD_ID, BOS_ID, EOS_ID), EngineConfig(max_num_seqs=8))
    engine.start()
    options = DecodingOptions(limit, beam_size, num_hypotheses=beam_size, length_penalty=0.0)
    sequences = engine.submit([(source, options) for source in sources])
    found = [sequence.future.result(60) for sequence in sequences]
    engine.close()

    for ours, theirs in zip(found, expected, strict=True):
        assert [[names[token] for token in h.ids] for h in ours] == theirs.hypotheses
        assert [h.score for h in ours] == pytest.approx(theirs.scores, abs=1e-3)
