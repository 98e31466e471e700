"""Sentences for a scheduler: as long as they are asked for, and translated by nobody."""

from service.engine.scheduler import Scheduler
from service.engine.types import DecodingOptions, DecodingSequence

OPTIONS = DecodingOptions(max_decoding_length=50)


def add_each(scheduler: Scheduler, line: list[DecodingSequence]) -> None:
    """Every sentence as a request of its own."""
    for one in line:
        scheduler.add([one])


def sequence(
    length: int = 5, deadline: float | None = None, limit: int | None = None
) -> DecodingSequence:
    """With `limit`, it is searched by one beam for so many tokens."""
    options = DecodingOptions(limit, beam_size=1) if limit else OPTIONS
    return DecodingSequence(tuple(range(length)), options, arrived=0.0, deadline=deadline)
