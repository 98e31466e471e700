"""The number of cores for this process, given its CPU affinity and its container's quota."""

import math
import os
from pathlib import Path

CGROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def available_cores() -> int:
    """Return the number of cores to use, at least 1."""
    may_run_on = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return max(1, min(may_run_on, math.ceil(min(quota(CGROUPS, OWN), may_run_on))))


def quota(cgroups: Path, own: Path) -> float:
    """Return the CPU quota of Linux's control groups in cores, as in `docker run --cpus 2`, or inf.

    With more busy threads than that, the kernel would pause all of them in every period of 0.1 s.

    Args:
        cgroups: the mount point of control groups, of version 2, 1 or both.
        own: the file that names the groups of the process.
    """
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return math.inf
    lowest = math.inf
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root, files = cgroups, ["cpu.max"]
        elif "cpu" in controllers.split(","):
            root, files = cgroups / "cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        else:
            continue
        folder = root / path.strip("/")
        # parent groups limit it, too; in a container, the path may be the host's and not exist
        groups = [
            folder,
            *(parent for parent in folder.parents if root in (parent, *parent.parents)),
        ]
        lowest = min(lowest, *(_allowed(group, files) for group in groups))
    return lowest


def _allowed(group: Path, files: list[str]) -> float:
    """Return the quota of one group, in cores."""
    try:
        words = [word for name in files for word in (group / name).read_text().split()]
        time, period = words
        return int(time) / int(period) if time not in ("max", "-1") else math.inf
    except (OSError, ValueError):
        return math.inf
