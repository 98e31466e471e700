"""Work of torch on several cores: one sentence or batch on each, instead of all cores on each operation.

The operations of a search step are so small that several threads spend most of their time waiting for one
another. On a machine with other work, each operation lasts as long as its last thread is kept waiting.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

from service.engine.cores import available_cores

Result = TypeVar("Result")


@contextmanager
def one_thread_an_operation() -> Iterator[None]:
    """Let torch run each operation on the thread that calls it, until the block ends."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def in_parallel(function: Callable[..., Result], *arguments: Sequence[Any]) -> Iterator[Result]:
    """Yield the results of `map(function, *arguments)`, computed on a thread for each core, in order."""
    count = min(map(len, arguments))
    pool = ThreadPoolExecutor(max(1, min(available_cores(), count)), "export")
    try:
        yield from pool.map(function, *arguments)
    finally:  # after an error or Ctrl-C, nobody waits for what still runs
        pool.shutdown(wait=False, cancel_futures=True)
