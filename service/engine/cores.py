"""How many cores there are for this process: those it may run on, and those its container pays for."""

import math
import os
from pathlib import Path

CGROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def available_cores() -> int:
    """Cores to compute on; at least 1."""
    may_run_on = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return max(1, min(may_run_on, math.ceil(min(quota(CGROUPS, OWN), may_run_on))))


def quota(cgroups: Path, own: Path) -> float:
    """Cores' worth of time that Linux's control groups leave a process, as in `docker run --cpus 2`; or inf.

    Where it has more threads than that, all of them stand still for a part of every tenth of a second.

    Args:
        cgroups: where control groups are mounted, of version 2, 1 or both.
        own: the file that names the groups of the process.
    """
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return math.inf
    least = math.inf
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mounted, files = cgroups, ["cpu.max"]
        elif "cpu" in controllers.split(","):
            mounted, files = cgroups / "cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        else:
            continue
        folder = mounted / path.strip("/")
        # a group has no more than those it is in; within a container, its path may be the host's
        groups = [
            folder,
            *(above for above in folder.parents if mounted in (above, *above.parents)),
        ]
        least = min(least, *(_allowed(group, files) for group in groups))
    return least


def _allowed(group: Path, files: list[str]) -> float:
    """Time a period over the period, of one group."""
    try:
        words = [word for name in files for word in (group / name).read_text().split()]
        time, period = words
        return int(time) / int(period) if time not in ("max", "-1") else math.inf
    except (OSError, ValueError):
        return math.inf
