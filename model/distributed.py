"""Training in several processes: `torchrun --nproc-per-node N -m model.train ...`.

Each process takes one of every N consecutive batches, and gradients are summed over all of them. N processes
therefore compute the same as one process whose `accumulate_batches` is N times as large.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist

CPU = torch.device("cpu")
PATIENCE = timedelta(hours=12)
"""How long processes wait for the first one while it tokenizes or validates."""


@dataclass(frozen=True)
class Processes:
    """This process's rank among those that train together. By default, it is the only one."""

    rank: int = 0
    world: int = 1
    device: torch.device = CPU

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files and the log."""
        return self.rank == 0

    def sums(self, values: Sequence[float]) -> list[float]:
        """Sum each value over all processes."""
        if self.world == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor.tolist()]

    def wait(self) -> None:
        """Wait until all processes have called this."""
        if self.world > 1:
            dist.barrier()


@contextmanager
def joined() -> Iterator[Processes]:
    """Join the processes that torchrun started, or run as the only one."""
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = CPU
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
        # cuDNN's attention builds a new plan for each shape, and shapes rarely repeat: on an H100, an update
        # takes 250 ms with it and 58 ms without
        torch.backends.cuda.enable_cudnn_sdp(False)
    if world == 1:
        yield Processes(device=device)
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield Processes(rank, world, device)
    finally:
        dist.destroy_process_group()
