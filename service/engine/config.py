"""Limits of one engine. Imports nothing of the project."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How much an engine takes on, and how it cuts its work into steps."""

    num_workers: int = 1
    """Batches that run side by side, one thread each; best is one a core."""
    max_num_seqs: int = 16
    """Sentences in one worker's batch."""
    max_num_batched_tokens: int = 5120
    """Bound on a batch's sentences x the largest `DecodingSequence.footprint`; one alone may have more."""
    max_waiting: int = 2000
    """Sentences that may wait; more are refused."""
    max_waiting_tokens: int = 200_000
    """Bound on `DecodingSequence.tokens` of all that wait; more are refused."""
    max_padding: int = 3
    """Padding of sources that are encoded together, in tokens: another run of the encoder costs as much."""
    steps_per_run: int = 4
    """Fewest decoder steps in one iteration of the scheduler, which lets sentences join and leave."""
    seconds_per_run: float = 0.008
    """While nobody waits, more steps are taken as long as they fit in this time: fewer iterations."""
    max_consecutive_failures: int = 3
    """Failed steps in a row after which the engine is dead, unless it proves that it works."""
    stall_seconds: float = 60.0
    """A run that has not ended for so long hangs, and the engine is dead."""

    def __post_init__(self) -> None:
        """Refuse limits that nothing fits in."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if value < 1 and not name.endswith(("seconds", "seconds_per_run")):
                raise ValueError(f"{name} = {value} must be at least 1")
        if not self.stall_seconds > 0:
            raise ValueError(f"stall_seconds = {self.stall_seconds} must be more than 0")
