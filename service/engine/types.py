"""Data types that the engine's modules exchange. Imports nothing from the project."""

import math
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Device = Literal["cpu", "cuda"]
DeviceChoice = Literal["auto", Device]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
MASKED = -1e9
"""Added to attention scores to mask them; becomes -inf in fp16."""
DEAD = -1e9
"""Log-probability of a beam that does not exist; below every real one."""


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """The ids that the search needs to know."""

    pad: int
    bos: int
    eos: int
    vocab_size: int = 2**31
    """All ids are below it. The default accepts any id."""


class StopRule(StrEnum):
    """When a search ends."""

    FIRST = "first"
    """When as many hypotheses as beams have finished, as in fairseq and CTranslate2."""
    BOUND = "bound"
    """When no live beam can reach the best `num_hypotheses`, as in tensor2tensor, the paper's own code."""
    LIKELY = "likely"
    """When no live beam's score exceeds the best `num_hypotheses`."""
    BEATEN = "beaten"
    """When no live beam's score exceeds the best `beam_size` finished ones, as in transformers by default."""
    NARROW = "narrow"
    """When all beams have finished: each finished hypothesis removes a beam, as in Marian.

    Needs a graph that is exported for it; such a graph also supports the other rules.
    """

    @property
    def counts(self) -> bool:
        """Whether a search ends when as many hypotheses as beams have finished."""
        return self in (StopRule.FIRST, StopRule.NARROW)


class LengthNorm(StrEnum):
    """The divisor of a log-probability, given the exponent alpha and the length n, including EOS."""

    WU = "wu"
    """((5 + n) / 6)^alpha: Wu et al. (2016), equation 14, as in tensor2tensor."""
    POWER = "power"
    """n^alpha, as in fairseq, Marian, CTranslate2 and transformers."""


@dataclass(frozen=True, slots=True)
class DecodingOptions:
    """Search options of one sentence; those of the same batch may differ."""

    max_decoding_length: int
    """Maximum tokens of the translation, including EOS."""
    beam_size: int = 4
    num_hypotheses: int = 1
    length_penalty: float = 0.6
    """The exponent alpha of `length_norm`; 0 ranks by plain log-probability."""
    length_norm: LengthNorm = LengthNorm.WU
    min_decoding_length: int = 0
    """Minimum tokens before EOS."""
    target_prefix: tuple[int, ...] = ()
    """Forced beginning of every hypothesis; its log-probability is not part of scores."""
    start_tokens: tuple[int, ...] = ()
    """Tokens forced before `target_prefix`, and not part of the hypotheses' ids."""
    no_repeat_ngram_size: int = 0
    """Size of n-grams that must not repeat within a hypothesis; 0 means no restriction."""
    stop_rule: StopRule = StopRule.FIRST
    channel_tag: int | None = None
    """The tag for translating back into the source language; if set, the channel model reranks the hypotheses
    (see `rerank.py`)."""
    channel_weight: float = 0.3
    """Weight of the channel model's log-probability."""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: a value is out of range, or two contradict each other.
        """
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
        """All forced tokens at the beginning."""
        return self.start_tokens + self.target_prefix


class FinishReason(StrEnum):
    """Why a hypothesis ended: with EOS, or at the maximum length."""

    END = "end"
    LENGTH = "length"


Work = tuple[tuple[int, ...], DecodingOptions]
"""The ids of a sentence, and how to search for its translation."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One translation of a sentence."""

    ids: tuple[int, ...]
    """Without BOS and EOS."""
    score: float
    """Log-probability divided by the length penalty."""
    finish_reason: FinishReason


COSTLY_TOKENS = 800
"""Length at which each token costs twice as much as in a short sentence; measured with the bundled model."""


def tokens_of(source_ids: Sequence[int], options: DecodingOptions) -> int:
    """Estimate the tokens of source and target, assuming equal lengths unless a longer target is forced."""
    return 2 * max(len(source_ids), len(options.forced_tokens))


@dataclass(eq=False, slots=True)
class DecodingSequence:
    """One sentence in the engine. Its `future` always ends: with hypotheses, an error, or cancelled."""

    source_ids: tuple[int, ...]
    options: DecodingOptions
    arrived: float
    """Seconds by the engine's clock; so are `deadline` and `joined`."""
    deadline: float | None = None
    joined: float = math.nan
    """When it joined a batch."""
    estimated: float | None = None
    """Estimated seconds from arrival until its request is done; None if no other sentence waited."""
    future: Future[list[Hypothesis]] = field(default_factory=Future)
    tokens: int = field(init=False)
    """See `tokens_of`."""
    cost: int = field(init=False)
    """Its work, in tokens of short sentences with four beams and without reranking, by measurement.

    It grows faster than its length, because of attention, and slower than the number of beams.
    """
    footprint: int = field(init=False)
    """The maximum memory it may take, in cache entries.

    In the worst case, beams share no entries except the forced ones. A source position also has keys and
    values, but in half the bytes, and in two copies at most.
    """

    def __post_init__(self) -> None:
        """Compute the sizes once, as the scheduler reads them often."""
        options, forced = self.options, len(self.options.forced_tokens)
        self.tokens = tokens_of(self.source_ids, options)
        work_per_token = (options.beam_size + 3) / 7 * (1 if options.channel_tag is None else 2)
        self.cost = round((self.tokens + self.tokens**2 // COSTLY_TOKENS) * work_per_token)
        entries = forced + options.beam_size * (options.max_decoding_length - forced)
        self.footprint = entries + -(-len(self.source_ids) // 4)

    def has_left(self, now: float) -> bool:
        """Check whether the sentence is cancelled, or its deadline has passed."""
        return self.future.cancelled() or self.is_expired(now)

    def is_expired(self, now: float) -> bool:
        """Check whether the deadline has passed."""
        return self.deadline is not None and now >= self.deadline


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model's graphs run."""

    provider: str
    """ONNX Runtime's execution provider, for example CPUExecutionProvider."""
    device: str
    """cpu, or the device's name."""
    num_nodes: int = 0
    """Nodes of the encoder and the decoder; 0 if they were not counted, as on a CPU."""
    num_on_device: int = 0
    """The nodes among them that the provider runs; ONNX Runtime leaves arithmetic on shapes to the CPU."""

    @property
    def share_on_device(self) -> float | None:
        """The share of these nodes; None if they were not counted."""
        return round(self.num_on_device / self.num_nodes, 3) if self.num_nodes else None

    def __str__(self) -> str:
        if not self.num_nodes:
            return self.provider
        return f"{self.provider} ({self.device}, {self.num_on_device} of {self.num_nodes} nodes)"


@dataclass(frozen=True, slots=True)
class StepStats:
    """Statistics of one step of one worker; durations in seconds."""

    rows: int
    """Sentences in the batch that was decoded."""
    admitted: int
    steps: int
    """Number of decoder steps."""
    source_tokens: int
    target_tokens: int
    """Tokens of the best hypotheses of finished sentences."""
    queue_waits: tuple[float, ...]
    """Waiting times of the admitted sentences."""
    encode_seconds: float
    decode_seconds: float
    rerank_seconds: float
    host_seconds: float
    """Everything else, such as scheduling and beam search."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The length of one run of the decoder, and what it must not decode."""

    steps: int
    """Maximum number of steps."""
    stop_after: int
    """Number of finished sentences that ends the run early."""
    banned: Ints
    """[N, 3]: row, beam and token that must not be decoded in any step."""


ROW = np.dtype(
    [
        ("position", np.int64),  # tokens decoded so far
        ("finished", np.int64),  # number of finished hypotheses
        ("best", np.float32),  # the best score of these
        ("beam_size", np.int64),
        ("length_penalty", np.float32),  # alpha
        ("narrow", np.int64),  # 1 if the stop rule is `narrow`
        ("likely", np.bool_),  # whether the search ends once no live beam's score exceeds `best`
        ("source", np.int64),  # the row among the `Sources`
        ("source_length", np.int64),  # tokens of the source
        ("cache", np.int64),  # the row of its entries in the previous run's caches
        ("place", np.int64),  # its place among the previous run's sentences
    ],
    align=True,
)
"""The decoder's state of a sentence, apart from its beams."""


@dataclass(slots=True)
class DecoderState:
    """The state between runs, on the host; see export/decoder.py for the contract."""

    rows: NDArray[np.void]
    """[B] of ROW"""
    ids: Ints
    """[B, K]"""
    cum_log_probs: Floats
    """[B, K]"""
    ancestors: Floats
    """[B, K, L], over the entries of the previous run's caches."""
