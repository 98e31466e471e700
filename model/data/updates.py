"""Preparation of the batches of each update in advance, by a thread or by processes."""

import queue
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass

from torch.utils.data import DataLoader, Dataset

from model.config import TrainingConfig
from model.data.batches import Batcher, Plan, Update
from model.distributed import Processes

UPDATES_AHEAD = 4
"""How many updates the thread, or each process, prepares in advance."""


@dataclass(frozen=True)
class Reader:
    """Reads one training process's share of the text."""

    batcher: Batcher
    training: TrainingConfig
    processes: Processes

    def updates(self, epoch: int, batch: int) -> Generator[Update]:
        """Yield the updates from batch number `batch` of the epoch on."""
        rank, world = self.processes.rank, self.processes.world
        plans = self.batcher.plans(epoch, batch, self.training.accumulate_batches, rank, world)
        pin = self.processes.device.type == "cuda"
        return made_ahead(plans, self.batcher.update, self.training.data_workers, pin)


def made_ahead(
    plans: Iterator[Plan], make: Callable[[Plan], Update], workers: int, pin: bool
) -> Generator[Update]:
    """Yield the planned updates in order, made by `workers` processes, or by a thread if `workers` is 0.

    With `pin`, batches are in pinned memory, for fast copies to a GPU. The processes are forked, so they
    share the text that is mapped into memory.
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
    prepared = iter(loader)
    try:
        yield from prepared
    finally:
        # the garbage collector may come too late to notify the processes, and torch then sends them SIGTERM,
        # which they ignore
        prepared._shutdown_workers()  # type: ignore[attr-defined]  # noqa: SLF001


class _Updates(Dataset[Update]):
    """Updates by plan, in the form that torch's DataLoader expects."""

    def __init__(self, make: Callable[[Plan], Update]) -> None:
        self.make = make

    def __getitem__(self, plan: Plan) -> Update:
        return self.make(plan)


def _ignore_signals(_worker: int) -> None:
    """Ignore SIGINT and SIGTERM, which reach all processes, since training first finishes its step."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def prefetch(updates: Iterator[Update], pin: bool) -> Generator[Update]:
    """Yield the same updates, made in advance by a thread; with `pin`, in pinned memory."""
    ready: queue.Queue[Update | BaseException] = queue.Queue(UPDATES_AHEAD)
    stopped = threading.Event()

    def offer(update: Update | BaseException) -> None:
        while not stopped.is_set():
            with suppress(queue.Full):
                ready.put(update, timeout=0.1)
                return

    def make() -> None:
        try:
            for update in updates:
                offer(update.pin_memory() if pin else update)
                if stopped.is_set():
                    return
        except BaseException as error:  # raised again in the consumer
            offer(error)

    maker = threading.Thread(target=make, name="batches", daemon=True)
    maker.start()
    try:
        while True:
            update = ready.get()
            if isinstance(update, BaseException):
                raise update
            yield update
    finally:
        stopped.set()
        maker.join()  # the process aborts if a thread is inside torch when the interpreter exits
