"""Functions that change a bundle, mostly to make it invalid."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from service.models.bundle_files import sha256

Break = Callable[[Path], object]
MISSING = object()


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest))


def setting(path: str, value: Any) -> Break:
    """Change the manifest's value at `path`, such as "limits.max_source_length"."""

    def change(folder: Path) -> None:
        manifest = manifest_of(folder)
        *parents, last = path.split(".")
        place: Any = manifest
        for parent in parents:
            place = place[int(parent)] if isinstance(place, list) else place[parent]
        key: Any = int(last) if isinstance(place, list) else last
        if value is MISSING:
            del place[key]
        else:
            place[key] = value
        write_manifest(folder, manifest)

    return change


def text(content: str | bytes) -> Break:
    """Replace the manifest."""
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / "manifest.json").write_bytes(data)


def replacing(old: str, new: str) -> Break:
    """Replace a part of the manifest's text."""

    def change(folder: Path) -> None:
        path = folder / "manifest.json"
        before = path.read_text()
        assert old in before
        path.write_text(before.replace(old, new, 1))

    return change


def in_place_of(name: str, make: Callable[[Path], object]) -> Break:
    """Replace a file."""

    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


def file(name: str, content: bytes, rule: str | None = None) -> Break:
    """Add a file with its digest, as the table of a rule."""

    def change(folder: Path) -> None:
        (folder / name).write_bytes(content)
        manifest = manifest_of(folder)
        manifest["files"][name] = sha256(folder / name)
        if rule:
            manifest["rules"][rule] = {"table": name}
        write_manifest(folder, manifest)

    return change


def named(name: str) -> Break:
    """Make the manifest name this file as its scorer."""

    def change(folder: Path) -> None:
        manifest = manifest_of(folder)
        manifest["scorer"] = name
        manifest["files"][name] = "0" * 64
        write_manifest(folder, manifest)

    return change


def numbered(cases: list[tuple[Break, str]]) -> list[str]:
    """Return ids for test cases of a change and the expected message."""
    return [f"{number}: {message}" for number, (_, message) in enumerate(cases)]
