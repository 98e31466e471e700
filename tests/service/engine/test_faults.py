"""Graphs that fail or return invalid values: which sentences fail, and that no future is left pending."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from service import errors
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.model_runner import PackedRun
from service.engine.types import DecodingOptions, DecodingSequence, Floats, Ints, SpecialIds
from tests.fakes import SPECIAL, EchoRunner, Faults, echo_of, echo_source, sources_of
from tests.waiting import wait_until

VOCAB_SIZE = 200
IDS = SpecialIds(SPECIAL.pad, SPECIAL.bos, SPECIAL.eos, VOCAB_SIZE)
GREEDY = DecodingOptions(max_decoding_length=60, beam_size=1)
POISON = 77
Harm = Callable[[PackedRun, int], object]


class FaultyRunner(EchoRunner):
    """Echoes, but applies `harm` to each row whose source contains the poison."""

    def __init__(self, harm: Harm = lambda *_: None) -> None:
        super().__init__()
        self.harm = harm
        self.harms_all = False
        self.calls: list[str] = []

    def decode(self, *run: Any) -> PackedRun:
        self.calls.append("decode")
        state, _, cross, _ = run
        found = super().decode(*run)
        for row, source in enumerate(sources_of(state, cross)):
            if self.harms_all or POISON in source:
                self.harm(found, row)
        return found


@contextmanager
def running(
    runner: EchoRunner,
    config: EngineConfig | None = None,
    clock: Callable[[], float] = lambda: 0.0,
    faults: Faults | None = None,
) -> Iterator[Engine]:
    config = config or EngineConfig(max_num_seqs=4)
    engine = Engine([runner], IDS, config, clock=clock, on_fault=faults or Faults())
    engine.start()
    try:
        yield engine
    finally:
        runner.hold.set()
        assert engine.close()


def outcome(sequence: DecodingSequence) -> object:
    """Wait for a sentence's result or error."""
    error = sequence.future.exception(60)
    return type(error) if error else sequence.future.result()[0].ids


def set_at(name: str, value: float) -> Harm:
    """Return a function that writes a value into a row of a run's candidates."""

    def harm(run: PackedRun, row: int) -> None:
        getattr(run, name)[:, row] = value

    return harm


def harm_state(name: str, value: float) -> Harm:
    def harm(run: PackedRun, row: int) -> None:
        array = getattr(run, name).copy()
        array[row] = value
        setattr(run, name, array)

    return harm


HARMS: dict[str, Harm] = {
    "a score is NaN": set_at("scores", np.nan),
    "a score is infinite": set_at("scores", np.inf),
    "a token is outside the vocabulary": set_at("tokens", VOCAB_SIZE),
    "a token is negative": set_at("tokens", -1),
    "a parent is no beam": set_at("parents", 1),
    "a parent is negative": set_at("parents", -1),
    "a beam's total is NaN": harm_state("cum_log_probs", np.nan),
    "a beam's token is outside the vocabulary": harm_state("ids", VOCAB_SIZE),
    "all candidates end": set_at("tokens", SPECIAL.eos),
}


def assert_that_harm_to_all_ends(engine: Engine, runner: FaultyRunner) -> None:
    """Check that waiting sentences fail after three steps in which all sentences failed."""
    runner.harms_all = True
    sequences = engine.submit([(echo_source(9), GREEDY)] * 6)
    found = [outcome(sequence) for sequence in sequences]
    assert found == [errors.StepFailedError] * 3 + [errors.EngineDeadError] * 3


def assert_that_poison_fails_alone(engine: Engine, runner: FaultyRunner, faults: Faults) -> None:
    """Check that a poisoned sentence fails and others do not; `runner` must be on hold before."""
    sources = [echo_source(30), [1, POISON, *echo_source(29)[1:]], echo_source(20, first=110)]
    sequences = engine.submit([(source, GREEDY) for source in sources])
    runner.hold.set()
    assert [outcome(sequence) for sequence in sequences] == [
        echo_of(sources[0]),
        errors.StepFailedError,
        echo_of(sources[2]),
    ]
    assert engine.is_alive
    assert faults.counts == {"sentence": 1}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS.keys())
def test_invalid_values_fail_only_their_own_sentence(harm: Harm) -> None:
    runner, faults = FaultyRunner(harm), Faults()
    runner.hold.clear()
    with running(runner, faults=faults) as engine:
        assert_that_poison_fails_alone(engine, runner, faults)
        assert engine.drain(10)
        assert [engine.num_waiting, engine.num_running] == [0, 0]


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS.keys())
def test_invalid_values_in_every_row_stop_the_engine(harm: Harm) -> None:
    runner, faults = FaultyRunner(harm), Faults()
    config = EngineConfig(max_num_seqs=1, max_failures=3)
    with running(runner, config, faults=faults) as engine:
        [good] = engine.submit([(echo_source(5), GREEDY)])
        assert outcome(good) == echo_of(echo_source(5))
        assert_that_harm_to_all_ends(engine, runner)
        assert not engine.check()
        assert engine.failure == "3 steps failed, and a known sentence fails, too"
        assert faults.counts == {"step": 3}


class LateRunner(FaultyRunner):
    """Its scores are NaN from the fourth position of a translation on, with poison or always."""

    def decode(self, *run: Any) -> PackedRun:
        state, _, cross, _ = run
        found = EchoRunner.decode(self, *run)
        for row, source in enumerate(sources_of(state, cross)):
            if self.harms_all or POISON in source:
                found.scores[max(0, 3 - state.rows["position"][row]) :, row] = np.nan
        return found


@pytest.mark.parametrize("neighbours", [0, 1, 3])
def test_an_engine_that_fails_with_all_but_short_sentences_stops(neighbours: int) -> None:
    runner, faults = LateRunner(), Faults()
    config = EngineConfig(max_num_seqs=4, max_failures=3)
    with running(runner, config, faults=faults) as engine:
        [good] = engine.submit([(echo_source(9), GREEDY)])
        assert outcome(good) == echo_of(echo_source(9))
        runner.harms_all = True
        found: list[object] = []
        while errors.EngineDeadError not in found and len(found) < 100:
            short = [(echo_source(2), GREEDY)] * neighbours
            try:
                found += map(outcome, engine.submit([(echo_source(30), GREEDY), *short]))
            except errors.EngineDeadError:
                break
        assert found.count(errors.StepFailedError) == 3
        assert echo_of(echo_source(2)) in found or not neighbours
        assert not engine.check()
        assert engine.failure == "3 steps failed, and a known sentence fails, too"


def test_no_sentence_that_fails_late_can_stop_a_working_engine() -> None:
    runner, faults = LateRunner(), Faults()
    config = EngineConfig(max_num_seqs=4, max_failures=3)
    poisoned = [1, POISON, *echo_source(20)[1:]]
    with running(runner, config, faults=faults) as engine:
        for number in range(12):
            others = [echo_source(9), echo_source(30), echo_source(2)][: number % 4]
            sequences = engine.submit([(source, GREEDY) for source in [*others, poisoned]])
            found = [outcome(sequence) for sequence in sequences]
            assert found == [*map(echo_of, others), errors.StepFailedError]
        assert engine.check()


def raising(error: BaseException) -> Harm:
    def harm(run: PackedRun, row: int) -> None:
        raise error

    return harm


def misshapen(run: PackedRun, row: int) -> None:
    run.tokens = run.tokens[:, :, :1]


def too_few_rows(run: PackedRun, row: int) -> None:
    run.scores = run.scores[:, :0]


@pytest.mark.parametrize(
    "harm",
    [raising(RuntimeError("/srv/models/x")), misshapen, too_few_rows, *HARMS.values()],
)
def test_no_input_can_stop_a_working_engine(harm: Harm, caplog: pytest.LogCaptureFixture) -> None:
    runner, faults = FaultyRunner(harm), Faults()
    config = EngineConfig(max_num_seqs=1, max_failures=3)
    with running(runner, config, faults=faults) as engine:
        [good] = engine.submit([(echo_source(5), GREEDY)])
        assert outcome(good) == echo_of(echo_source(5))
        poisoned = engine.submit([([1, POISON, 3], GREEDY)] * 10)
        assert {outcome(sequence) for sequence in poisoned} == {errors.StepFailedError}
        assert "srv" not in str(poisoned[0].future.exception())
        [good] = engine.submit([(echo_source(7), GREEDY)])
        assert outcome(good) == echo_of(echo_source(7))
        assert engine.check()
        assert faults.counts == {"step": 10}
    assert caplog.text.count("their sentences were at fault") == 3


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
def test_a_base_exception_stops_the_engine_and_fails_all_futures(
    error: BaseException,
) -> None:
    runner = FaultyRunner(raising(error))
    runner.hold.clear()
    now = 0.0
    with running(runner, EngineConfig(max_num_seqs=1), clock=lambda: now) as engine:
        sequences = engine.submit([([1, POISON, 3], GREEDY)] * 3)
        late = engine.submit([(echo_source(3), GREEDY)], deadline=1.0)
        now = 2.0
        runner.hold.set()
        assert outcome(sequences[0]) in (errors.StepFailedError, errors.EngineDeadError)
        assert {outcome(one) for one in sequences[1:] + late} <= {
            errors.EngineDeadError,
            errors.DeadlineExceededError,
        }
        wait_until(lambda: not engine.is_alive)
        assert type(error).__name__ in str(engine.failure)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_invalid_channel_scores_keep_the_order(value: float) -> None:
    class Judge(EchoRunner):
        def score(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
            return np.full(len(source_ids), value, np.float32)

    plain = DecodingOptions(max_decoding_length=5, beam_size=2, num_hypotheses=2)
    judged = DecodingOptions(
        max_decoding_length=5, beam_size=2, num_hypotheses=2, channel_tag=1, length_penalty=9.0
    )
    faults = Faults()
    with running(Judge(), faults=faults) as engine:
        both = engine.submit([(echo_source(9), plain), (echo_source(9), judged)])
        ids = [[one.ids for one in sequence.future.result(60)] for sequence in both]
    assert ids[0] == ids[1]
    assert faults.counts == {"rerank": 1}


JUDGED = DecodingOptions(max_decoding_length=5, beam_size=2, channel_tag=1)


class FailingJudge(FaultyRunner):
    """Its scorer fails on poison, or always."""

    def score(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
        if self.harms_all or POISON in target_ids:
            raise RuntimeError("no scores today")
        return super().score(source_ids, source_bias, target_ids)


def test_a_scorer_failure_on_one_sentence_fails_only_that_sentence() -> None:
    runner, faults = FailingJudge(), Faults()
    runner.hold.clear()
    with running(runner, EngineConfig(max_num_seqs=4, max_failures=3), faults=faults) as engine:
        poisoned, others = [1, POISON, *echo_source(9)[1:]], [echo_source(9), echo_source(30)]
        sequences = engine.submit([(others[0], JUDGED), (poisoned, JUDGED), (others[1], GREEDY)])
        runner.hold.set()
        assert [outcome(sequence) for sequence in sequences] == [
            echo_of(others[0])[:5],
            errors.StepFailedError,
            echo_of(others[1]),
        ]
        assert faults.counts == {"sentence": 1}
        attack = engine.submit([(poisoned, JUDGED)] * 10)
        assert {outcome(sequence) for sequence in attack} == {errors.StepFailedError}
        [good] = engine.submit([(others[0], JUDGED)])
        assert outcome(good) == echo_of(others[0])[:5]
        assert engine.check()


@pytest.mark.parametrize("canary", [GREEDY, JUDGED], ids=["not judged", "judged"])
def test_a_scorer_that_always_fails_stops_the_engine(
    canary: DecodingOptions,
) -> None:
    runner, faults = FailingJudge(), Faults()
    config = EngineConfig(max_num_seqs=1, max_failures=3)
    with running(runner, config, faults=faults) as engine:
        [good] = engine.submit([(echo_source(5), canary)])
        assert outcome(good) == echo_of(echo_source(5))
        runner.harms_all = True
        for _ in range(2):
            one, another = engine.submit([(echo_source(9), JUDGED), (echo_source(8), GREEDY)])
            assert outcome(one) is errors.StepFailedError
            assert outcome(another) == echo_of(echo_source(8)), "it asks for no judgement"
        found = [outcome(one) for one in engine.submit([(echo_source(9), JUDGED)] * 4)]
        assert found == [errors.StepFailedError] + [errors.EngineDeadError] * 3
        assert not engine.check()
        assert engine.failure == "3 runs of the scorer failed, and a known sentence fails, too"
        assert faults.counts == {"sentence": 3}


class BlindRunner(FaultyRunner):
    """Its encoder returns NaN for poison, or always."""

    def __init__(self) -> None:
        super().__init__(lambda *_: None)

    def encode(self, source_ids: Ints, source_bias: Floats) -> list[NDArray[np.floating]]:
        encoded = super().encode(source_ids, source_bias)
        for row, ids in enumerate(source_ids):
            if self.harms_all or POISON in ids:
                encoded[0][row] = np.nan
        return encoded


def test_invalid_encoder_values_fail_only_their_own_sentence() -> None:
    runner, faults = BlindRunner(), Faults()
    runner.hold.clear()
    with running(runner, faults=faults) as engine:
        assert_that_poison_fails_alone(engine, runner, faults)


def test_an_encoder_that_always_returns_invalid_values_stops_the_engine() -> None:
    runner = BlindRunner()
    with running(runner, EngineConfig(max_num_seqs=1, max_failures=3)) as engine:
        [good] = engine.submit([(echo_source(5), GREEDY)])
        assert outcome(good) == echo_of(echo_source(5))
        assert_that_harm_to_all_ends(engine, runner)
