"""How many decoder steps a worker takes in one iteration of the scheduler."""

from service.engine.config import EngineConfig

MAX_STEPS = 32
"""In one run, however fast they are: the cache holds all beams' entries until a run ends."""
ALONE = 3
"""Times as long as others a run of a single sequence may take, as another worker is free for the next one."""


def step_budget(
    config: EngineConfig, rows: int, step_seconds: float, *, others_wait: bool, is_alone: bool
) -> tuple[int, int]:
    """Steps until the next iteration, and how many finished sentences end them early.

    While nobody waits, a sentence is given out as soon as it is done; while somebody does, a quarter of the
    rows may come free before they are filled.

    Args:
        config: of the engine.
        rows: sentences in the worker's batch.
        step_seconds: what one of its steps took last; infinite before the first.
        others_wait: whether there are sentences that are in no batch yet.
        is_alone: whether the batch's one sentence is the only one in the engine.
    """
    if others_wait:
        return config.steps_per_run, max(1, rows // 4)
    patience = ALONE if is_alone and config.num_workers > 1 else 1
    fitting = int(patience * config.seconds_per_run / step_seconds)
    return max(config.steps_per_run, min(fitting, MAX_STEPS)), 1
