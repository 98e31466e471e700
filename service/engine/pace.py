"""How many decoder steps a loop takes until it looks again at who joins and who leaves."""

from service.engine.config import EngineConfig

MOST_STEPS = 32
"""In one run, however fast they are: the cache holds all beams' entries until a run ends."""
ALONE = 3
"""Times as long as others a run of a lone sentence may take, as another loop is free for the next one."""


def until_next_look(
    config: EngineConfig, rows: int, step_seconds: float, *, others_wait: bool, is_alone: bool
) -> tuple[int, int]:
    """Steps until the next look, and how many finished sentences end them early.

    While nobody waits, a sentence is given out as soon as it is done; while somebody does, a quarter of the
    rows may come free before they are filled.

    Args:
        config: of the engine.
        rows: sentences in the loop's batch.
        step_seconds: what one of its steps took last; infinite before the first.
        others_wait: whether there are sentences that are in no batch yet.
        is_alone: whether the batch's one sentence is the only one in the engine.
    """
    if others_wait:
        return config.steps_per_run, max(1, rows // 4)
    patience = ALONE if is_alone and config.num_loops > 1 else 1
    fitting = int(patience * config.seconds_per_run / step_seconds)
    return max(config.steps_per_run, min(fitting, MOST_STEPS)), 1
