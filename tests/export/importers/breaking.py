"""Sources that are broken in one way each, and what is expected of their import."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from export.__main__ import main

Break = Callable[[Path], object]


def removed(*names: str) -> Break:
    def change(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return change


def truncated(name: str) -> Break:
    def change(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) // 2])

    return change


def check_is_refused(
    whole: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Break,
    message: str,
) -> None:
    """Of a broken copy, one line says what is wrong, and nothing is written."""
    folder = Path(shutil.copytree(whole, tmp_path / whole.name))
    change(folder)
    before = sorted(tmp_path.rglob("*"))
    assert main(["import", str(folder), "--out", str(tmp_path / "bundle")]) == 1
    [line] = [one for one in capsys.readouterr().err.splitlines() if one.startswith("error: ")]
    assert message in line
    assert sorted(tmp_path.rglob("*")) == before
