"""Sources that are broken in one way each, and what is expected of their import."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def made_a_folder(name: str) -> Break:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return change


def made_large(name: str) -> Break:
    """Of 64 MiB and more, most of which takes no room."""

    def change(folder: Path) -> None:
        with (folder / name).open("r+b") as file:
            file.truncate((1 << 26) + 1)

    return change


def deep_value() -> list[Any]:
    """Some lists that hold one another; written out, they have a million texts."""
    found: list[Any] = ["x"] * 10
    for _ in range(5):
        found = [found] * 10
    return found


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
    assert len(line) < 1000
    assert sorted(tmp_path.rglob("*")) == before
