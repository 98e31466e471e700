"""What a bundle must be able to do before it is served."""

import json
import shutil
import threading
from pathlib import Path

import pytest

from service.bundle import load
from service.errors import BundleError
from service.metrics import Metrics
from service.serving import start_model
from service.settings import Settings
from tests.conftest import TINY_BUNDLE


@pytest.mark.parametrize(
    ("part", "message"), [("scorer", "first translation failed"), ("decoder", "cannot run on cpu")]
)
def test_a_graph_that_is_another_is_found_before_the_first_request(
    tmp_path: Path, part: str, message: str
) -> None:
    folder = shutil.copytree(TINY_BUNDLE, tmp_path / "bundle")
    manifest = json.loads((folder / "manifest.json").read_text())
    where = manifest if part == "scorer" else manifest["graphs"]["int8"]
    where[part] = "encoder.int8.onnx"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    before = set(threading.enumerate())
    with pytest.raises(BundleError, match=message):
        start_model(load(folder), Settings(precision="int8", device="cpu"), Metrics())
    assert set(threading.enumerate()) <= before
