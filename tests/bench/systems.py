"""The engine and CTranslate2 behind a common interface, each in its own process.

`Remote` builds a system in its process and calls it through a pipe. Times are measured inside the process.
"""

import multiprocessing
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import ctranslate2

from model.tokenizer import BOS_ID, EOS_ID, PAD_ID
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.runner import runners_for
from service.engine.single_sequence import runner_for_one
from service.engine.types import DecodingOptions, SpecialIds, StepStats, StopRule
from service.process import tune_garbage_collection
from tests.bench import peer
from tests.bench.models import MAX_LENGTH, BenchModel, Precision

LENGTH_PENALTY = 0.6
Ids = Sequence[int]
Done = Callable[[list[int]], None]


class Listed(NamedTuple):
    """One hypothesis of an n-best list."""

    ids: list[int]
    score: float


NBest = list[Listed]


class System(Protocol):
    """A system to measure."""

    def translate(self, sources: Sequence[Ids], beam_size: int) -> list[list[int]]:
        """Translate all sources at once, as fast as possible."""

    def submit(self, source: Ids, done: Done) -> None:
        """Translate a single source, and call `done` with its translation."""


@dataclass
class Ours:
    """The service's engine, with one worker per core."""

    model: BenchModel
    precision: Precision
    cores: int
    max_num_seqs: int = EngineConfig().max_num_seqs
    beam_size: int = 4
    """The beam size for `submit`."""

    def __post_init__(self) -> None:
        """Start the engine."""
        self.steps: list[StepStats] = []
        runners = runners_for(self.cores, *self.model.graphs(self.precision))
        config = EngineConfig(
            num_workers=self.cores, max_num_seqs=self.max_num_seqs, max_waiting=1_000_000
        )
        special = SpecialIds(pad=PAD_ID, bos=BOS_ID, eos=EOS_ID)
        single_sequence_runner = runner_for_one(
            *self.model.graphs(self.precision), runners[0], special, self.cores
        )
        self.engine = Engine(
            runners,
            special,
            config,
            self.steps.append,
            single_sequence_runner=single_sequence_runner,
        )
        self.engine.start()

    def translate(self, sources: Sequence[Ids], beam_size: int) -> list[list[int]]:
        """See System."""
        sequences = self.engine.submit([(source, _options(beam_size)) for source in sources])
        return [list(sequence.future.result()[0].ids) for sequence in sequences]

    def translate_likely(self, sources: Sequence[Ids]) -> list[list[int]]:
        """Translate like `translate`, with the fastest stop rule."""
        options = replace(_options(4), stop_rule=StopRule.LIKELY)
        sequences = self.engine.submit([(source, options) for source in sources])
        return [list(sequence.future.result()[0].ids) for sequence in sequences]

    def best_two(self, sources: Sequence[Ids]) -> list[NBest]:
        """Return the two best translations of every source by log-probability without length penalty."""
        options = DecodingOptions(MAX_LENGTH, num_hypotheses=2, length_penalty=0.0)
        sequences = self.engine.submit([(source, options) for source in sources])
        return [
            [
                Listed(list(hypothesis.ids), hypothesis.score)
                for hypothesis in sequence.future.result()
            ]
            for sequence in sequences
        ]

    def submit(self, source: Ids, done: Done) -> None:
        """See System."""
        [sequence] = self.engine.submit([(source, _options(self.beam_size))])
        sequence.future.add_done_callback(lambda future: done(list(future.result()[0].ids)))


@dataclass
class Peer:
    """CTranslate2, called for each sentence, or for batches that threads collect from arriving sentences."""

    model: BenchModel
    precision: Precision
    inter_threads: int
    intra_threads: int
    batching: bool = False
    max_batch: int = 32
    max_wait: float = 0.005
    beam_size: int = 4
    """The beam size for `submit`."""
    length_penalty: float = LENGTH_PENALTY

    def __post_init__(self) -> None:
        """Load the model."""
        compute = {"int8": "int8", "fp32": "float32"}[self.precision]
        self.translator: ctranslate2.Translator = peer.load(
            self.model.peer(self.precision),
            inter_threads=self.inter_threads,
            intra_threads=self.intra_threads,
            compute_type=compute,
        )
        self.names = self.model.names
        self.ids = {name: index for index, name in enumerate(self.names)}
        self.callers = ThreadPoolExecutor(self.inter_threads * 2)
        self.arrived: queue.SimpleQueue[tuple[Ids, Done]] = queue.SimpleQueue()
        if self.batching:
            for _ in range(self.inter_threads):
                threading.Thread(target=self._collect, daemon=True).start()

    def translate(
        self, sources: Sequence[Ids], beam_size: int, max_batch: int = 32
    ) -> list[list[int]]:
        """See System. CTranslate2 sorts by length and divides batches of `max_batch` among its workers."""
        results = self._run(sources, beam_size, self.length_penalty, max_batch)
        return [[self.ids[name] for name in result.hypotheses[0]] for result in results]

    def best_two(self, sources: Sequence[Ids]) -> list[NBest]:
        """Return the two best translations of every source by log-probability without length penalty."""
        results = self._run(sources, 4, 1e-9, 32, num_hypotheses=2, return_scores=True)
        return [
            [
                Listed([self.ids[name] for name in names], score)
                for names, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result in results
        ]

    def submit(self, source: Ids, done: Done) -> None:
        """See System."""
        if self.batching:
            self.arrived.put((source, done))
        else:
            self.callers.submit(self.translate, [source], self.beam_size).add_done_callback(
                lambda future: done(future.result()[0])
            )

    def _run(
        self, sources: Sequence[Ids], beam_size: int, alpha: float, max_batch: int, **options: Any
    ) -> list[ctranslate2.TranslationResult]:
        return self.translator.translate_batch(  # type: ignore[no-any-return]
            [[self.names[token] for token in source] for source in sources],
            beam_size=beam_size,
            length_penalty=alpha,
            max_decoding_length=MAX_LENGTH,
            min_decoding_length=0,
            max_batch_size=max_batch,
            suppress_sequences=[[self.names[token]] for token in self.model.suppressed],
            **options,
        )

    def _collect(self) -> None:
        """Translate dynamic batches: up to `max_batch` sources that arrive within `max_wait` of the first."""
        while True:
            batch = [self.arrived.get()]
            deadline = time.perf_counter() + self.max_wait
            while len(batch) < self.max_batch:
                try:
                    batch.append(self.arrived.get(timeout=max(0.0, deadline - time.perf_counter())))
                except queue.Empty:
                    break
            translations = self.translate([source for source, _ in batch], self.beam_size)
            for (_, done), ids in zip(batch, translations, strict=True):
                done(ids)


def _options(beam_size: int) -> DecodingOptions:
    return DecodingOptions(MAX_LENGTH, beam_size, length_penalty=LENGTH_PENALTY)


def arrive(system: System, sources: Sequence[Ids], times: list[float]) -> tuple[list[float], float]:
    """Send every source at its time; return the latencies and the seconds until the last was translated."""
    latencies = [0.0] * len(sources)
    done = threading.Semaphore(0)
    started = time.perf_counter()

    def finish(index: int, due: float) -> None:
        latencies[index] = time.perf_counter() - started - due
        done.release()

    for index, (source, due) in enumerate(zip(sources, times, strict=True)):
        time.sleep(max(0.0, started + due - time.perf_counter()))
        system.submit(source, lambda _, index=index, due=due: finish(index, due))  # type: ignore[misc]
    for _ in sources:
        done.acquire()
    return latencies, time.perf_counter() - started


class Remote:
    """A system in its own process; a context manager."""

    def __init__(self, kind: type[Any], *arguments: Any, **options: Any) -> None:
        """Build `kind(*arguments, **options)` in a new process."""
        context = multiprocessing.get_context("spawn")
        self._pipe, other_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(other_end, kind, arguments, options))
        self._process.start()
        self._pipe.recv()

    def timed(self, method: str, *arguments: Any, **options: Any) -> tuple[float, Any]:
        """Call a method in the process; return the seconds it took there and its result."""
        self._pipe.send((method, arguments, options))
        seconds, result = self._pipe.recv()
        if isinstance(result, Exception):
            raise result
        return seconds, result

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method in the process and return its result."""
        return self.timed(method, *arguments, **options)[1]

    def __enter__(self) -> Self:
        """Return the remote system."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


def _serve(
    pipe: Connection,
    kind: type[Any],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> None:
    system: Any = kind(*arguments, **options)
    extra: dict[str, Callable[..., Any]] = {
        "arrive": lambda *arguments_given: arrive(system, *arguments_given),
        "resident_bytes": _resident_bytes,
    }
    tune_garbage_collection()  # on both sides, as the service does
    pipe.send("ready")
    while True:
        method, positional, keywords = pipe.recv()
        call = extra.get(method) or getattr(system, method)
        started = time.perf_counter()
        try:
            result = call(*positional, **keywords)
        except Exception as error:
            result = error
        pipe.send((time.perf_counter() - started, result))


def _resident_bytes() -> int:
    """Return the resident memory of this process, with each page counted once."""
    rollup = Path("/proc/self/smaps_rollup").read_text()
    return int(rollup.partition("\nPss:")[2].split()[0]) * 1024
