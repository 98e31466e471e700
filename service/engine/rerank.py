"""Reranks a sentence's hypotheses with the channel model: how likely the source is, given each hypothesis.

A translation that omits something may be likely, but the source is unlikely given that translation. This is
the noisy channel of Yee, Dauphin and Auli (2019), "Simple and Effective Noisy Channel Modeling for Neural
Machine Translation", with one network for both directions. Each sentence is scored alone, so its result
depends only on its own hypotheses.
"""

import logging
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from service.engine import cache
from service.engine.beam import length_penalty
from service.engine.model_runner import ModelRunner
from service.engine.types import DecodingSequence, Hypothesis, SpecialIds

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
        self._pool = ThreadPoolExecutor(threads, "reranker")

    def close(self) -> None:
        """End the threads without waiting for them; the engine's own threads wait for their results."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def rank(
        self,
        runner: ModelRunner,
        found: list[Hypothesis],
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
            return found
        near = [one for one in found if one.score >= found[0].score - MARGIN]
        longest = max(len(sequence.source_ids), *(len(one.ids) for one in found))
        if len(near) == 1 or longest > MAX_TOKENS:
            return found
        channel_sources = [(options.channel_tag, *one.ids, special.eos) for one in near]
        target = (special.bos, *sequence.source_ids[1:])  # without its tag
        threads = self.threads if is_alone else 1
        try:
            backward = self._log_probs(runner, channel_sources, target, threads)
        except Exception:
            self.failures += 1
            raise
        self.failures = 0
        if len(backward) != len(near) or not all(map(math.isfinite, backward)):
            logger.error("a sentence is not reranked: its scores are invalid: %s", backward)
            self.on_fault("rerank", 1)
            return found

        def by_both(place: int) -> float:
            length = len(near[place].ids) + 1
            penalty = length_penalty(length, options)
            return near[place].score + options.channel_weight * backward[place] / penalty

        order = sorted(range(len(near)), key=by_both, reverse=True)
        return [near[place] for place in order] + found[len(near) :]

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
        parts = [sources[start : start + at_once] for start in range(0, len(sources), at_once)]
        target_ids, _ = cache.pad([target], self.special.pad)

        def score(part: Sequence[Sequence[int]]) -> list[float]:
            source_ids, bias = cache.pad(part, self.special.pad)
            scores: list[float] = runner.score(source_ids, bias, target_ids).tolist()
            return scores

        scored = self._pool.map(score, parts) if threads > 1 else map(score, parts)
        return list(chain.from_iterable(scored))
