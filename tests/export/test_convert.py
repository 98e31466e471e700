"""An older bundle is converted to the current format, with the same weights, each stored once."""

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from export.convert import main
from export.weights import MIN_MAPPED, WEIGHTS, initializers
from service.engine.runner import OnnxModelRunner
from service.models.bundle import FORMAT_VERSION, load, sha256
from tests.conftest import TINY_BUNDLE

IDS, BIAS = np.array([[4, 10, 3]]), np.zeros((1, 3), np.float32)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The tiny bundle in format 8, whose graphs contain their own weights."""
    folder = tmp_path / "old"
    shutil.copytree(TINY_BUNDLE, folder)
    for path in folder.glob("*.onnx"):
        onnx.save(onnx.load(path), path)
    (folder / WEIGHTS).unlink()
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["weights"]
    manifest["format_version"] = 8
    manifest["files"] = {
        name: sha256(folder / name) for name in manifest["files"] if name != WEIGHTS
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def encoded(folder: Path) -> list[np.ndarray]:
    return OnnxModelRunner(*load(folder).graphs("int8")).encode(IDS, BIAS)


def weights(path: Path) -> dict[str, bytes]:
    graph = onnx.load(path).graph
    return {one.name: numpy_helper.to_array(one).tobytes() for one in initializers(graph)}


def test_an_older_bundle_loads_and_converting_it_changes_no_output(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load(old).manifest.format_version == 8
    (old / "MODEL_CARD.md").write_text("about it")
    new = tmp_path / "new"
    assert main([str(old), "--out", str(new)]) == 0
    assert f"{new}: tiny, format {FORMAT_VERSION}, 0.2 MB" in capsys.readouterr().out
    assert load(new).manifest.format_version == FORMAT_VERSION
    for one, other in zip(encoded(old), encoded(new), strict=True):
        assert np.array_equal(one, other)
    for path in old.glob("*.onnx"):
        assert weights(path) == weights(new / path.name)
    assert (new / "MODEL_CARD.md").read_text() == "about it"
    for name in ("golden.jsonl", "sentencepiece.model"):
        assert (new / name).read_bytes() == (old / name).read_bytes()


def test_each_weight_is_stored_once(old: Path, tmp_path: Path) -> None:
    assert main([str(old), "--out", str(tmp_path / "new")]) == 0
    large = [
        data
        for path in old.glob("*.onnx")
        for data in weights(path).values()
        if len(data) >= MIN_MAPPED
    ]
    assert len(large) > len(set(large))
    stored = (tmp_path / "new" / WEIGHTS).read_bytes()
    padding = len(stored) - sum(map(len, set(large)))
    assert 0 <= padding < 64 * len(set(large))
    for data in set(large):
        assert stored.count(data) == 1
        assert stored.index(data) % 64 == 0


def test_a_bundle_is_converted_in_place_and_a_second_time_without_change(
    old: Path, tmp_path: Path
) -> None:
    assert main([str(old)]) == 0
    first = load(old).manifest
    assert first.format_version == FORMAT_VERSION
    assert main([str(old)]) == 0
    assert load(old).manifest == first
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_graphs_and_tables_in_subfolders_are_converted(old: Path, tmp_path: Path) -> None:
    manifest = json.loads((old / "manifest.json").read_text())
    (old / "data").mkdir()
    (old / "scorer.int8.onnx").rename(old / "data" / "scorer")
    (old / "data" / "names.tsv").write_text("de\ten\n")
    manifest["scorer"] = "data/scorer"
    manifest["files"]["data/scorer"] = manifest["files"].pop("scorer.int8.onnx")
    manifest["files"]["data/names.tsv"] = sha256(old / "data" / "names.tsv")
    manifest["rules"] = {"names": {"table": "data/names.tsv"}}
    (old / "manifest.json").write_text(json.dumps(manifest))
    assert main([str(old), "--out", str(tmp_path / "new")]) == 0
    new = load(tmp_path / "new")
    assert new.read_text("data/names.tsv") == "de\ten\n"
    assert new.manifest.scorer == "scorer.int8.onnx"
    OnnxModelRunner(*new.graphs("fp32"), scorer=new.scorer).align([4, 10, 3], [2, 9, 3])


def test_a_bundle_that_cannot_be_converted_is_an_error_and_nothing_is_written(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "letters"
    taken.mkdir()
    assert main([str(old), "--out", str(taken)]) == 1
    assert "letters exists and is not a bundle" in capsys.readouterr().err
    manifest = json.loads((old / "manifest.json").read_text())
    (old / "manifest.json").write_text(json.dumps(manifest | {"format_version": 6}))
    assert main([str(old)]) == 1
    assert "format_version is 6" in capsys.readouterr().err
    (old / "manifest.json").write_text(json.dumps(manifest))
    (old / "encoder.int8.onnx").write_bytes(b"damaged")
    assert main([str(old)]) == 1
    assert "encoder.int8.onnx is damaged" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["letters", "old"]
