"""The first of many mutations of each format, and regressions that mutations found."""

import shutil
from pathlib import Path

import pytest

from tests.export.importers import m2m100_folders
from tests.export.importers.mutating import FORMATS, failure_of, refusal_of

MUTATIONS = 15
"""Mutations per format."""


@pytest.mark.parametrize("name", FORMATS)
def test_whatever_is_broken_is_told_in_words(tmp_path: Path, name: str) -> None:
    whole = tmp_path / "opus-mt-de-en"
    FORMATS[name](whole)
    refused = 0
    for seed in range(MUTATIONS):
        folder = tmp_path / f"{seed}" / whole.name
        refused += failure_of(whole, seed, folder)[1] is not None
        shutil.rmtree(folder.parent)
    assert refused > MUTATIONS / 3


def test_a_piece_that_is_no_text_is_refused(tmp_path: Path) -> None:
    m2m100_folders.write_folder(tmp_path)
    path = tmp_path / "sentencepiece.bpe.model"
    path.write_bytes(path.read_bytes().replace("▁".encode(), b"\xff\xff\xff"))
    said = refusal_of(tmp_path, "no text")
    assert said is not None
    assert said.startswith(f"{path}: is not a SentencePiece model: ")
