"""Reranks a sentence's hypotheses with the channel model: how likely the source is, given each hypothesis.

A translation that omits something may be likely, but the source is unlikely given that translation. This is
the noisy channel of Yee, Dauphin and Auli (2019), "Simple and Effective Noisy Channel Modeling for Neural
Machine Translation", with one network for both directions. Each sentence is scored alone, so its result
depends only on its own hypotheses.
"""

import logging
import math
from collections.abc import Callable, Sequence
from itertools import chain

from service.engine.beam import length_penalty
from service.engine.model_runner import ModelRunner
from service.engine.sources import pad
from service.engine.types import DecodingSequence, Hypothesis, SpecialIds
from service.threads import Threads

logger = logging.getLogger(__name__)

MARGIN = 1.0
"""Hypotheses whose scores are further below the best one's are not reranked."""
MAX_TOKENS = 128
"""Maximum length of source and hypotheses to rerank; models have seen few longer ones."""
TOKENS_AT_ONCE = 256
"""Limit for hypotheses x the longest in one run, which bounds memory: logits are over the vocabulary."""


class Reranker:
    """Runs the channel model for all workers of an engine."""

    def __init__(
        self,
        special: SpecialIds,
        threads: int,
        on_fault: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        """`threads` is the number of workers, all of which serve a sentence that is alone."""
        self.special, self.threads, self.on_fault = special, threads, on_fault
        self.failures = 0
        """Failures since the last success, on any thread."""
        self._pool = Threads(threads, "reranker")
        self._pool.start()

    def close(self) -> None:
        """End the threads without waiting for them; the engine's own threads wait for their results."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def rank(
        self,
        runner: ModelRunner,
        hypotheses: list[Hypothesis],
        sequence: DecodingSequence,
        is_alone: bool = False,
    ) -> list[Hypothesis]:
        """Return the hypotheses in their new order, best first.

        The order is kept if the sentence does not ask for reranking, or if a score is invalid. The hypotheses
        of a sentence that `is_alone` in the engine are scored in parallel.

        Raises:
            Exception: whatever the scorer raised.
        """
        options, special = sequence.options, self.special
        if options.channel_tag is None:
            return hypotheses
        near_best = [
            hypothesis
            for hypothesis in hypotheses
            if hypothesis.score >= hypotheses[0].score - MARGIN
        ]
        longest = max(len(sequence.source_ids), *(len(hypothesis.ids) for hypothesis in hypotheses))
        if len(near_best) == 1 or longest > MAX_TOKENS:
            return hypotheses
        channel_sources = [
            (options.channel_tag, *hypothesis.ids, special.eos) for hypothesis in near_best
        ]
        target = (special.bos, *sequence.source_ids[1:])  # without its tag
        threads = self.threads if is_alone else 1
        try:
            backward = self._log_probs(runner, channel_sources, target, threads)
        except Exception:
            self.failures += 1
            raise
        self.failures = 0
        if len(backward) != len(near_best) or not all(map(math.isfinite, backward)):
            logger.error("a sentence is not reranked: its scores are invalid: %s", backward)
            self.on_fault("rerank", 1)
            return hypotheses

        def combined_score(index: int) -> float:
            length = len(near_best[index].ids) + 1
            penalty = length_penalty(length, options)
            return near_best[index].score + options.channel_weight * backward[index] / penalty

        order = sorted(range(len(near_best)), key=combined_score, reverse=True)
        return [near_best[index] for index in order] + hypotheses[len(near_best) :]

    def check(self, runner: ModelRunner, sequence: DecodingSequence) -> None:
        """Check that the scorer runs, by scoring a sentence as its own translation.

        Raises:
            Exception: whatever the scorer raised.
        """
        source_ids = sequence.source_ids
        self._log_probs(runner, [source_ids], (self.special.bos, *source_ids[1:]), threads=1)
        self.failures = 0

    def _log_probs(
        self,
        runner: ModelRunner,
        sources: Sequence[Sequence[int]],
        target: Sequence[int],
        threads: int,
    ) -> list[float]:
        """Return the log-probability of one target given each of the sources."""
        longest = max(len(target), *map(len, sources))
        at_once = max(1, min(TOKENS_AT_ONCE // longest, -(-len(sources) // threads)))
        batches = [sources[start : start + at_once] for start in range(0, len(sources), at_once)]
        target_ids, _ = pad([target], self.special.pad)

        def score(batch: Sequence[Sequence[int]]) -> list[float]:
            source_ids, bias = pad(batch, self.special.pad)
            scores: list[float] = runner.score(source_ids, bias, target_ids).tolist()
            return scores

        scored = self._pool.map(score, batches) if threads > 1 else map(score, batches)
        return list(chain.from_iterable(scored))
