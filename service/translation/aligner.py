"""Word alignment: which source words each target word attended to, computed by a graph of the bundle."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from service.engine.model_runner import LARGE_ALIGNMENT
from service.engine.stalls import StallDetector
from service.engine.turns import Turns
from service.engine.types import Floats
from service.models.bundle import MAX_LENGTH, SpecialTokens
from service.text.sentence import Sentence
from service.text.tokenizer import Tokenizers
from service.text.words import Alignment, align_words, word_spans
from service.threads import Threads
from service.translation.backlog import Backlog, Promise
from service.translation.decoded import MAX_WORD_PAIRS, Part
from service.translation.offload import Check, run_in_thread, timed
from service.translation.types import WordAlignment

logger = logging.getLogger(__name__)

MAX_WEIGHT = 1.1
"""Attention weights sum to 1, except for rounding."""
TURN_SECONDS = 0.02
"""Time after which other requests have their turn; enough for a few sentences of usual length."""
CHARACTERS_A_PAIR = 100
"""The fixed cost of a pair of texts, in characters."""
Result = TypeVar("Result")
Around = tuple[Sequence[int], Sequence[int]]
"""The ids before every source, and those between BOS and every translation."""
Attention = Callable[[Sequence[int], Sequence[int]], Floats]
"""Computes attention weights [T, S] from source ids (tag ... EOS) and target ids (BOS ... EOS)."""


class Aligner:
    """Aligns with one bundle, on its own threads, where requests take turns."""

    def __init__(
        self,
        tokenizers: Tokenizers,
        special: SpecialTokens,
        attention: Attention | None,
        threads: int,
        clock: Callable[[], float],
        on_fault: Callable[[str, int], None] = lambda *_: None,
        max_tokens: int = MAX_LENGTH,
        watch: StallDetector | None = None,
    ) -> None:
        """Start the threads.

        Args:
            tokenizers: of both languages.
            special: the bundle's special tokens.
            attention: if None, words are aligned by their order: good enough to place tags, but not to be
                returned as an alignment.
            threads: maximum number of requests that are aligned at once.
            clock: seconds; deadlines refer to it.
            on_fault: called with the kind and number of failures.
            max_tokens: limit for source and target, including tag and EOS; longer ones are aligned by order.
            watch: detects work that hangs.
        """
        self.max_tokens = max_tokens
        self.tokenizers, self.special = tokenizers, special
        self.attention, self.clock, self.on_fault = attention, clock, on_fault
        self.watch = watch or StallDetector(clock)
        self.backlog = Backlog(threads)
        self._threads, self._large = Threads(threads, "aligner"), Turns(1)
        self._threads.start()

    def close(self) -> None:
        """Accept no more work; the threads end when they have finished theirs."""
        self._threads.shutdown(wait=False)

    def promised(self, sources: Sequence[str]) -> AbstractContextManager[Promise]:
        """Add alignments to the backlog; `sources` has the sentence of each."""
        if not sources:
            return nullcontext(Promise(0.0, 0.0))
        return self.backlog.promised(sum(cost_of(text, text) for text in sources))

    async def align(
        self,
        parts: Sequence[Part],
        around: Around,
        wanted: bool,
        deadline: float,
        promise: Promise,
    ) -> list[Part]:
        """Return the parts with their tags in their places, and with alignments if these are wanted.

        Only a part's best translation keeps its alignment, which may take a megabyte, and only if it is no
        guess, and those before it have not reached `MAX_WORD_PAIRS`.

        Args:
            parts: sentences or clauses, and their translations.
            around: the ids around them.
            wanted: whether alignments are wanted.
            deadline: by the clock.
            promise: this work's entry in the backlog.

        Raises:
            DeadlineExceededError: the deadline passed before the last sentence was aligned.
        """
        pairs = [
            _Pair(index, rank, part.sentence, text, part.ids[rank] if part.ids else ())
            for index, part in enumerate(parts)
            for rank, text in enumerate(part.texts)
            if part.sentence.tags or (wanted and rank == 0)
        ]
        promise.left = sum(cost_of(pair.source.text, pair.target) for pair in pairs)
        done: list[_Aligned] = []
        room = MAX_WORD_PAIRS if wanted else 0
        while len(done) < len(pairs):
            # the executor's queue is first in, first out: the next turn follows those of other requests
            turn = partial(self._turn, pairs[len(done) :], around, room)
            newly_aligned, cost, seconds = await self._run(turn, deadline)
            done += newly_aligned
            room -= sum(one.weights.size for _, one in newly_aligned if one is not None)
            promise.left -= cost
            self.backlog.measured(cost, seconds)
        aligned = list(parts)
        for pair, (written, alignment) in zip(pairs, done, strict=True):
            part = aligned[pair.index]
            if written is not None:
                before = part.written[: pair.rank]
                part = replace(part, written=(*before, written, *part.written[pair.rank + 1 :]))
            if alignment is not None:
                part = replace(part, alignment=alignment)
            aligned[pair.index] = part
        return aligned

    def measure(self, source: Sentence, target: str, around: Around) -> None:
        """Align a sentence on the calling thread, for a first measurement of the time this takes."""
        pair = _Pair(0, 0, source, target)
        _, cost, seconds = self._turn([pair], around, 0, lambda: None)
        self.backlog.measured(cost, seconds)

    def _turn(
        self, pairs: Sequence["_Pair"], around: Around, room: int, check: Check
    ) -> tuple[list["_Aligned"], int, float]:
        """Align the first pairs, until the turn is over or no pair is left.

        Args:
            pairs: what is to be aligned.
            around: the ids around it.
            room: how many weights may be kept.
            check: called before each pair.

        Returns:
            the results, their cost, and the duration in seconds.
        """
        started, cost = time.perf_counter(), 0
        aligned: list[_Aligned] = []
        for pair in pairs:
            check()
            source, target = pair.source, pair.target
            alignment = self.alignment(source, target, around, pair.ids)
            written = source.translated(target, alignment).written() if source.tags else None
            size = int(alignment.weights.size)
            is_kept = pair.rank == 0 and not alignment.is_guess and size <= room
            room -= size if is_kept else 0
            shown = WordAlignment(*source.shown(alignment)) if is_kept else None
            aligned.append((written, shown))
            cost += cost_of(source.text, target)
            if time.perf_counter() - started >= TURN_SECONDS:
                break
        return aligned, cost, time.perf_counter() - started

    def alignment(
        self, sentence: Sentence, target: str, around: Around, ids: Sequence[int] = ()
    ) -> Alignment:
        """Return the alignment of a sentence with one of its translations, whose `ids` may be known.

        If it would be too large, words are merged, and it counts as a guess. The limits of tokens do not
        exclude this, because some vocabularies encode many unknown characters as one token.
        """
        source = sentence.text
        words = len(word_spans(source)) * len(word_spans(target))
        is_too_large = words > MAX_WORD_PAIRS
        max_words = math.isqrt(MAX_WORD_PAIRS) if is_too_large else None
        end = self.special.source_end
        source_ids, source_pieces = self.tokenizers.source.encode_with_spans(source)
        spans = self.tokenizers.target.spans(ids, target) if ids else None
        target_ids, target_pieces = (
            (ids, spans) if spans else self.tokenizers.target.encode_with_spans(target)
        )
        weights = self.attended([*around[0], *source_ids, *end], target_ids, around)
        is_guess = weights is None or is_too_large
        if weights is None:  # tags can be placed all the same
            weights = _in_order(len(target_ids), len(source_ids))
        wholes = sentence.wholes(target)
        alignment = align_words(
            source, target, source_pieces, target_pieces, weights, max_words, wholes
        )
        return replace(alignment, is_guess=is_guess)

    def attended(
        self, source: Sequence[int], target: Sequence[int], around: Around
    ) -> Floats | None:
        """Return the attention of each target token to each source token, [T, S] without tag and EOS.

        None if the bundle has no such graph, the texts are too long for it, it fails, or its values are
        invalid.
        """
        prefix, start_tokens = around
        target_ids = [self.special.bos, *start_tokens, *target, self.special.eos]
        if self.attention is None or max(len(source), len(target_ids)) > self.max_tokens:
            return None
        source_end = len(source) - len(self.special.source_end)
        try:
            weights = self._computed(self.attention, source, target_ids)
            if (
                weights.shape == (len(target_ids) - 2, len(source))
                and (np.abs(weights) <= MAX_WEIGHT).all()
            ):
                return weights[len(start_tokens) :, len(prefix) : source_end]
            logger.error("a sentence is aligned by word order: its attention has invalid values")
        except BaseException:  # of whatever class: it must not end the event loop
            logger.exception("a sentence is aligned by word order: its attention failed")
        self.on_fault("alignment", 1)
        return None

    def _computed(
        self, attention: Attention, source: Sequence[int], target: Sequence[int]
    ) -> Floats:
        """Compute attention weights; those of long texts one after the other, as they take much memory."""
        if len(source) + len(target) < LARGE_ALIGNMENT:
            return attention(source, target)
        waiting = self.watch.busy("the wait for a large alignment", self._large.num_ended)
        with waiting, self._large, self.watch.busy("a large alignment"):
            return attention(source, target)

    async def run(self, work: Callable[[Check], Result], cost: float, deadline: float) -> Result:
        """Run other work on the aligner's threads, and return its result; it is part of the backlog, too.

        Args:
            work: as in `run_in_thread`.
            cost: in characters, see `cost_of`.
            deadline: by the clock.

        Raises:
            DeadlineExceededError: the deadline passed before the work was finished.
        """
        with self.backlog.promised(cost):
            result, seconds = await self._run(timed(work), deadline)
        self.backlog.measured(cost, seconds)
        return result

    async def _run(self, work: Callable[[Check], Result], deadline: float) -> Result:
        busy = self.watch.busy("an alignment")
        return await run_in_thread(work, self.clock, deadline, self._threads, busy)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A sentence and one of its translations."""

    index: int
    """The place of the sentence in its request."""
    rank: int
    """0 for the best translation."""
    source: Sentence
    target: str
    ids: tuple[int, ...] = ()
    """Those of the target, if they are known."""


_Aligned = tuple[str | None, WordAlignment | None]
"""A translation with its tags in their places, if there are any, and its alignment, if it is kept."""


def _in_order(targets: int, sources: int) -> Floats:
    """Return weights [T, S] that align each token with the one at the same relative position."""
    nearest = np.arange(targets) * sources // max(1, targets)
    return np.eye(max(1, sources), dtype=np.float32)[nearest, :sources]


def cost_of(source: str, target: str) -> int:
    """Return the cost of an alignment, in characters."""
    return CHARACTERS_A_PAIR + len(source) + len(target)
