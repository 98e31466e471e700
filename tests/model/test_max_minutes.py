"""Runs with a time limit, by a clock that advances only with work."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model import checkpoint
from model.config import Config
from model.distributed import Processes
from model.optim import Optimizer, learning_rate
from model.train import train


class Clock:
    """A clock on which every update takes a minute and every validation two more."""

    def __init__(self) -> None:
        self.seconds = 1e6
        self.rates: list[float] = []

    def __call__(self) -> float:
        return self.seconds

    def wait(self, minutes: float) -> None:
        self.seconds += 60 * minutes


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock, step = Clock(), Optimizer.step

    def a_minute(self: Optimizer, learning_rate: float) -> None:
        step(self, learning_rate)
        clock.rates.append(learning_rate)
        clock.wait(1)

    def two_minutes(*_: Any) -> dict[str, float]:
        clock.wait(2)
        return {"de-en": 1.0}

    monkeypatch.setattr(Optimizer, "step", a_minute)
    monkeypatch.setattr("model.trainer.greedy_bleu", two_minutes)
    return clock


@pytest.fixture
def timed(config: Config) -> Config:
    """A limit of ten minutes: six updates and two validations; the rate falls in the second half."""
    training = replace(
        config.training, max_minutes=10.0, max_steps=100, cooldown_steps=50, validate_every=3
    )
    return replace(config, training=training)


def cooldowns(clock: Clock, config: Config) -> list[float]:
    """Return the factor of each update's learning rate."""
    warmup, factor = config.training.warmup_steps, config.training.learning_rate_factor
    return [
        rate / learning_rate(step, config.model.d_model, warmup, factor)
        for step, rate in enumerate(clock.rates, start=1)
    ]


def test_a_run_ends_in_time_after_the_learning_rate_has_cooled_down(
    timed: Config,
    corpus_folder: Path,
    tmp_path: Path,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level("INFO")
    train(timed, corpus_folder, tmp_path / "run", clock=clock)
    begun_at = [0, 1, 2, 5, 6, 7]
    assert cooldowns(clock, timed) == pytest.approx(
        [min(1, (10 - minute) / 5) for minute in begun_at]
    )
    assert checkpoint.load_run(tmp_path / "run", 1).step == 6
    assert caplog.messages[-1] == "step 6: stopping at training.max_minutes = 10"
    assert "at most 5.0 min left" in capsys.readouterr().err


def test_the_minutes_before_a_resumption_count(
    timed: Config, corpus_folder: Path, tmp_path: Path, clock: Clock
) -> None:
    first = replace(timed, training=replace(timed.training, max_minutes=1.5))
    for config in (first, timed):
        train(config, corpus_folder, tmp_path / "run", clock=clock)
        clock.wait(1000)  # between two sessions
    # after two updates, a checkpoint
    found = cooldowns(clock, timed)[2:]
    assert found == pytest.approx([min(1, (10 - minute) / 5) for minute in (2, 5, 6, 7)])
    train(timed, corpus_folder, tmp_path / "run", clock=clock)
    assert checkpoint.load_run(tmp_path / "run", 1).step == 6, "no time was left"


def test_all_processes_use_the_clock_of_the_first(
    timed: Config, corpus_folder: Path, tmp_path: Path, clock: Clock
) -> None:
    times_left = iter([1.0, 0.5, 0.1, 0.0])

    class Second(Processes):
        def sums(self, values: Sequence[float]) -> list[float]:
            *others, time_left = super().sums(values)
            assert time_left == 0.0, "only the first process reports its clock"
            return [*others, next(times_left)]

    quiet = replace(timed, training=replace(timed.training, log_every=100))
    second = Second(rank=1)
    train(quiet, corpus_folder, tmp_path / "run", processes=second, clock=clock)
    assert cooldowns(clock, timed) == pytest.approx([1, 1, 0.2])


def test_a_checkpoint_is_written_when_the_last_one_is_old_enough(
    timed: Config,
    corpus_folder: Path,
    tmp_path: Path,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    saved: list[tuple[int, float]] = []
    start, save = clock(), checkpoint.save

    def noted(run: Path, state: checkpoint.Checkpoint, *rest: Any) -> None:
        if rest[-1] == "step":
            saved.append((state.step, (clock() - start) / 60))
        save(run, state, *rest)

    monkeypatch.setattr(checkpoint, "save", noted)
    training = replace(
        timed.training, max_minutes=0.0, max_steps=8, validate_every=100, checkpoint_minutes=2.0,
        checkpoint_every=100,
    )  # fmt: skip
    train(replace(timed, training=training), corpus_folder, tmp_path / "run", clock=clock)
    # a step takes a minute, the last is followed by a validation of two
    assert saved == [(3, 3), (6, 6), (8, 10)]
