"""Measurements of both sides in turn, as medians. Ratios above 1 mean that the service is faster."""

import math
import statistics
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from tests.bench.models import MAX_LENGTH, BenchModel, ModelName, Precision
from tests.bench.systems import NBest, Ours, Peer, Remote

Row = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """The extent of the measurements."""

    cores: int
    quick: bool
    only_alone: bool = False
    """Whether single sentences are the only fixed batches."""

    @property
    def rounds(self) -> int:
        """How many times both sides are measured."""
        return 2 if self.quick else 3

    def online_seconds(self, capacity: float) -> float:
        """Return the length of a stream of arrivals, which is longer for a lower capacity in sentences/s."""
        return min(6.0, max(4.0, 1000 / capacity))

    @property
    def online_rounds(self) -> int:
        """How many streams both sides get in turn for a ratio."""
        return 1 if self.quick else 3

    def sentences(self, name: ModelName) -> int:
        """Return the number of sentences for fixed batches, which is smaller for slow models."""
        return 8 if self.quick or name == "base" else 24

    @property
    def batches(self) -> tuple[tuple[int, int], ...]:
        """The sizes and numbers of beams of fixed batches."""
        if self.only_alone:
            return ((1, 4),)
        return ((1, 4), (32, 4)) if self.quick else ((1, 4), (8, 4), (32, 4), (1, 1), (32, 1))


@dataclass
class Results:
    """All measurements, by table."""

    machine: str
    command: str
    offline: list[Row] = field(default_factory=list)
    batches: list[Row] = field(default_factory=list)
    online: list[Row] = field(default_factory=list)
    http: list[Row] = field(default_factory=list)
    kernels: list[Row] = field(default_factory=list)
    memory: list[Row] = field(default_factory=list)
    ratios: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)


def in_turn(rounds: int, *calls: Callable[[], float]) -> list[float]:
    """Return the median seconds of each call over rounds of all calls, which must be warm."""
    seconds = [[call() for call in calls] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*seconds, strict=True)]


def best_peer_setting(remotes: dict[str, Remote], sources: list[Any]) -> tuple[str, int]:
    """Find the threads and the batch size with which CTranslate2 is fastest on all sources at once."""
    sample = sources[: max(8, len(sources) // 10)]
    seconds_by_threads = {
        name: remote.timed("translate", sample, 4)[0] for name, remote in remotes.items()
    }
    seconds_by_setting = {
        (name, size): remotes[name].timed("translate", sources, 4, size)[0]
        for name in remotes
        if seconds_by_threads[name] < 2 * min(seconds_by_threads.values())
        for size in (16, 32, 64)
    }
    return min(seconds_by_setting, key=seconds_by_setting.__getitem__)


def offline(model: BenchModel, precision: Precision, effort: Effort, results: Results) -> float:
    """Measure all sentences at once and fixed batches; return CTranslate2's capacity in sentences/s."""
    with ExitStack() as stack:
        ours = stack.enter_context(Remote(Ours, model, precision, effort.cores))
        peers = {
            f"{inter} x {intra}": stack.enter_context(Remote(Peer, model, precision, inter, intra))
            for inter, intra in {(effort.cores, 1), (1, effort.cores)}
        }
        if precision == "fp32":
            _check_equal(model, ours, next(iter(peers.values())), results)
        threads, size = best_peer_setting(peers, model.sources[: len(model.sources) // 3])
        best = peers[threads]
        translations = ours.call("translate", model.sources, 4)
        peer_translations = best.call("translate", model.sources, 4, size)
        ours.timed("translate_likely", model.sources[:32])
        our_seconds, their_seconds, likely_seconds = in_turn(
            effort.rounds,
            lambda: ours.timed("translate", model.sources, 4)[0],
            lambda: best.timed("translate", model.sources, 4, size)[0],
            lambda: ours.timed("translate_likely", model.sources)[0],
        )
        count = len(model.sources)
        results.offline.append(
            {
                "model": model.name,
                "precision": precision,
                "sentences": count,
                "mean target": round(statistics.mean(map(len, translations)), 1),
                "ours, sentences/s": round(count / our_seconds, 1),
                "ours, stop rule `likely`": round(count / likely_seconds, 1),
                "CTranslate2, sentences/s": round(count / their_seconds, 1),
                "its mean target": round(statistics.mean(map(len, peer_translations)), 1),
                "CTranslate2's best": f"{threads} threads, batches of {size}",
                "ratio": round(their_seconds / our_seconds, 2),
            }
        )
        results.ratios[f"offline.{model.name}.{precision}"] = their_seconds / our_seconds
        results.ratios[f"likely.{model.name}.{precision}"] = their_seconds / likely_seconds
        for batch, beam in effort.batches:
            _fixed_batches(model, precision, batch, beam, ours, peers, effort, results)
        return count / their_seconds


def _fixed_batches(
    model: BenchModel,
    precision: Precision,
    batch: int,
    beam: int,
    ours: Remote,
    peers: dict[str, Remote],
    effort: Effort,
    results: Results,
) -> None:
    """Measure one batch after another; CTranslate2 uses the better of its thread settings."""
    count = max(1, effort.sentences(model.name) // batch) * batch
    batches = [model.sources[start : start + batch] for start in range(0, count, batch)]

    def run(remote: Remote) -> float:
        return sum(remote.timed("translate", sources, beam)[0] for sources in batches) / len(
            batches
        )

    threads = min(peers, key=lambda name: run(peers[name]))
    ours.timed("translate", batches[0], beam)
    our_seconds, their_seconds = in_turn(
        effort.rounds, lambda: run(ours), lambda: run(peers[threads])
    )
    results.batches.append(
        {
            "model": model.name,
            "precision": precision,
            "batch": batch,
            "beam": beam,
            "ours, ms": round(1e3 * our_seconds, 1),
            "CTranslate2, ms": round(1e3 * their_seconds, 1),
            "its threads": threads,
            "ratio": round(their_seconds / our_seconds, 2),
        }
    )
    if (batch, beam) == (1, 4):
        results.ratios[f"single.{model.name}.{precision}"] = their_seconds / our_seconds


def _check_equal(model: BenchModel, ours: Remote, other: Remote, results: Results) -> None:
    """Check that both sides find the same two best translations in fp32, so that the figures are comparable.

    Lists that differ, but have equal log-probabilities at each rank, are ties decided by rounding.
    """
    sources = model.sources[:200]
    lists = zip(ours.call("best_two", sources), other.call("best_two", sources), strict=True)
    outcomes = Counter(_compare(our_list, their_list) for our_list, their_list in lists)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    results.notes[f"n-best lists.{model.name}"] = f"of {len(sources)}: {counts}"
    if outcomes["different"] or outcomes["tied"] > max(1, 0.01 * len(sources)):
        raise SystemExit(f"{model.name}: of {len(sources)} n-best lists, {counts}")


def _compare(our_list: NBest, their_list: NBest) -> str:
    if any(len(hypothesis.ids) >= MAX_LENGTH for hypothesis in (*our_list, *their_list)):
        return "cut short"  # CTranslate2 also returns translations without EOS
    pairs = list(zip(our_list, their_list, strict=True))
    if all(our.ids == their.ids for our, their in pairs):
        return "equal"
    close = all(math.isclose(our.score, their.score, rel_tol=1e-5) for our, their in pairs)
    return "tied" if close else "different"
