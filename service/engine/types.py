"""The engine's vocabulary: plain data that its rooms exchange. Imports nothing of the project."""

import math
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
MASKED = -1e9
"""Added to an attention score to forbid it, however large a trained network makes it; -inf in fp16."""
DEAD = -1e9
"""Log-probability of a beam that does not exist; below every real one."""


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids that the search itself needs to know."""

    pad: int
    bos: int
    eos: int
    vocab_size: int = 2**31
    """All ids are below it; where it is not known, any may be."""


class StopRule(StrEnum):
    """When a search has found enough."""

    FIRST = "first"
    """As many hypotheses as beams have finished, as in fairseq and CTranslate2."""
    BOUND = "bound"
    """No live beam can still reach the best `num_hypotheses`, as in tensor2tensor, the paper's own code."""
    LIKELY = "likely"
    """No live beam is ahead of the best `num_hypotheses` now; Hugging Face's `early_stopping=False`."""
    NARROW = "narrow"
    """Every hypothesis that finishes leaves one beam fewer, until none is left, as in Marian.

    For graphs that are built for it, which can do the others, too.
    """


@dataclass(frozen=True, slots=True)
class DecodingOptions:
    """How one sentence is searched; every sentence of a batch may have its own."""

    max_decoding_length: int
    """Most tokens of the translation, EOS counted."""
    beam_size: int = 4
    num_hypotheses: int = 1
    length_penalty: float = 0.6
    """Alpha of Wu et al. (2016), equation 14; 0 ranks by plain log-probability."""
    min_decoding_length: int = 0
    """Fewest tokens before EOS."""
    target_prefix: tuple[int, ...] = ()
    """How every hypothesis begins; given and not chosen, so its probability does not count in scores."""
    start_tokens: tuple[int, ...] = ()
    """What the model's translations begin with before that: forced likewise, and left out of their ids."""
    suppressed_tokens: tuple[int, ...] = ()
    """Never decoded, beside those that the model itself never produces."""
    no_repeat_ngram_size: int = 0
    """No hypothesis holds the same n tokens in a row twice; 0 allows it."""
    stop_rule: StopRule = StopRule.FIRST
    channel_tag: int | None = None
    """The token in front of a translation that asks for its source; with it, the channel model takes part in
    ranking the hypotheses (see `rerank.py`)."""
    channel_weight: float = 0.3
    """Of the channel model's log-probability."""

    def __post_init__(self) -> None:
        """Refuse what no search can do."""
        if self.beam_size < 1:
            raise ValueError(f"beam_size = {self.beam_size} must be at least 1")
        if not 1 <= self.num_hypotheses <= self.beam_size:
            raise ValueError(
                f"num_hypotheses = {self.num_hypotheses} must be from 1 to beam_size = {self.beam_size}"
            )
        if self.max_decoding_length < 1:
            raise ValueError(f"max_decoding_length = {self.max_decoding_length} must be at least 1")
        if not math.isfinite(self.length_penalty):
            raise ValueError(f"length_penalty = {self.length_penalty} must be a finite number")
        if not 0 <= self.channel_weight < math.inf:
            raise ValueError(
                f"channel_weight = {self.channel_weight} must be a finite number of at least 0"
            )
        if self.stop_rule is StopRule.BOUND and self.length_penalty < 0:
            raise ValueError(
                f"stop_rule = bound needs a length_penalty of at least 0, not {self.length_penalty}"
            )
        if self.no_repeat_ngram_size < 0:
            raise ValueError(
                f"no_repeat_ngram_size = {self.no_repeat_ngram_size} must be at least 0"
            )
        for name, length in (
            ("min_decoding_length", self.min_decoding_length),
            ("target_prefix's length", len(self.forced_tokens)),
        ):
            if not 0 <= length < self.max_decoding_length:
                raise ValueError(
                    f"{name} = {length} must be from 0 to less than max_decoding_length = "
                    f"{self.max_decoding_length}"
                )

    @property
    def forced_tokens(self) -> tuple[int, ...]:
        """All that is given and not chosen."""
        return self.start_tokens + self.target_prefix


class FinishReason(StrEnum):
    """Why a hypothesis ends where it does."""

    END = "end"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One translation of a sentence."""

    ids: tuple[int, ...]
    """Without BOS and EOS."""
    score: float
    """Log-probability over the length penalty."""
    finish_reason: FinishReason


COSTLY_TOKENS = 800
"""Of a sentence of so many, each costs twice what it does in a short one. Measured with the bundled model."""


def tokens_of(source_ids: Sequence[int], options: DecodingOptions) -> int:
    """Of a source and of a target as long, or as long as that is forced to be."""
    return 2 * max(len(source_ids), len(options.forced_tokens))


class SequenceStatus(Enum):
    """Where a sentence is on its way."""

    WAITING = auto()
    RUNNING = auto()
    DONE = auto()


@dataclass(eq=False, slots=True)
class DecodingSequence:
    """One sentence on its way through the engine; `future` always ends, be it cancelled."""

    source_ids: tuple[int, ...]
    options: DecodingOptions
    arrived: float
    """By the engine's clock, in seconds."""
    deadline: float | None = None
    status: SequenceStatus = SequenceStatus.WAITING
    joined: float = math.nan
    """When it came into a batch, by the same clock."""
    estimated: float | None = None
    """Seconds that its request should take from its arrival on; None where nobody was before it."""
    future: Future[list[Hypothesis]] = field(default_factory=Future)
    tokens: int = field(init=False)
    """Of its source and of a target as long, or as long as that is forced to be."""
    cost: int = field(init=False)
    """Its work, in tokens of short sentences: each token attends to all those before it."""
    footprint: int = field(init=False)
    """What it may hold in memory at once, in cache entries.

    Beams that differ from early on share no entries; what is forced has one beam. A source position has
    keys and values, too, but in half the bytes, and in no more than two copies.
    """

    def __post_init__(self) -> None:
        """Measure it once: the scheduler asks again and again."""
        options, forced = self.options, len(self.options.forced_tokens)
        self.tokens = tokens_of(self.source_ids, options)
        self.cost = self.tokens + self.tokens**2 // COSTLY_TOKENS
        entries = forced + options.beam_size * (options.max_decoding_length - forced)
        self.footprint = entries + -(-len(self.source_ids) // 4)

    def has_left(self, now: float) -> bool:
        """Whether its work is no longer wanted: given up by its sender, or late."""
        return self.future.cancelled() or self.is_expired(now)

    def is_expired(self, now: float) -> bool:
        """Whether its deadline has passed."""
        return self.deadline is not None and now >= self.deadline


@dataclass(frozen=True, slots=True)
class StepStats:
    """What one step of one worker did; durations in seconds."""

    worker: int
    rows: int
    """Sentences in the batch that was decoded."""
    admitted: int
    steps: int
    """Decoder steps done for every row."""
    source_tokens: int
    target_tokens: int
    """Tokens of the hypotheses that were given out."""
    queue_waits: tuple[float, ...]
    """Of the admitted sentences."""
    encode_seconds: float
    decode_seconds: float
    rerank_seconds: float
    host_seconds: float
    """Everything else: scheduling, beams, cache rows."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """How far one run of the decoder goes."""

    steps: int
    """Most steps."""
    stop_after: int
    """The run ends early once so many sentences have found their hypotheses."""
    banned: Ints
    """[N, 3]: rows, beams and tokens that may not be decoded in any of the steps."""


ROW = np.dtype(
    [
        ("position", np.int64),  # tokens decoded so far
        ("finished", np.int64),  # hypotheses that have ended so far
        ("best", np.float32),  # the best of them: its score over its length penalty
        ("beam_size", np.int64),
        ("length_penalty", np.float32),  # alpha
        ("narrow", np.int64),  # 1 if every hypothesis that ends leaves one beam fewer
        ("likely", np.bool_),  # whether the search is done when no live beam is ahead of `best`
        ("source", np.int64),  # the row of its cross-attention keys and values
        ("source_length", np.int64),  # how many of that row's positions are its tokens
        ("cache", np.int64),  # the row of the previous run's caches that its entries are in
        ("place", np.int64),  # its own row among the previous run's sentences
    ],
    align=True,
)
"""What a run of the decoder knows of a sentence, its beams aside."""


@dataclass(slots=True)
class DecoderState:
    """What a run starts from and leaves behind, on the host; see export/decoder.py for the contract."""

    rows: NDArray[np.void]
    """[B] of ROW"""
    ids: Ints
    """[B, K]"""
    cum_log_probs: Floats
    """[B, K]"""
    ancestors: Floats
    """[B, K, L], over the entries of the previous run's caches."""
