"""The graphs, compared with the network: each step's probabilities, each search, alone and batched."""

import itertools
import random
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from export.decoder import build_decoder
from export.encoder import build_encoder
from export.graph import GraphBuilder, Precision
from export.quantize import calibrate
from model import bundle
from model.checkpoint import Checkpoint
from model.config import ModelConfig
from model.data.batches import Batch
from model.evaluate import suppressed_ids
from model.search import SearchOptions, beam_search, next_log_probs
from model.tokenizer import BOS_ID, EOS_ID
from model.transformer import Transformer
from service.engine import cache, packing, types
from service.engine.beam import BeamSearch
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.runner import OnnxModelRunner
from service.engine.sources import pad
from service.engine.types import DecodingOptions, RunPlan, SpecialIds, StopRule
from tests import toy
from tests.conftest import TINY_BUNDLE

SPECIAL = SpecialIds(pad=0, bos=BOS_ID, eos=EOS_ID)
SUPPRESSED = (0, 2)
DEFAULT_BUNDLE = Path(types.__file__).parents[1] / "default_bundle"
NO_BANS = np.zeros((0, 3), np.int64)
GREEDY = DecodingOptions(max_decoding_length=99, beam_size=1)


def export(network: Transformer, folder: Path, precision: Precision = "fp32") -> OnnxModelRunner:
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    ids = torch.randint(4, network.config.vocab_size, (8, 12))
    ranges = calibrate(network, [Batch(ids, ids, ids)])
    encoder = build_encoder(GraphBuilder(precision, weights, ranges), network.config)
    body = GraphBuilder(precision, weights, ranges, prefix="step.")
    decoder = build_decoder(
        GraphBuilder(precision, weights, ranges), body, network.config, SUPPRESSED
    )
    onnx.save(encoder, folder / "encoder.onnx")
    onnx.save(decoder, folder / "decoder.onnx")
    return OnnxModelRunner(folder / "encoder.onnx", folder / "decoder.onnx")


@pytest.fixture
def network(request: pytest.FixtureRequest) -> Transformer:
    """A random network with embeddings so large that it does not repeat one token."""
    torch.manual_seed(11)
    sizes = ModelConfig(40, 32, 48, 4, 2, 2, dropout=0.0, max_positions=64)
    network = Transformer(replace(sizes, **getattr(request, "param", {})), 0).eval()
    torch.nn.init.normal_(network.embedding.weight, std=0.6)
    if network.config.positions == "stored":
        for positions in (network.source_positions, network.target_positions):
            torch.nn.init.normal_(positions.table)
    if network.config.projection_bias:
        torch.nn.init.normal_(network.projection_bias)
    return network


def sources_of(count: int, vocab_size: int = 40) -> list[list[int]]:
    rng = random.Random(count)
    return [
        [*(rng.randrange(4, vocab_size) for _ in range(rng.randint(1, 14))), EOS_ID]
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("precision", "tolerance"),
    [("fp32", 1e-4), ("fp16", 0.05), ("int8", 0.7)],
)
@pytest.mark.parametrize(
    "network",
    [
        {},
        {"norm": "pre", "activation": "gelu", "embeddings": "target"},
        {"norm": "post", "activation": "silu", "embeddings": "separate"},
        {"position_layout": "halves", "position_exponent": "inclusive", "position_offset": 2},
        {"scaled_embeddings": False, "projection_bias": True},
        {"activation": "gelu_tanh", "layer_norm_epsilon": 0.3, "positions": "stored"},
        {"norm": "pre", "normed_keys": False, "layer_norm_epsilon": 0.1},
        {"final_norm": "always", "activation": "gelu_sigmoid"},
        {"decoder_cell": "ssru"},
    ],
    indirect=True,
    ids=[
        *("post-relu-shared", "pre-gelu-target", "post-silu-separate", "positions", "bias"),
        *("stored", "unnormed-keys", "final-norm", "ssru"),
    ],
)
def test_cached_decoding_equals_full_decoding(
    network: Transformer, tmp_path: Path, precision: Precision, tolerance: float
) -> None:
    """Compare greedy steps with the cache to a full forward pass: each step's best log-probabilities."""
    runner = export(network, tmp_path, precision)
    sources = sources_of(5)
    ids, bias = pad(sources, 0)
    cross = runner.encode(ids, bias)
    lengths = [len(source) for source in sources]
    state = cache.admit(cache.empty_state(), [GREEDY] * 5, range(5), lengths, BOS_ID)
    caches = None
    prefixes: list[list[int]] = [[BOS_ID] for _ in sources]
    for _ in range(6):
        cum_log_probs = state.cum_log_probs.copy()
        run = packing.decode(runner, state, caches, cross, RunPlan(2, 6, NO_BANS))
        for step in range(2):
            for row, source in enumerate(sources):
                logits = network(torch.tensor([source]), torch.tensor([prefixes[row]]))[0, -1]
                logits[list(SUPPRESSED)] = -torch.inf
                expected = logits.log_softmax(-1)[run.tokens[step, row]].tolist()
                found = (run.scores[step, row] - cum_log_probs[row, 0]).tolist()
                assert found == pytest.approx(expected, abs=tolerance)
                chosen = next(t for t in run.tokens[step, row].tolist() if t != EOS_ID)
                place = run.tokens[step, row].tolist().index(chosen)
                cum_log_probs[row, 0] = run.scores[step, row, place]
                prefixes[row].append(chosen)
        state, caches = cache.retire(run.state, range(5)), run.caches
        assert state.ids[:, 0].tolist() == [prefix[-1] for prefix in prefixes]


def check_against_reference(
    network: Transformer,
    engine: Engine,
    sources: list[list[int]],
    suppressed: tuple[int, ...],
    seed: int,
) -> None:
    """Search with random options and arrivals; every n-best list must equal the reference's."""
    rng = random.Random(seed)
    work = []
    for source in sources:
        beam = rng.choice([1, 2, 3, 4, 5])
        limit = rng.choice([4, 9, len(source) + 20])
        asked = SearchOptions(
            beam_size=beam,
            max_length=limit,
            alpha=rng.choice([0.0, 0.6, 1.0]),
            suppressed=suppressed,
            min_length=rng.choice([0, 0, 3]),
            prefix=rng.choices(range(4, 40), k=rng.choice([0, 0, 2, 3])),
            no_repeat_ngram_size=rng.choice([0, 0, 1, 2]),
            **rng.choice([{}, {"stop_at_bound": beam}, {"stop_when_behind": beam}]),
        )
        options = DecodingOptions(
            max_decoding_length=limit,
            beam_size=beam,
            num_hypotheses=beam,
            length_penalty=asked.alpha,
            min_decoding_length=asked.min_length,
            target_prefix=tuple(asked.prefix),
            no_repeat_ngram_size=asked.no_repeat_ngram_size,
            stop_rule=StopRule.BOUND
            if asked.stop_at_bound
            else StopRule.LIKELY
            if asked.stop_when_behind
            else StopRule.FIRST,
        )
        work.append((source, options, asked))
    sequences = []
    for source, options, _ in work:
        sequences += engine.submit([(source, options)])
        time.sleep(rng.choice([0, 0, 0.003]))
    for (source, options, asked), sequence in zip(work, sequences, strict=True):
        found = sequence.future.result(60)
        expected = beam_search(network, source, asked)[: options.beam_size]
        assert [h.ids for h in found] == [h.ids for h in expected]
        assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-3)


@pytest.mark.parametrize(
    "network",
    [
        {},
        *(
            pytest.param(variant, marks=pytest.mark.slow)
            for variant in (
                {"forbidden_ids": (1, 7), "projection_bias": True},
                {"decoder_cell": "ssru"},
            )
        ),
    ],
    indirect=True,
    ids=["plain", "forbidden", "ssru"],
)
@pytest.mark.parametrize(
    "config", [EngineConfig(max_num_seqs=1), EngineConfig(num_workers=2, max_num_seqs=6)]
)
def test_the_engine_finds_the_n_best_lists_of_the_reference_search(
    network: Transformer, tmp_path: Path, config: EngineConfig
) -> None:
    engine = Engine([export(network, tmp_path)], SPECIAL, config)
    engine.start()
    try:
        check_against_reference(
            network, engine, sources_of(40), SUPPRESSED, seed=config.max_num_seqs
        )
    finally:
        engine.close()


def test_forbidding_tokens_leaves_the_probabilities_of_others_unchanged(
    network: Transformer,
) -> None:
    forbidding = Transformer(replace(network.config, forbidden_ids=(4, 9)), 0).eval()
    forbidding.load_state_dict(network.state_dict())
    source, prefix = torch.tensor([[5, 6, EOS_ID]]), torch.tensor([[BOS_ID, 7]])
    free, found = (
        next_log_probs(one, one.encode(source), source, prefix, torch.zeros(40))[0]
        for one in (network, forbidding)
    )
    others = [id for id in range(40) if id not in (4, 9)]
    torch.testing.assert_close(found[others], free[others])
    assert found[[4, 9]].tolist() == [-np.inf, -np.inf]


def test_rebuilt_graphs_have_the_operators_of_the_published_bundle(tmp_path: Path) -> None:
    """Rebuild the graphs from the published fp16 weights; compare operators, inputs and outputs."""
    published = bundle.load(DEFAULT_BUNDLE)
    weights = {name: tensor.numpy() for name, tensor in published.network().state_dict().items()}
    sizes, never = published.config.model, suppressed_ids(published.vocabularies, published.config)
    body = GraphBuilder("fp16", weights, prefix="step.")
    onnx.save(build_encoder(GraphBuilder("fp16", weights), sizes), tmp_path / "encoder.fp16.onnx")
    decoder = build_decoder(GraphBuilder("fp16", weights), body, sizes, never)
    onnx.save(decoder, tmp_path / "decoder.fp16.onnx")
    for path in tmp_path.iterdir():
        anew, known = (
            onnx.load(folder / path.name, load_external_data=False).graph
            for folder in (tmp_path, DEFAULT_BUNDLE)
        )
        assert operators(anew) == operators(known), path.name
        for part in ("input", "output"):
            assert getattr(anew, part) == getattr(known, part), f"{path.name}: {part}"


def operators(graph: onnx.GraphProto) -> list[object]:
    """Return the kinds of operators in order, those of subgraphs in nested lists."""
    found: list[object] = []
    for node in graph.node:
        found.append(node.op_type)
        found += [operators(one.g) for one in node.attribute if one.HasField("g")]
    return found


def test_the_engine_finds_the_n_best_lists_of_the_reference_search_on_trained_weights(
    checkpoint: Checkpoint,
) -> None:
    tokenizer = checkpoint.vocabularies.source
    tag = tokenizer.tag_id("en")
    encoded = tokenizer.encode([german for german, _ in toy.sentences()[::12]])
    runner = OnnxModelRunner(TINY_BUNDLE / "encoder.fp32.onnx", TINY_BUNDLE / "decoder.fp32.onnx")
    engine = Engine([runner], SPECIAL, EngineConfig(num_workers=2, max_num_seqs=8, steps_per_run=5))
    engine.start()
    try:
        check_against_reference(
            checkpoint.network(),
            engine,
            [[tag, *ids, EOS_ID] for ids in encoded],
            suppressed_ids(checkpoint.vocabularies, checkpoint.config),
            seed=0,
        )
    finally:
        engine.close()


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_padding_changes_no_translation_even_with_extreme_attention_scores(
    network: Transformer, tmp_path: Path, precision: Precision
) -> None:
    """Search a short sentence in a batch with a long one, with attention scores in the thousands."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if ".w_q." in name or ".w_k." in name:
                parameter.mul_(100)
    engine = Engine([export(network, tmp_path, precision)], SPECIAL, EngineConfig(max_num_seqs=8))
    engine.start()
    options = DecodingOptions(max_decoding_length=12, beam_size=3, num_hypotheses=3)
    short, long = sources_of(40)[:20], [5] * 40 + [EOS_ID]
    try:
        for source in short:
            alone = engine.submit([(source, options)])[0].future.result(60)
            beside = engine.submit([(source, options), (long, options)])[0].future.result(60)
            assert [h.ids for h in beside] == [h.ids for h in alone]
            assert [h.score for h in beside] == pytest.approx([h.score for h in alone], abs=1e-3)
    finally:
        engine.close()


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
def test_a_run_ends_at_the_step_at_which_the_search_is_done(
    checkpoint: Checkpoint, alpha: float
) -> None:
    tokenizer = checkpoint.vocabularies.source
    runner = OnnxModelRunner(TINY_BUNDLE / "encoder.fp32.onnx", TINY_BUNDLE / "decoder.fp32.onnx")
    tag, ended_early = tokenizer.tag_id("en"), 0
    encoded = tokenizer.encode([german for german, _ in toy.sentences()[::40]])
    for rule, ids in itertools.product((StopRule.FIRST, StopRule.LIKELY), encoded):
        source = [tag, *ids, EOS_ID]
        options = DecodingOptions(40, beam_size=3, length_penalty=alpha, stop_rule=rule)
        search = BeamSearch(options, EOS_ID)
        padded, bias = pad([source], 0)
        state = cache.admit(cache.empty_state(), [options], [0], [len(source)], BOS_ID)
        cross = runner.encode(padded, bias)
        run = packing.decode(runner, state, None, cross, RunPlan(40, 1, NO_BANS))
        for step, candidates in enumerate(zip(run.scores, run.tokens, run.parents, strict=True)):
            assert not search.is_done, f"{rule}: done before step {step} of {len(run.scores)}"
            search.advance(*(part[0].tolist() for part in candidates))
        assert search.is_done
        ended_early += len(run.scores) < 40
    assert ended_early >= len(encoded)
