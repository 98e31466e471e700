"""Exported graphs in the engine, compared with the reference search in torch."""

import json
import math
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from service.engine import cache, packing
from service.engine.config import EngineConfig
from service.engine.cuda import CudaUnusableError
from service.engine.engine import Engine
from service.engine.runner import (
    OnnxModelRunner,
    cuda_device,
    placement_of,
    runners_for,
    states_of,
)
from service.engine.sources import DeviceSources, pad
from service.engine.types import DecodingOptions, LengthNorm, RunPlan, SpecialIds, StopRule
from service.models import bundle
from service.models.bundle import Precision

SPECIAL = SpecialIds(pad=0, bos=2, eos=3)


def _has_cuda() -> bool:
    try:
        return bool(cuda_device())
    except CudaUnusableError:
        return False


HAS_CUDA = _has_cuda()
RULES = [rule for rule in StopRule if rule is not StopRule.NARROW]
"""The stop rules that all graphs support."""


@pytest.fixture
def golden(tiny_bundle: Path) -> list[dict[str, list[int]]]:
    lines = (tiny_bundle / "golden.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def start(folder: Path, precision: Precision = "fp32", **limits: int) -> Engine:
    encoder, decoder = bundle.load(folder).graphs(precision)
    config = EngineConfig(**limits)
    engine = Engine(runners_for(config.num_workers, encoder, decoder), SPECIAL, config)
    engine.start()
    return engine


def options_for(source: list[int], beam_size: int = 4, num_hypotheses: int = 1) -> DecodingOptions:
    return DecodingOptions(len(source) - 2 + 50, beam_size, num_hypotheses)


def random_options(source: list[int], rng: random.Random) -> DecodingOptions:
    beam = rng.choice([1, 2, 4, 6])
    return DecodingOptions(
        max_decoding_length=len(source) + rng.choice([2, 20]),
        beam_size=beam,
        num_hypotheses=rng.randint(1, beam),
        length_penalty=rng.choice([0.0, 0.6, 2.0]),
        length_norm=rng.choice(list(LengthNorm)),
        min_decoding_length=rng.choice([0, 0, 2]),
        target_prefix=tuple(rng.choices(range(10, 60), k=rng.choice([0, 0, 2]))),
        no_repeat_ngram_size=rng.choice([0, 0, 1, 2]),
        stop_rule=rng.choice(RULES),
    )


def test_translations_equal_the_reference(
    tiny_bundle: Path, golden: list[dict[str, list[int]]]
) -> None:
    engine = start(tiny_bundle, max_num_seqs=5)
    sources = [line["source_ids"] for line in golden]
    sequences = engine.submit([(source, options_for(source)) for source in sources])
    found = [sequence.future.result(60)[0] for sequence in sequences]
    engine.close()
    assert [list(hypothesis.ids) for hypothesis in found] == [line["ids"] for line in golden]
    assert [h.score for h in found] == pytest.approx([line["score"] for line in golden], abs=1e-3)


@pytest.mark.parametrize("workers", [1, 2])
def test_translations_do_not_depend_on_the_rest_of_the_batch(
    tiny_bundle: Path, golden: list[dict[str, list[int]]], workers: int
) -> None:
    rng = random.Random(workers)
    sources = [line["source_ids"] for line in golden for _ in range(4)]
    work = [(source, random_options(source, rng)) for source in sources]
    alone_engine = start(tiny_bundle, max_num_seqs=1)
    alone = [sequence.future.result(60) for sequence in alone_engine.submit(work)]
    alone_engine.close()
    engine = start(tiny_bundle, num_workers=workers, max_num_seqs=8, steps_per_run=3)
    with ThreadPoolExecutor(16) as pool:  # requests that come and go as they like
        together = list(pool.map(lambda item: engine.submit([item])[0].future.result(60), work))
    engine.close()
    for one, other in zip(alone, together, strict=True):
        assert [h.ids for h in one] == [h.ids for h in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-4)


def test_int8_agrees_with_the_reference_up_to_rounding(
    tiny_bundle: Path, golden: list[dict[str, list[int]]]
) -> None:
    engine = start(tiny_bundle, "int8")
    sequences = engine.submit(
        [(line["source_ids"], options_for(line["source_ids"])) for line in golden]
    )
    found = [list(sequence.future.result(60)[0].ids) for sequence in sequences]
    engine.close()
    equal = sum(ids == line["ids"] for ids, line in zip(found, golden, strict=True))
    assert equal >= 0.9 * len(golden)


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device")
def test_translations_on_cuda_equal_the_reference(
    tiny_bundle: Path, golden: list[dict[str, list[int]]]
) -> None:
    runner = OnnxModelRunner(*bundle.load(tiny_bundle).graphs("fp32"), device="cuda")
    assert runner.placement.provider == "CUDAExecutionProvider"
    engine = Engine([runner], SPECIAL, EngineConfig(max_num_seqs=8))
    engine.start()
    sequences = engine.submit(
        [(line["source_ids"], options_for(line["source_ids"])) for line in golden]
    )
    found = [list(sequence.future.result(60)[0].ids) for sequence in sequences]
    engine.close()
    assert found == [line["ids"] for line in golden]


class OnDevice(OnnxModelRunner):
    """Binds the sources to memory of ONNX Runtime, as on a GPU, but to that of the process."""

    def new_sources(self, pad_id: int) -> DeviceSources:
        return DeviceSources(self._encode_into, self._allocate, pad_id)


@pytest.mark.parametrize("keys_multiple", [1, 4])
def test_translations_from_sources_on_a_device_equal_the_reference(
    tiny_bundle: Path, golden: list[dict[str, list[int]]], keys_multiple: int
) -> None:
    runner = OnDevice(*bundle.load(tiny_bundle).graphs("fp32"))
    engine = Engine([runner], SPECIAL, EngineConfig(max_num_seqs=5, keys_multiple=keys_multiple))
    engine.start()
    sources = [line["source_ids"] for line in golden]
    sequences = engine.submit([(source, options_for(source)) for source in sources])
    found = [list(sequence.future.result(60)[0].ids) for sequence in sequences]
    engine.close()
    assert found == [line["ids"] for line in golden]


def test_a_model_in_fp16_translates_without_invalid_values() -> None:
    """The mask of -1e9 becomes -inf, and a row that is masked as a whole would be NaN."""
    default = bundle.load(bundle.DEFAULT_BUNDLE)
    tokens = default.manifest.special_tokens
    special = SpecialIds(tokens.pad, tokens.bos, tokens.eos, default.manifest.vocab_size)
    lines = default.read_text("golden.jsonl").splitlines()[:12]
    sources = [json.loads(line)["source_ids"] for line in lines]
    ids = []
    for precision in ("fp32", "fp16"):
        if precision not in default.manifest.graphs:
            continue
        engine = Engine([OnDevice(*default.graphs(precision))], special, EngineConfig())
        engine.start()
        work = [
            (source, options_for(source, beam_size))
            for source in sources
            for beam_size in (1, 3, 4)
        ]
        sequences = engine.submit(work)
        hypotheses = [sequence.future.result(60)[0] for sequence in sequences]
        engine.close()
        assert all(math.isfinite(hypothesis.score) for hypothesis in hypotheses)
        ids.append([hypothesis.ids for hypothesis in hypotheses])


def test_the_nodes_on_a_device_are_counted_and_costly_ones_must_be_there(
    tiny_bundle: Path,
) -> None:
    """A CPU session stands for one whose nodes run elsewhere."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    _, decoder = bundle.load(tiny_bundle).graphs("fp32")
    session = onnxruntime.InferenceSession(decoder, options, providers=["CPUExecutionProvider"])
    placement = placement_of([session, session], "CPUExecutionProvider", "a processor")
    assert placement.share_on_device == 1
    assert "a processor" in str(placement)
    with pytest.raises(RuntimeError, match=r"would run on the CPU: .*\d+ Attention.*\d+ MatMul"):
        placement_of([session], "CUDAExecutionProvider", "NVIDIA L4")


def test_graphs_of_different_networks_are_refused(tiny_bundle: Path, tmp_path: Path) -> None:
    _, decoder = bundle.load(tiny_bundle).graphs("fp32")
    with pytest.raises(RuntimeError, match="do not belong to the same network"):
        OnnxModelRunner(decoder, decoder)


def test_an_invalid_graph_is_refused(tiny_bundle: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no graph")
    with pytest.raises(Exception, match=r"broken\.onnx"):
        OnnxModelRunner(broken, bundle.load(tiny_bundle).graphs("fp32")[1])


def test_cuda_without_a_device_is_an_error(tiny_bundle: Path) -> None:
    if HAS_CUDA:
        pytest.skip("a CUDA device is here")
    encoder, decoder = bundle.load(tiny_bundle).graphs("fp32")
    with pytest.raises(CudaUnusableError):
        OnnxModelRunner(encoder, decoder, device="cuda")


def test_a_graph_without_the_narrow_rule_refuses_it(tiny_bundle: Path) -> None:
    encoder, decoder = bundle.load(tiny_bundle).graphs("fp32")
    runner = OnnxModelRunner(encoder, decoder)
    ids, bias = pad([[4, 10, 3]], 0)
    options = DecodingOptions(9, stop_rule=StopRule.NARROW)
    state = cache.admit(cache.empty_state(), [options], [0], [3], bos_id=2)
    with pytest.raises(ValueError, match="does not support the stop rule narrow"):
        packing.decode(
            runner, state, None, runner.encode(ids, bias), RunPlan(1, 1, np.zeros((0, 3), np.int64))
        )


def test_each_beam_gets_its_own_recurrent_state() -> None:
    before = np.array([[10, 11, 12], [20, 21, 22], [30, 31, 32]]).ravel()  # by row and beam
    place = np.array([2, 0])
    assert before[states_of(place, 2, 3)].tolist() == [[30, 31], [10, 11]]
    wider = before[states_of(place, 4, 3)]  # the fourth beam is dead, and may have any
    assert wider[:, :3].tolist() == [[30, 31, 32], [10, 11, 12]]
    assert set(wider[:, 3].tolist()) <= set(before.tolist())


def test_runners_share_a_scorer_that_may_be_used_concurrently(
    tiny_bundle: Path, golden: list[dict[str, list[int]]]
) -> None:
    loaded = bundle.load(tiny_bundle)
    runners = runners_for(3, *loaded.graphs("int8"), scorer=loaded.scorer)
    assert len({id(runner.scorer) for runner in runners}) == 1

    def judged(runner: OnnxModelRunner) -> list[float]:
        """Return scores divided by the length penalty."""
        found = []
        for line in golden[:8]:
            target = np.array([[2, *line["ids"], 3]])
            [log_prob] = runner.score(*pad([line["source_ids"]], 0), target)
            found.append(float(log_prob) / ((5 + len(line["ids"]) + 1) / 6) ** 0.6)
        return found

    alone = judged(runners[0])
    assert alone == pytest.approx([line["score"] for line in golden[:8]], abs=0.25)
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(judged, runners)) == [alone] * 3
