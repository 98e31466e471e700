"""Several processes that train one network: `torchrun --nproc-per-node N -m model.train ...`.

Each takes its own of every N consecutive batches; gradients are summed, so that N processes do what one
does with `accumulate_batches` N times as large.
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
"""In which the first process tokenizes or validates while the others wait."""


@dataclass(frozen=True)
class Processes:
    """This process's place among those that train together; by default it is the only one."""

    rank: int = 0
    world: int = 1
    device: torch.device = CPU

    @property
    def is_first(self) -> bool:
        """Whether this one writes the files and the log."""
        return self.rank == 0

    def sums(self, values: Sequence[float]) -> list[float]:
        """Each value's sum over all processes."""
        if self.world == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor.tolist()]

    def wait(self) -> None:
        """Until all are here."""
        if self.world > 1:
            dist.barrier()


@contextmanager
def joined() -> Iterator[Processes]:
    """The processes that torchrun started, or this one alone."""
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = CPU
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
        # cuDNN's attention plans anew for each shape, and hardly two batches have the same one: on an H100,
        # an update takes 250 ms with it, and 58 without
        torch.backends.cuda.enable_cudnn_sdp(False)
    if world == 1:
        yield Processes(device=device)
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield Processes(rank, world, device)
    finally:
        dist.destroy_process_group()
