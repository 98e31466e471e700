"""The first of many mutations of each format, and regressions that mutations found."""

import shutil
from pathlib import Path

import pytest

from tests.export.importers import m2m100_folders
from tests.export.importers.mutating import FORMATS, failure_of, refusal_of

MUTATIONS = 15
"""Mutations per format."""


@pytest.mark.parametrize("name", FORMATS)
def test_every_mutation_is_refused_with_a_message_or_can_be_read(tmp_path: Path, name: str) -> None:
    whole = tmp_path / "opus-mt-de-en"
    FORMATS[name](whole)
    refused = 0
    for seed in range(MUTATIONS):
        folder = tmp_path / f"{seed}" / whole.name
        refused += failure_of(whole, seed, folder)[1] is not None
        shutil.rmtree(folder.parent)
    assert refused > MUTATIONS / 3


def test_a_piece_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    m2m100_folders.write_folder(tmp_path)
    path = tmp_path / "sentencepiece.bpe.model"
    path.write_bytes(path.read_bytes().replace("▁".encode(), b"\xff\xff\xff"))
    message = refusal_of(tmp_path, "not UTF-8")
    assert message is not None
    assert message.startswith(f"{path}: is not a SentencePiece model: ")
