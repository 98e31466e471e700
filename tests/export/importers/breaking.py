"""Ways to break a model's files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def left_to_lfs(name: str) -> Break:
    """Replace a file by what `git clone` leaves of it without Git LFS."""

    def change(folder: Path) -> None:
        size = (folder / name).stat().st_size
        (folder / name).write_text(
            f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize {size}\n"
        )

    return change


def made_a_folder(name: str) -> Break:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return change


def made_large(name: str) -> Break:
    """Extend a file to just over 64 MiB; the file is sparse."""

    def change(folder: Path) -> None:
        with (folder / name).open("r+b") as file:
            file.truncate((1 << 26) + 1)

    return change


def deep_value() -> list[Any]:
    """Return nested lists with shared members, whose `repr` has a million strings."""
    found: list[Any] = ["x"] * 10
    for _ in range(5):
        found = [found] * 10
    return found
