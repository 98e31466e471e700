"""What the updates of the weights read, made before they need it: by a thread, or by processes."""

import queue
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass

from torch.utils.data import DataLoader, Dataset

from model.config import TrainingConfig
from model.data.batches import Batcher, Plan, Update
from model.data.candidates import Candidates
from model.distributed import Processes

UPDATES_AHEAD = 4
"""Of the thread, or of each process."""


@dataclass(frozen=True)
class Reader:
    """Reads one process's share of the text, and of the candidates, if there are any."""

    batcher: Batcher
    candidates: Candidates | None
    training: TrainingConfig
    processes: Processes

    def updates(self, step: int, epoch: int, batch: int) -> Generator[Update]:
        """One update after another, beginning with the one after `step`, at that batch of the epoch."""
        rank, world = self.processes.rank, self.processes.world
        plans = self.batcher.plans(epoch, batch, self.training.accumulate_batches, rank, world)
        if self.candidates:
            plans = with_lists(plans, step, self.training.risk_batches, rank, world)
        pin = self.processes.device.type == "cuda"
        return made_ahead(plans, self._made, self.training.data_workers, pin)

    def _made(self, plan: Plan) -> Update:
        update = self.batcher.update(plan)
        if not self.candidates:
            return update
        return update._replace(candidates=[self.candidates.batch(one) for one in plan.candidates])


def with_lists(
    plans: Iterator[Plan], step: int, count: int, rank: int = 0, world: int = 1
) -> Iterator[Plan]:
    """The plans of the updates after `step`, with `count` batches of candidates for each process."""
    for number, plan in enumerate(plans, start=step):
        start, end = number * count * world, (number + 1) * count * world
        yield plan._replace(candidates=range(start + rank, end, world))


def made_ahead(
    plans: Iterator[Plan], make: Callable[[Plan], Update], workers: int, pin: bool
) -> Generator[Update]:
    """The planned updates in their order, by so many processes or a thread; `pin` for a GPU's copies.

    The processes are forked, and so share the text that is mapped into memory.
    """
    if not workers:
        yield from prefetch(map(make, plans), pin)
        return
    loader = DataLoader(
        _Updates(make),
        batch_size=None,
        collate_fn=lambda update: update,
        sampler=plans,
        num_workers=workers,
        prefetch_factor=UPDATES_AHEAD,
        pin_memory=pin,
        worker_init_fn=_ignore_signals,
        multiprocessing_context="fork",
    )
    made = iter(loader)
    try:
        yield from made
    finally:
        # left to the garbage collector, which may come after what would tell the processes to end, they are
        # sent a SIGTERM that they ignore
        made._shutdown_workers()  # type: ignore[attr-defined]  # noqa: SLF001


class _Updates(Dataset[Update]):
    """Updates by their plans, as torch's loader asks for them."""

    def __init__(self, make: Callable[[Plan], Update]) -> None:
        self.make = make

    def __getitem__(self, plan: Plan) -> Update:
        return self.make(plan)


def _ignore_signals(_worker: int) -> None:
    """Ctrl-C, and SIGTERM from torchrun or systemd, reach all processes; training has a step to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def prefetch(updates: Iterator[Update], pin: bool) -> Generator[Update]:
    """The same updates, made by a thread a few ahead of their use; `pin` their memory for a GPU's copies."""
    made: queue.Queue[Update | BaseException] = queue.Queue(UPDATES_AHEAD)
    stopped = threading.Event()

    def offer(one: Update | BaseException) -> None:
        while not stopped.is_set():
            with suppress(queue.Full):
                made.put(one, timeout=0.1)
                return

    def make() -> None:
        try:
            for update in updates:
                offer(update.pin_memory() if pin else update)
                if stopped.is_set():
                    return
        except BaseException as error:  # raised again where the update is wanted
            offer(error)

    maker = threading.Thread(target=make, name="batches", daemon=True)
    maker.start()
    try:
        while True:
            one = made.get()
            if isinstance(one, BaseException):
                raise one
            yield one
    finally:
        stopped.set()
        maker.join()  # a thread that is inside torch when the interpreter ends aborts the process
