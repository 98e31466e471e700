"""Word alignment: which source words each target word attended to, computed by a graph of the bundle."""

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from service.engine.types import Floats
from service.errors import TextTooLongError, quoted
from service.models.bundle import MAX_LENGTH, SpecialTokens
from service.text.tokenizer import Tokenizers
from service.text.words import Alignment, align_words, word_spans
from service.translation.backlog import Backlog, Promise
from service.translation.offload import Check, run_in_thread
from service.translation.types import TranslatedSentence

logger = logging.getLogger(__name__)

MAX_WORD_PAIRS = 1_000_000
"""Of a sentence and its translation; 512 tokens and 1,024 are half as many, but a token may be of several
letters that count as words."""
MAX_WEIGHT = 1.1
"""Of what sums to 1, rounded."""
TURN_SECONDS = 0.02
"""After which others have their turn; a few sentences of usual length."""
CHARACTERS_A_PAIR = 100
"""A text and its translation take as long as so many characters, even empty ones."""
Result = TypeVar("Result")
Around = tuple[Sequence[int], Sequence[int]]
"""Ids that stand in front of a source, and of its translation."""
Attention = Callable[[Sequence[int], Sequence[int]], Floats]
"""Source ids (tag ... EOS) and target ids (BOS ... EOS) to how much each looked at each, [T, S]."""


class Aligner:
    """Aligns with one bundle, on threads beside the engine's, where requests take turns."""

    def __init__(
        self,
        tokenizers: Tokenizers,
        special: SpecialTokens,
        attention: Attention | None,
        threads: int,
        clock: Callable[[], float],
        on_fault: Callable[[str, int], None] = lambda *_: None,
        max_tokens: int = MAX_LENGTH,
    ) -> None:
        """`threads` requests are aligned at once, others wait; deadlines are by `clock`, in seconds.

        Without `attention`, or beyond `max_tokens`, tag and EOS counted, words belong together by their
        order: that is good enough to put tags in their places, and no alignment to give out.
        """
        self.max_tokens = max_tokens
        self.tokenizers, self.special = tokenizers, special
        self.attention, self.clock, self.on_fault = attention, clock, on_fault
        self.backlog = Backlog(threads)
        self._threads = ThreadPoolExecutor(threads, "aligner")

    def close(self) -> None:
        """Take nothing new; threads end once what they have is done."""
        self._threads.shutdown(wait=False)

    def promised(self, sources: Sequence[str], num_targets: int) -> AbstractContextManager[Promise]:
        """Count the alignments of these sentences as work to come, each with so many translations."""
        if not sources:
            return nullcontext(Promise(0.0, 0.0))
        return self.backlog.promised(num_targets * sum(cost_of(text, text) for text in sources))

    async def align(
        self,
        translated: Sequence[TranslatedSentence],
        around: Around,
        wanted: bool,
        deadline: float,
        promise: Promise,
    ) -> list[TranslatedSentence]:
        """The same sentences with their alignments: those that have tags, or all.

        Args:
            translated: sentences and their translations.
            around: what stands in front of their sources, and of their translations behind BOS.
            wanted: whether to align those without tags, too.
            deadline: when it is given up, as it is when the caller is cancelled.
            promise: of this work, in the backlog.

        Raises:
            DeadlineExceededError: it passed before the last sentence.
        """
        promise.left = sum(
            cost_of(one.sentence.text, text)
            for one in translated
            if wanted or one.sentence.tags
            for text in one.targets
        )
        aligned: list[TranslatedSentence] = []
        steps = self._steps(translated, around, wanted, aligned)
        while len(aligned) < len(translated):
            # the threads' line is first come, first served: whoever comes again stands at its end
            turn = partial(_turn, steps)
            cost, seconds = await run_in_thread(turn, self.clock, deadline, self._threads)
            promise.left -= cost
            self.backlog.measured(cost, seconds)
        return aligned

    def measure(self, one: TranslatedSentence, around: Around) -> None:
        """Align a sentence on this thread, for a first measurement of how long that takes."""
        steps = self._steps([one], around, True, [])
        self.backlog.measured(*_turn(steps, lambda: None))

    def _steps(
        self,
        translated: Sequence[TranslatedSentence],
        around: Around,
        wanted: bool,
        into: list[TranslatedSentence],
    ) -> Iterator[int]:
        """Put the sentences, aligned, `into` a list; a step is one alignment, and gives what it cost.

        Raises:
            TextTooLongError: a table of a sentence's words is wanted and would be too large; tokens do not
                bound them where a vocabulary takes many unknown characters for one.
        """
        for one in translated:
            if not (wanted or one.sentence.tags):
                into.append(one)
                continue
            source = one.sentence.text
            words = len(word_spans(source)) * max(map(len, map(word_spans, one.targets)))
            is_too_large = words > MAX_WORD_PAIRS
            if is_too_large and wanted:
                raise TextTooLongError(
                    f"Invalid request: a sentence has {words} pairs of words to align, the limit is "
                    f"{MAX_WORD_PAIRS}: {quoted(one.sentence.as_written)}"
                )
            most = math.isqrt(MAX_WORD_PAIRS) if is_too_large else None
            alignments = []
            for text in one.targets:
                alignments.append(self._alignment(source, text, around, most))
                yield cost_of(source, text)
            into.append(replace(one, alignments=tuple(alignments)))

    def _alignment(self, source: str, target: str, around: Around, most: int | None) -> Alignment:
        """Of a sentence and one of its translations, each of so many words at most."""
        end = self.special.source_end
        source_ids, source_pieces = self.tokenizers.source.encode_with_spans(source)
        target_ids, target_pieces = self.tokenizers.target.encode_with_spans(target)
        if self.attention is None:
            in_order = _in_order(len(target_ids), len(source_ids))
            guess = align_words(source, target, source_pieces, target_pieces, in_order, most)
            return replace(guess, is_guess=True)
        weights = self.attended([*around[0], *source_ids, *end], target_ids, around)
        if weights is None:  # the answer is there
            weights = _in_order(len(target_ids), len(source_ids))
        return align_words(source, target, source_pieces, target_pieces, weights, most)

    def attended(
        self, source: Sequence[int], target: Sequence[int], around: Around
    ) -> Floats | None:
        """How much each token of a translation attended to each of its source, [T, S] without tag and EOS.

        None where there is no such graph, it fails or gives invalid values, or they are too long for it.
        """
        prefix, start_tokens = around
        read = [self.special.bos, *start_tokens, *target, self.special.eos]
        if self.attention is None or max(len(source), len(read)) > self.max_tokens:
            return None
        behind = len(source) - len(self.special.source_end)
        try:
            weights = self.attention(source, read)
            if (
                weights.shape == (len(read) - 2, len(source))
                and (np.abs(weights) <= MAX_WEIGHT).all()
            ):
                return weights[len(start_tokens) :, len(prefix) : behind]
            logger.error("a sentence is aligned by word order: its attention has invalid values")
        except BaseException:  # whatever it is, it must not end the event loop
            logger.exception("a sentence is aligned by word order: its attention failed")
        self.on_fault("alignment", 1)
        return None

    async def run(self, work: Callable[[Check], Result], cost: float, deadline: float) -> Result:
        """The result of other work on the aligner's threads, counted as alignments are.

        Args:
            work: as in `run_in_thread`.
            cost: in characters, see `cost_of`.
            deadline: when it is given up.

        Raises:
            DeadlineExceededError: it passed before the end.
        """

        def timed(check: Check) -> tuple[Result, float]:
            started = time.perf_counter()
            return work(check), time.perf_counter() - started

        with self.backlog.promised(cost):
            result, seconds = await run_in_thread(timed, self.clock, deadline, self._threads)
        self.backlog.measured(cost, seconds)
        return result


def _in_order(targets: int, sources: int) -> Floats:
    """Weights [T, S] of tokens that look where they are themselves."""
    at = np.arange(targets) * sources // max(1, targets)
    return np.eye(max(1, sources), dtype=np.float32)[at, :sources]


def cost_of(source: str, target: str) -> int:
    """Of an alignment, in characters."""
    return CHARACTERS_A_PAIR + len(source) + len(target)


def _turn(steps: Iterator[int], check: Check) -> tuple[int, float]:
    """Take steps until a turn is over, or they are; what they cost, and how many seconds they took."""
    started, cost, seconds = time.perf_counter(), 0, 0.0
    while seconds < TURN_SECONDS:
        check()
        step = next(steps, None)
        if step is None:
            break
        cost += step
        seconds = time.perf_counter() - started
    return cost, seconds
