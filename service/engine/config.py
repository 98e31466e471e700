"""The limits of one engine. Imports nothing from the project."""

from dataclasses import dataclass, replace
from typing import Self

MAX_WORKERS = 1024
"""Limit for the batches that run in parallel."""
SHARE_FOR_CACHES, CACHE_COPIES = 0.5, 4
"""The share of a device's memory that a batch's caches may take; a run holds about so many copies of them."""
ENTRIES_A_SENTENCE = 1024
"""Cache entries that a sentence with 4 beams and a limit of 256 tokens may take."""
LEAST_SEQS, MOST_SEQS = 16, 256
"""Limits for the sentences in a batch on a device."""
FUSED_KEYS = 4
"""`keys_multiple` on CUDA."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How much work an engine accepts, and how it divides the work into steps."""

    num_workers: int = 1
    """Batches that run in parallel, one thread each; one per core is best."""
    max_num_seqs: int = 16
    """Maximum sentences in one worker's batch."""
    max_num_batched_tokens: int = 5120
    """Limit for sentences x the largest `DecodingSequence.footprint` of a batch of two or more."""
    max_waiting: int = 2000
    """Maximum number of waiting sentences of new requests; more are refused."""
    max_waiting_tokens: int = 200_000
    """Limit for `DecodingSequence.tokens` of these sentences; more are refused."""
    keys_multiple: int = 1
    """Each step should attend to a multiple of so many cache entries: 4 for the fused kernels of CUDA."""
    steps_per_run: int = 4
    """Minimum number of decoder steps between two points at which sentences may join and leave."""
    seconds_per_run: float = 0.008
    """While no sentence waits, a run takes more steps if they fit in this time."""
    max_failures: int = 3
    """Steps with failures after which a known sentence is translated; the engine stops if that fails, too."""
    stall_seconds: float = 60.0
    """A run that takes longer is considered hung, and the engine stops."""

    def __post_init__(self) -> None:
        """Check the limits.

        Raises:
            ValueError: a limit is too small for any sentence.
        """
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if value < 1 and not name.endswith(("seconds", "seconds_per_run")):
                raise ValueError(f"{name} = {value} must be at least 1")
        if not self.stall_seconds > 0:
            raise ValueError(f"stall_seconds = {self.stall_seconds} must be more than 0")

    def for_device(self, memory: int, entry: int) -> Self:
        """Return the same limits, but those of a batch by a device's memory.

        Args:
            memory: that a model may take, in bytes.
            entry: memory of a cache entry in all layers, in bytes.
        """
        entries = int(memory * SHARE_FOR_CACHES / (CACHE_COPIES * entry))
        return replace(
            self,
            max_num_seqs=min(MOST_SEQS, max(LEAST_SEQS, entries // ENTRIES_A_SENTENCE)),
            max_num_batched_tokens=max(ENTRIES_A_SENTENCE, entries),
            keys_multiple=FUSED_KEYS,
        )
