"""Files that something went wrong with, of every format: each is refused in words, or read all the same."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from export.importers.conversion import network_of
from export.importers.formats import format_of
from export.importers.imported import SourceError
from export.importers.languages import directions_of
from model.checks import ConfigError
from tests.export.importers import (
    ctranslate2_folders,
    fairseq_checkpoints,
    m2m100_folders,
    marian_folders,
    marian_npz_models,
    opennmt_checkpoints,
)

MUTATIONS = 20
"""Of each format."""
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    7,
    1.5,
    10**30,
    float("nan"),
    "x",
    "",
    [],
    [1],
    {},
    {"a": []},
)
FORMATS: dict[str, Callable[[Path], Any]] = {
    "marian": marian_folders.write_folder,
    "m2m100": m2m100_folders.write_folder,
    "ctranslate2": ctranslate2_folders.write_folder,
    "npz": marian_npz_models.write_model,
    "fairseq": fairseq_checkpoints.write_folder,
    "opennmt": opennmt_checkpoints.write_folder,
}


@pytest.mark.parametrize("name", FORMATS)
def test_whatever_is_broken_is_told_in_words(tmp_path: Path, name: str) -> None:
    whole = tmp_path / "opus-mt-de-en"
    FORMATS[name](whole)
    for seed in range(MUTATIONS):
        folder = Path(shutil.copytree(whole, tmp_path / f"{seed}" / whole.name))
        what = mutate(folder, random.Random(seed))
        said = refusal_of(folder, f"seed {seed}: {what}")
        assert said is None or str(folder) in said or "--" in said, (seed, what, said)
        shutil.rmtree(folder.parent)


def test_a_piece_that_is_no_text_is_refused(tmp_path: Path) -> None:
    m2m100_folders.write_folder(tmp_path)
    path = tmp_path / "sentencepiece.bpe.model"
    path.write_bytes(path.read_bytes().replace("▁".encode(), b"\xff\xff\xff"))
    said = refusal_of(tmp_path, "no text")
    assert said is not None
    assert said.startswith(f"{path}: is not a SentencePiece model: ")


def refusal_of(folder: Path, what: str) -> str | None:
    """Why it is not read; None if it is."""
    try:
        imported = format_of(folder).read(folder)
        directions_of(imported, ["de"], ["en"])
        network_of(imported)
    except (SourceError, ConfigError) as error:
        return str(error)
    except Exception as error:
        raise AssertionError(f"{what}: {error!r}") from error
    return None


def mutate(folder: Path, rng: random.Random) -> str:
    """Break one file in one way; returns what was done."""
    path = rng.choice(sorted(one for one in folder.rglob("*") if one.is_file()))
    data = bytearray(path.read_bytes())
    if path.suffix == ".json" and rng.random() < 0.7:
        said = json.loads(data)
        place = rng.randrange(len(said)) if said else 0
        value = rng.choice(VALUES)
        if isinstance(said, list):
            said[place] = value
        else:
            said[sorted(said)[place]] = value
        path.write_text(json.dumps(said), encoding="utf-8")
        return f"{path.name}: value {place} is {value!r}"
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
