"""A container's CPU quota, read from directory trees like Linux's."""

import math
from pathlib import Path

import pytest

from service.engine import cores
from service.engine.cores import available_cores, quota

VERSION_1 = "2:cpuacct:/\n1:cpu,cpuset:/docker/abc\n0::/\n"


def tree(folder: Path, files: dict[str, str]) -> tuple[Path, Path]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "cgroup", folder / "own"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, math.inf),
        ({"own": "0::/\n"}, math.inf),
        ({"own": "0::/\n", "cgroup/cpu.max": "max 100000\n"}, math.inf),
        ({"own": "0::/\n", "cgroup/cpu.max": "250000 100000\n"}, 2.5),
        ({"own": "0::/a/b\n", "cgroup/a/b/cpu.max": "300000 100000\n"}, 3.0),
        (
            {
                "own": "0::/a/b\n",
                "cgroup/a/b/cpu.max": "max 100000\n",
                "cgroup/a/cpu.max": "50000 100000\n",
                "cpu.max": "1000 100000\n",
            },
            0.5,
        ),
        ({"own": "0::/of/the/host\n", "cgroup/cpu.max": "200000 100000\n"}, 2.0),
        (
            {
                "own": VERSION_1,
                "cgroup/cpu/cpu.cfs_quota_us": "400000\n",
                "cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            4.0,
        ),
        (
            {
                "own": VERSION_1,
                "cgroup/cpu/docker/abc/cpu.cfs_quota_us": "-1\n",
                "cgroup/cpu/docker/abc/cpu.cfs_period_us": "100000\n",
            },
            math.inf,
        ),
        ({"own": "0::/\n", "cgroup/cpu.max": "nonsense\n"}, math.inf),
    ],
)
def test_the_smallest_quota_of_all_groups_applies(
    tmp_path: Path, files: dict[str, str], expected: float
) -> None:
    assert quota(*tree(tmp_path, files)) == expected


@pytest.mark.parametrize(("allowed", "expected"), [("150000", 2), ("10000", 1), ("max", 4)])
def test_a_fraction_of_a_core_is_rounded_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: str, expected: int
) -> None:
    groups, own = tree(tmp_path, {"own": "0::/\n", "cgroup/cpu.max": f"{allowed} 100000\n"})
    monkeypatch.setattr(cores, "CGROUPS", groups)
    monkeypatch.setattr(cores, "OWN", own)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert available_cores() == expected
