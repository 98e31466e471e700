"""The running batch of one worker. Sentences join it, are decoded a few steps at a time, and leave it.

It is independent of threads, futures and the queue: its caller chooses which sentences join, and resolves
their futures.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from service.engine import cache, packing
from service.engine.beam import BeamSearch
from service.engine.model_runner import Caches, ModelRunner
from service.engine.packing import DecoderRun
from service.engine.rerank import Reranker
from service.engine.sanity import plausible_rows
from service.engine.types import (
    DecodingSequence,
    Hypothesis,
    Ints,
    RunPlan,
    SpecialIds,
)

logger = logging.getLogger(__name__)

LARGE = 1536
"""Batches with fewer cache entries keep their memory. 16 sentences of 30 tokens have half as many."""


@dataclass(slots=True)
class _Row:
    """A sentence in the batch."""

    sequence: DecodingSequence
    search: BeamSearch
    source: int
    """Its row among the `Sources`."""
    failed: bool = False
    """Whether the graph returned invalid values for it."""
    unscored: bool = False
    """Whether the scorer failed on its hypotheses."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The result of a few decoder steps. All sentences listed have left the batch."""

    finished: list[tuple[DecodingSequence, list[Hypothesis]]]
    """Finished sentences with their hypotheses, best first."""
    failed: list[DecodingSequence]
    """Sentences for which the graph returned invalid values."""
    unscored: list[DecodingSequence]
    """Sentences on which the scorer failed."""
    steps: int
    run_seconds: float
    """Time in the decoder."""
    rerank_seconds: float
    """Time for reranking."""


class Batch:
    """Sentences that are decoded together, each with its own options."""

    def __init__(
        self,
        runner: ModelRunner,
        special: SpecialIds,
        reranker: Reranker,
        single_sequence_runner: ModelRunner | None = None,
        keys_multiple: int = 1,
    ) -> None:
        """Start empty; `single_sequence_runner` decodes a sentence that is alone in the engine.

        `keys_multiple` is `EngineConfig`'s.
        """
        self.keys_multiple = keys_multiple
        self.runner, self.special, self.reranker = runner, special, reranker
        self.single_sequence_runner = single_sequence_runner or runner
        self._rows: list[_Row] = []
        self._state = cache.empty_state()
        self._sources = runner.new_sources(special.pad)
        self._caches: Caches | None = None
        self._last_runner = runner
        self._max_entries = 0
        """Maximum number of cache entries since memory was last released."""

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self._rows)

    @property
    def sequences(self) -> list[DecodingSequence]:
        """The sentences in the batch."""
        return [row.sequence for row in self._rows]

    def admit(self, sequences: Sequence[DecodingSequence]) -> list[DecodingSequence]:
        """Encode new sentences, and add them to the batch.

        Returns:
            The sentences that were not added, because the encoder returned invalid values for them.
        """
        if not sequences:
            return []
        rows = self._sources.admit([sequence.source_ids for sequence in sequences])
        placed = list(zip(sequences, rows, strict=True))
        admitted = [(sequence, row) for sequence, row in placed if row is not None]
        self._state = cache.admit(
            self._state,
            [sequence.options for sequence, _ in admitted],
            [row for _, row in admitted],
            [len(sequence.source_ids) for sequence, _ in admitted],
            self.special.bos,
        )
        self._rows += [
            _Row(sequence, BeamSearch(sequence.options, self.special.eos), row)
            for sequence, row in admitted
        ]
        return [sequence for sequence, row in placed if row is None]

    def decode(
        self,
        max_steps: int,
        stop_after: int,
        is_alone: bool = False,
        before_run: Callable[[], None] = lambda: None,
    ) -> Decoded:
        """Decode at most `max_steps` steps, fewer once `stop_after` sentences are finished.

        A sentence that `is_alone` in the engine may use all cores. `before_run` is called as late as possible
        before the decoder runs, which releases Python's lock.

        Raises:
            ValueError: the graph returned invalid values for every sentence.
        """
        runner = self._runner_for(is_alone)
        steps = min(max_steps, *(row.search.steps_allowed for row in self._rows))
        plan = RunPlan(steps, stop_after, self._banned())
        started = time.perf_counter()
        run = packing.decode(
            runner,
            self._state,
            self._caches,
            self._sources.arrays,
            plan,
            before_run,
            self.keys_multiple,
        )
        seconds = time.perf_counter() - started
        plausible = plausible_rows(self._state, run, steps, self.special.vocab_size)
        self._state, self._caches, steps_taken = run.state, run.caches, len(run.scores)
        self._max_entries = max(self._max_entries, cache.held_entries(self._state))
        self._advance(run, plausible.tolist())
        del run  # it refers to the caches, whose memory may be released below
        advanced = time.perf_counter()
        is_over = [row.search.is_done for row in self._rows]
        done = [
            row for row, over in zip(self._rows, is_over, strict=True) if over and not row.failed
        ]
        finished = [(row.sequence, self._found(row, is_alone)) for row in done]
        reranks = any(row.sequence.options.channel_tag is not None for row in done)
        rerank_seconds = time.perf_counter() - advanced if reranks else 0.0
        failed = [row.sequence for row in self._rows if row.failed]
        if len(failed) == len(self._rows):
            raise ValueError(
                "the decoder gave invalid values (NaN, unknown ids) for every sentence"
            )
        self._keep(
            [not (over or row.failed) for row, over in zip(self._rows, is_over, strict=True)]
        )
        for index, row in enumerate(self._rows):
            if row.search.forced_token is not None:
                cache.force(self._state, index, row.search.forced_token)
        finished = [(sequence, found) for sequence, found in finished if found]
        unscored = [row.sequence for row in done if row.unscored]
        return Decoded(finished, failed, unscored, steps_taken, seconds, rerank_seconds)

    def _runner_for(self, is_alone: bool) -> ModelRunner:
        """Return the runner of the next run; if it is another than before, release that one's memory."""
        runner = self.single_sequence_runner if is_alone else self.runner
        if runner is not self._last_runner:
            self._release_memory()
            self._last_runner = runner
        return runner

    def retire(self, leaves: Callable[[DecodingSequence], bool]) -> list[DecodingSequence]:
        """Remove and return the sentences for which `leaves` is true."""
        leaving = [row.sequence for row in self._rows if leaves(row.sequence)]
        if leaving:
            self._keep([row.sequence not in leaving for row in self._rows])
        return leaving

    def _found(self, row: _Row, is_alone: bool) -> list[Hypothesis]:
        """Return the requested number of hypotheses, best first; none if the row fails."""
        candidates = row.search.candidates()
        if not candidates:
            row.failed = True
            return []
        try:
            ranked = self.reranker.rank(self.runner, candidates, row.sequence, is_alone)
        except Exception:
            logger.exception("the scorer failed with a sentence")
            row.unscored = True
            return []
        return ranked[: row.sequence.options.num_hypotheses]

    def _banned(self) -> Ints:
        triples = [
            (index, beam, token)
            for index, row in enumerate(self._rows)
            for beam, token in row.search.bans()
        ]
        return np.array(triples, np.int64).reshape(-1, 3)

    def _advance(self, run: DecoderRun, plausible: Sequence[bool]) -> None:
        """Pass each step's candidates to the searches; invalid candidates fail only their own sentence."""
        outputs = run.scores, run.tokens, run.parents
        by_row = (output.swapaxes(0, 1).tolist() for output in outputs)
        for row, is_plausible, *steps in zip(self._rows, plausible, *by_row, strict=True):
            row.failed = not is_plausible
            if row.failed:
                continue
            try:
                for candidates in zip(*steps, strict=True):
                    row.search.advance(*candidates)
            except Exception:  # for example, all candidates are EOS
                logger.exception("a sentence has invalid candidates")
                row.failed = True

    def _keep(self, stays: Sequence[bool]) -> None:
        """Free all other rows. The next run gathers what it needs from the caches."""
        kept = [index for index, stay in enumerate(stays) if stay]
        if len(kept) < len(self._rows):
            self._sources.retire(
                [row.source for row, stay in zip(self._rows, stays, strict=True) if not stay]
            )
        self._rows = [self._rows[index] for index in kept]
        self._state = cache.retire(self._state, kept)
        if not self._rows:
            self._caches = None
        if 4 * cache.held_entries(self._state) <= self._max_entries:
            self._release_memory()

    def _release_memory(self) -> None:
        """Return memory to the system if the batch was large."""
        if self._max_entries >= LARGE:
            self._last_runner.release_memory(self._caches)
            self._max_entries = cache.held_entries(self._state)
