"""Bundles whose weights cannot be read back, so that training cannot start from them."""

import json
from pathlib import Path
from typing import Any

import pytest

from model import bundle
from model.checkpoint import CheckpointError
from model.config import ConfigError
from tests.conftest import TINY_BUNDLE

MANIFEST = json.loads((TINY_BUNDLE / "manifest.json").read_text(encoding="utf-8"))
PROVENANCE = MANIFEST["provenance"]


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ([], "not a bundle's manifest"),
        ({}, "not a bundle's manifest: KeyError('graphs')"),
        (MANIFEST | {"provenance": None}, "not a bundle's manifest"),
        (MANIFEST | {"provenance": {"step": 1}}, "not a bundle's manifest: KeyError('config')"),
        (MANIFEST | {"provenance": {"config": {}}}, "not a bundle's manifest: KeyError('step')"),
        (MANIFEST | {"graphs": {"int8": {}}}, "has no fp32 or fp16 graphs"),
        (MANIFEST | {"provenance": PROVENANCE | {"origin": {"name": "a"}}}, "is an imported model"),
    ],
)
def test_an_invalid_manifest_is_refused(tmp_path: Path, manifest: Any, message: str) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(CheckpointError) as error:
        bundle.load(tmp_path)
    assert message in str(error.value)


def test_an_invalid_configuration_is_refused(tmp_path: Path) -> None:
    manifest = MANIFEST | {"provenance": PROVENANCE | {"config": {"network": {}}}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ConfigError, match="unknown section"):
        bundle.load(tmp_path)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        bundle.load(tmp_path / "none")
