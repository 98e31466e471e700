"""Which words of a sentence each word of its translation looked at, by a graph that the bundle has for it."""

import logging
from collections.abc import Callable
from collections.abc import Sequence as Items
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from service.beside import Check, run_in_thread
from service.bundle import SpecialTokens
from service.engine.types import Floats
from service.errors import TextTooLongError, quoted
from service.text.tokenizer import Tokenizers
from service.text.words import align_words, word_spans
from service.translation import TranslatedSentence

logger = logging.getLogger(__name__)

MAX_WORD_PAIRS = 1_000_000
"""Of a sentence and its translation; 512 tokens and 1,024 are half as many."""
MAX_WEIGHT = 1.1
"""Of what sums to 1, rounded."""
Attention = Callable[[Items[int], Items[int]], Floats]
"""Source ids (tag ... EOS) and target ids (BOS ... EOS) to how much each looked at each, [T, S]."""


class Aligner:
    """Aligns with one bundle, each request's sentences one after another on a thread beside the engine's."""

    def __init__(
        self,
        tokenizers: Tokenizers,
        special: SpecialTokens,
        attention: Attention,
        threads: int,
        clock: Callable[[], float],
        on_fault: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        """`threads` requests are aligned at once, others wait; deadlines are by `clock`, in seconds."""
        self.tokenizers, self.special = tokenizers, special
        self.attention, self.clock, self.on_fault = attention, clock, on_fault
        self._threads = ThreadPoolExecutor(threads, "aligner")

    def close(self) -> None:
        """Take nothing new; threads end once what they have is done."""
        self._threads.shutdown(wait=False)

    async def align(
        self, translated: Items[TranslatedSentence], tag: int, wanted: bool, deadline: float
    ) -> list[TranslatedSentence]:
        """The same sentences with their alignments: those that have tags, or all.

        Args:
            translated: sentences and their translations.
            tag: the token in front of their sources.
            wanted: whether to align those without tags, too.
            deadline: when it is given up, as it is when the caller is cancelled.

        Raises:
            DeadlineExceededError: it passed before the last sentence.
        """

        def work(check: Check) -> list[TranslatedSentence]:
            aligned = []
            for one in translated:
                check()
                aligned.append(self._aligned(one, tag) if wanted or one.sentence.tags else one)
            return aligned

        return await run_in_thread(work, self.clock, deadline, self._threads)

    def _aligned(self, one: TranslatedSentence, tag: int) -> TranslatedSentence:
        """A sentence with the alignments of its translations.

        Raises:
            TextTooLongError: a table of its words would be too large; tokens do not bound them where a
                vocabulary takes many unknown characters for one.
        """
        words = len(word_spans(one.sentence.text)) * max(map(len, map(word_spans, one.targets)))
        if words > MAX_WORD_PAIRS:
            written = quoted(one.sentence.written_by_client)
            raise TextTooLongError(
                f"Invalid request: a sentence has {words} pairs of words to align, the limit is "
                f"{MAX_WORD_PAIRS}: {written}"
            )
        source, source_pieces = self.tokenizers.source.encode_with_spans(one.sentence.text)
        alignments = []
        for text in one.targets:
            target, target_pieces = self.tokenizers.target.encode_with_spans(text)
            bos, eos = self.special.bos, self.special.eos
            weights = self._weights([tag, *source, eos], [bos, *target, eos])
            pieces = source_pieces, target_pieces, weights[:, 1:-1]
            alignments.append(align_words(one.sentence.text, text, *pieces))
        return replace(one, alignments=tuple(alignments))

    def _weights(self, source: Items[int], target: Items[int]) -> Floats:
        """How much each target token looked at each source token, [T, S], as `attention` takes them.

        Where the graph fails or gives invalid values, each looked where it is itself: the answer is there.
        """
        shape = len(target) - 2, len(source)
        try:
            weights = self.attention(source, target)
            if weights.shape == shape and (np.abs(weights) <= MAX_WEIGHT).all():
                return weights
            logger.error("a sentence is aligned by its order: its attention has invalid values")
        except BaseException:  # whatever it is, it must not end the event loop
            logger.exception("a sentence is aligned by its order: its attention failed")
        self.on_fault("alignment", 1)
        inner = shape[1] - 2  # without tag and EOS
        at = 1 + np.arange(shape[0]) * inner // max(1, shape[0])
        return np.eye(shape[1], dtype=np.float32)[at]
