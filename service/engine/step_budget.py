"""Chooses the number of decoder steps in one iteration of a worker."""

from service.engine.config import EngineConfig

MAX_STEPS = 32
"""Limit for one run, because the cache keeps the entries of all beams until a run ends."""
BUSY = 2
"""Factor for the minimum number of steps while sentences wait. They can only join when others finish, which
ends a run early. Longer runs leave fewer gaps in which a thread may wait for Python's lock."""
ALONE = 3
"""Factor for the time limit of a sentence that is alone, while another worker is free for the next one."""


def step_budget(
    config: EngineConfig, rows: int, step_seconds: float, *, others_wait: bool, is_alone: bool
) -> tuple[int, int]:
    """Return the maximum number of steps, and the number of finished sentences that ends them early.

    If no sentence waits, the run ends with the first finished sentence, to deliver it at once. Otherwise, it
    continues until a quarter of the rows are free.

    Args:
        config: the engine's limits.
        rows: number of sentences in the worker's batch.
        step_seconds: duration of a step in the last run; infinite before the first.
        others_wait: whether sentences wait for a batch.
        is_alone: whether the batch's only sentence is the only one in the engine.
    """
    if others_wait:
        return BUSY * config.steps_per_run, max(1, rows // 4)
    patience = ALONE if is_alone and config.num_workers > 1 else 1
    fitting = int(patience * config.seconds_per_run / step_seconds)
    return max(config.steps_per_run, min(fitting, MAX_STEPS)), 1
