"""Random mutations of files in every format: each is refused with a message, or can still be read."""

import argparse
import json
import random
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from export.importers.archive import unpacked
from export.importers.conversion import network_of
from export.importers.formats import format_of
from export.importers.imported import SourceError
from export.importers.languages import directions_of
from model.checks import ConfigError
from tests.export.importers import (
    ctranslate2_files,
    ctranslate2_folders,
    fairseq_checkpoints,
    m2m100_folders,
    marian_folders,
    marian_npz_models,
    opennmt_checkpoints,
)

VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 7, 1.5, 10**30, float("nan")),
    *("x", "", "../../secret", "\0", [], [1], {}, {"a": []}),
)
TENSORS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda one: one[:-1],
    lambda one: one.T if one.dim() == 2 else one[None],
    lambda one: one.long(),
    lambda one: one * float("nan"),
    lambda one: one.bool(),
    lambda one: one[:0],
    lambda one: one.flatten(),
    lambda one: one.half(),
    lambda one: torch.cat((one, one)),
    lambda one: torch.tensor(1.0),
)


def write_argos(folder: Path) -> None:
    """Write an unpacked package of Argos."""
    ctranslate2_folders.write_folder(folder / "model")
    (folder / "model" / "sentencepiece.model").rename(folder / "sentencepiece.model")
    metadata = {"type": "translate", "from_code": "de", "to_code": "en", "package_version": "1.9"}
    (folder / "metadata.json").write_text(json.dumps(metadata))


def write_package(folder: Path) -> None:
    """Write a package as it is downloaded; the file has the folder's name."""
    with tempfile.TemporaryDirectory() as place:
        write_argos(Path(place))
        with zipfile.ZipFile(folder, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(one for one in Path(place).rglob("*") if one.is_file()):
                archive.write(path, Path("translate-de_en", path.relative_to(place)))


FORMATS: dict[str, Callable[[Path], object]] = {
    "marian": marian_folders.write_folder,
    "nllb": m2m100_folders.write_folder,
    "m2m100": lambda folder: m2m100_folders.write_folder(folder, kind="m2m100"),
    "ctranslate2": ctranslate2_folders.write_folder,
    "argos": write_argos,
    "package": write_package,
    "npz": marian_npz_models.write_model,
    "fairseq": fairseq_checkpoints.write_folder,
    "opennmt": opennmt_checkpoints.write_folder,
}


def failure_of(whole: Path, seed: int, folder: Path) -> tuple[str, str | None]:
    """Mutate a copy of a model at `folder`; return the mutation, and the error message if there was one.

    Raises:
        AssertionError: it fails with another error, or the message does not name the file.
    """
    if whole.is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(whole, folder)
    else:
        shutil.copytree(whole, folder)
    what = f"seed {seed}: {mutate(folder, random.Random(seed))}"
    message = refusal_of(folder, what)
    names = ("--", str(folder), tempfile.gettempdir())
    if message is not None and not any(name in message for name in names):
        raise AssertionError(f"{what}: {message}")
    return what, message


def refusal_of(source: Path, what: str) -> str | None:
    """Read a model; return the error message, or None if it can be read.

    Raises:
        AssertionError: it fails with another error.
    """
    try:
        with unpacked(source) as folder:
            imported = format_of(folder).read(folder)
            directions_of(imported, ["de"], ["en"])
            network_of(imported)
    except (SourceError, ConfigError) as error:
        return str(error)
    except Exception as error:
        raise AssertionError(f"{what}: {error!r:.300}") from error
    return None


def mutate(folder: Path, rng: random.Random) -> str:
    """Break one file in one way; return a description."""
    paths = [folder] if folder.is_file() else [one for one in folder.rglob("*") if one.is_file()]
    path = rng.choice(sorted(paths))
    edit = EDITS.get("model.bin" if path.name == "model.bin" else path.suffix)
    if edit is not None and rng.random() < 0.6:
        return f"{path.name}: {edit(path, rng)}"
    data = bytearray(path.read_bytes())
    kind = rng.choice(("cut", "flip", "flip", "swap", "remove", "empty", "more"))
    if kind == "remove":
        path.unlink()
    elif kind == "cut":
        path.write_bytes(data[: rng.randrange(len(data) + 1)])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "more":
        path.write_bytes(data + rng.randbytes(9))
    elif data:
        for _ in range(rng.choice((1, 3, 30))):
            at = rng.randrange(min(len(data), rng.choice((64, 4096, len(data)))))
            data[at] = rng.randrange(256) if kind == "flip" else data[rng.randrange(len(data))]
        path.write_bytes(data)
    return f"{path.name}: {kind}"


def change(node: Any, rng: random.Random, where: str = "") -> str:
    """Change, remove or add one value in nested dicts, lists and options; return a description."""
    found: Any = vars(node) if isinstance(node, argparse.Namespace) else node
    if isinstance(found, dict) and rng.random() < 0.05:
        found["more"] = rng.choice(VALUES)
        return f"{where}.more added"
    key = rng.randrange(len(found)) if isinstance(found, list) else rng.choice(sorted(found))
    place, value = f"{where}.{key}", found[key]
    is_nested = isinstance(value, dict | list | argparse.Namespace) and value
    if is_nested and rng.random() < 0.9:
        return change(value, rng, place)
    if isinstance(value, torch.Tensor) and rng.random() < 0.8:
        at = rng.randrange(len(TENSORS))
        found[key] = TENSORS[at](value) if value.dim() else value[None]
        return f"{place} changed in way {at}"
    if rng.random() < 0.2:
        del found[key]
        return f"{place} removed"
    found[key] = rng.choice(VALUES)
    return f"{place} = {found[key]!r}"


def _edit_json(path: Path, rng: random.Random) -> str:
    value = json.loads(path.read_bytes())
    what = change(value, rng)
    path.write_text(json.dumps(value), encoding="utf-8")
    return what


def _edit_checkpoint(path: Path, rng: random.Random) -> str:
    with torch.serialization.safe_globals([argparse.Namespace]):
        checkpoint = torch.load(path, weights_only=True)
    what = change(checkpoint, rng)
    torch.save(checkpoint, path)
    return what


def _tensors_of(found: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Return the values that are still tensors."""
    return {
        key: one.contiguous().clone() for key, one in found.items() if isinstance(one, torch.Tensor)
    }


def _edit_safetensors(path: Path, rng: random.Random) -> str:
    tensors: dict[str, Any] = load_file(path)
    what = change(tensors, rng)
    save_file(_tensors_of(tensors), path)
    return what


def _edit_npz(path: Path, rng: random.Random) -> str:
    with np.load(path) as file:
        tensors: dict[str, Any] = {name: torch.from_numpy(file[name]) for name in file.files}
    what = change(tensors, rng)
    with path.open("wb") as out:
        arrays: dict[str, Any] = {key: one.numpy() for key, one in _tensors_of(tensors).items()}
        np.savez(out, **arrays)
    return what


def _edit_ctranslate2(path: Path, rng: random.Random) -> str:
    file = ctranslate2_files.read_file(path)
    tensors: dict[str, Any] = {
        key: torch.from_numpy(np.array(one)) for key, one in file.variables.items()
    }
    what = change(tensors, rng)
    kinds = set(ctranslate2_files.TYPES.values())
    arrays = {key: one.numpy() for key, one in _tensors_of(tensors).items()}
    file.variables = {
        key: one if one.dtype.type in kinds else one.astype(np.int32) for key, one in arrays.items()
    }
    ctranslate2_files.write_file(path, file)
    return what


EDITS: dict[str, Callable[[Path, random.Random], str]] = {
    ".json": _edit_json,
    ".pt": _edit_checkpoint,
    ".safetensors": _edit_safetensors,
    ".npz": _edit_npz,
    "model.bin": _edit_ctranslate2,
}
"""Functions that change a value in a file, by suffix or name."""
