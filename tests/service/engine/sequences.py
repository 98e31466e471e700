"""Makes sentences of given lengths for tests of the scheduler."""

from service.engine.scheduler import Scheduler
from service.engine.types import DecodingOptions, DecodingSequence

OPTIONS = DecodingOptions(max_decoding_length=50)


def add_each(scheduler: Scheduler, line: list[DecodingSequence]) -> None:
    """Make requests of one sentence each."""
    for one in line:
        scheduler.add([one])


def sequence(
    length: int = 5, deadline: float | None = None, limit: int | None = None
) -> DecodingSequence:
    """Make a sentence; with `limit`, for one beam and at most that many tokens."""
    options = DecodingOptions(limit, beam_size=1) if limit else OPTIONS
    return DecodingSequence(tuple(range(length)), options, arrived=0.0, deadline=deadline)
