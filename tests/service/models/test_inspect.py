"""The description of a bundle for a terminal."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from service.models.bundle import MANIFEST, load
from service.models.inspect import describe


def test_what_a_bundle_says_of_itself_cannot_control_the_terminal(tiny_bundle: Path) -> None:
    bundle = load(tiny_bundle)
    provenance = bundle.manifest.provenance.model_copy(update={"licences": ["MIT\x1b[2J\nname x"]})
    manifest = bundle.manifest.model_copy(update={"provenance": provenance})
    lines = describe(replace(bundle, manifest=manifest)).split("\n")
    assert f"{'licence':<11} MIT\\x1b[2J\\nname x" in lines


@pytest.mark.parametrize("config", [{"model": 5}, {"model": None}, {}, {"model": {"layers": 2}}])
def test_a_bundle_is_described_whatever_its_training_configuration(
    config: dict[str, Any], tiny_bundle: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(tiny_bundle, tmp_path / "copy")
    manifest = json.loads((copy / MANIFEST).read_text("utf-8"))
    manifest["provenance"]["config"] = config
    (copy / MANIFEST).write_text(json.dumps(manifest), "utf-8")
    assert f"{'network':<11} not stated" in describe(load(copy)).split("\n")
