"""Bundles are published only if verified, completely or not at all, and always with the same bytes."""

import json
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from export import bundle_writer
from export.__main__ import main
from export.bundle_writer import write_bundle
from export.graph import GraphBuilder
from export.material import ExportOptions, Material, material_of
from export.verify import VerificationError, engine_translations
from export.weights import MIN_MAPPED, WEIGHTS, WeightsFile, initializers
from model import bundle as training_bundle
from model.checkpoint import Checkpoint, save
from model.transformer import Transformer
from service.models import bundle
from service.models.bundle import sha256
from tests import toy

OPTIONS = ExportOptions("test", precisions=("fp32", "fp16", "int8"), golden_sentences=12)


@pytest.fixture
def text() -> dict[str, list[str]]:
    pairs = toy.sentences()[::15]
    return {"de": [pair[0] for pair in pairs], "en": [pair[1] for pair in pairs]}


def test_a_bundle_loads_and_a_second_export_has_the_same_bytes(
    checkpoint: Checkpoint, text: dict[str, list[str]], tmp_path: Path
) -> None:
    first = write_bundle(checkpoint, text, tmp_path / "one", OPTIONS)
    second = write_bundle(checkpoint, text, tmp_path / "two", OPTIONS)
    assert first.files == second.files
    assert len(first.files) == 10
    loaded = bundle.load(tmp_path / "one")
    assert loaded.manifest.graphs.keys() == {"fp32", "fp16", "int8"}
    assert loaded.manifest.provenance.step == checkpoint.step
    golden = [json.loads(line) for line in loaded.read_text("golden.jsonl").splitlines()]
    tags = {one.target: one.tag for one in loaded.manifest.directions}
    assert {one["target"] for one in golden} == {"de", "en"}
    assert all(one["source_ids"][0] == tags[one["target"]] for one in golden)


def test_training_reads_back_the_weights_that_were_exported(
    checkpoint: Checkpoint, text: dict[str, list[str]], tmp_path: Path
) -> None:
    write_bundle(checkpoint, text, tmp_path / "b", replace(OPTIONS, precisions=("fp32",)))
    again = training_bundle.load(tmp_path / "b")
    assert again.config == checkpoint.config
    assert again.weights.keys() == checkpoint.weights.keys()
    for name, tensor in checkpoint.weights.items():
        assert again.weights[name].equal(tensor), name


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_corrupted_weight_fails_verification_and_publishes_nothing(
    checkpoint: Checkpoint,
    text: dict[str, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    precision: bundle.Precision,
) -> None:
    initializer = GraphBuilder.initializer

    def corrupting(builder: GraphBuilder, name: str, array: np.ndarray) -> str:
        if name.startswith("decoder.0.feed_forward.w_2.weight") and builder.prefix:
            array = np.array(array, order="C")
            values = array.reshape(-1).view(np.uint8)
            values[: len(values) // 2] ^= 0b01000000
        return initializer(builder, name, array)

    monkeypatch.setattr(GraphBuilder, "initializer", corrupting)
    with pytest.raises(VerificationError, match=precision):
        write_bundle(checkpoint, text, tmp_path / "b", replace(OPTIONS, precisions=(precision,)))
    assert list(tmp_path.iterdir()) == []


def test_the_network_is_freed_before_verification_and_graphs_hold_no_large_weights(
    checkpoint: Checkpoint,
    text: dict[str, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = replace(OPTIONS, precisions=("int8",), golden_sentences=1)
    network: list[weakref.ref[Transformer]] = []
    inline: list[int] = []
    save, run = WeightsFile.save, engine_translations

    def make() -> Material:
        material = material_of(checkpoint, text, options)
        network.append(weakref.ref(material.network))
        return material

    def measuring(file: WeightsFile, model: onnx.ModelProto, name: str) -> None:
        inline.append(max(len(one.raw_data) for one in initializers(model.graph)))
        save(file, model, name)

    def running(*arguments: Any) -> Any:
        assert network[0]() is None
        return run(*arguments)

    monkeypatch.setattr(WeightsFile, "save", measuring)
    monkeypatch.setattr(bundle_writer, "engine_translations", running)
    bundle_writer.publish(make, tmp_path / "b", options)
    assert len(inline) == 3
    assert max(inline) < MIN_MAPPED <= (tmp_path / "b" / WEIGHTS).stat().st_size


def test_a_folder_that_is_not_a_bundle_is_not_overwritten(
    checkpoint: Checkpoint, text: dict[str, list[str]], tmp_path: Path
) -> None:
    (tmp_path / "letters").mkdir()
    with pytest.raises(FileExistsError, match="letters exists and is not a bundle"):
        write_bundle(checkpoint, text, tmp_path / "letters", OPTIONS)


def test_a_place_that_cannot_become_a_bundle_is_refused_at_first(tmp_path: Path) -> None:
    for target in ("letters", "loop", "missing"):
        (tmp_path / "letters").mkdir(exist_ok=True)
        (tmp_path / "loop").unlink(missing_ok=True)
        (tmp_path / "loop").symlink_to(target)
        with pytest.raises(FileExistsError, match="loop is a link, which a bundle cannot replace"):
            bundle_writer.check_place(tmp_path / "loop")
    with pytest.raises(OSError, match="is not UTF-8"):
        bundle_writer.check_place(tmp_path / "a\udcff")


def test_the_command_line_exports_a_run_and_keeps_the_rules_of_an_earlier_bundle(
    checkpoint: Checkpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path / "run", checkpoint, {}, keep=2)
    toy.write_corpus(tmp_path / "data", train=1, valid=10)
    arguments = [
        str(tmp_path / "run"),
        "--data",
        str(tmp_path / "data"),
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*arguments, "--precisions", "int8", "--licence", "CC0"]) == 0
    assert "out: out, step 900" in capsys.readouterr().out
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["provenance"]["licences"] == ["CC0"]
    rules: dict[str, dict[str, Any]] = {
        "names": {"table": "places.tsv"},
        "clauses": {"max_words": 7},
    }
    tables = {"places.tsv": "de\ten\n", "more/places.tsv": "en\tde\n"}
    _add_by_hand(tmp_path / "out", rules, tables, memory="more/places.tsv")
    for like in ([], ["--like", str(tmp_path / "out")]):
        out = tmp_path / ("again" if like else "out")
        assert main([*arguments[:-1], str(out), "--precisions", "int8", *like]) == 0
        written = bundle.load(out).manifest
        assert (written.rules, written.memory) == (rules, "more/places.tsv")
        assert {name: (out / name).read_text() for name in tables} == tables
    (tmp_path / "own.tsv").write_text("de\ten\nprost\tcheers\n")
    arguments += ["--precisions", "int8", "--memory"]
    assert main([*arguments, str(tmp_path / "own.tsv")]) == 0
    loaded = bundle.load(tmp_path / "out")
    direction = next(one for one in loaded.manifest.directions if one.source == "de")
    assert loaded.manifest.memory == "memory.tsv"
    assert loaded.memory(direction).find("Prost!") == "Cheers!"
    (tmp_path / "own.tsv").write_text("de\ten\nprost\n")
    assert main([*arguments, str(tmp_path / "own.tsv")]) == 1
    assert "own.tsv: line 2 must have 2 cells" in capsys.readouterr().err
    arguments = arguments[:-1]
    assert main([*arguments[:-2], "--like", str(tmp_path / "none")]) == 1
    assert "is not a bundle" in capsys.readouterr().err
    assert main([str(tmp_path / "none"), *arguments[1:]]) == 1
    assert "neither a checkpoint nor a run" in capsys.readouterr().err


def _add_by_hand(
    folder: Path, rules: dict[str, dict[str, Any]], tables: dict[str, str], memory: str
) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, text in tables.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        manifest["files"][name] = sha256(folder / name)
    manifest |= {"rules": rules, "memory": memory}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_the_command_line_averages_runs(checkpoint: Checkpoint, tmp_path: Path) -> None:
    near = {name: tensor * 1.02 for name, tensor in checkpoint.weights.items()}
    save(tmp_path / "one", checkpoint, {}, keep=1)
    save(tmp_path / "two", replace(checkpoint, weights=near), {}, keep=1)
    toy.write_corpus(tmp_path / "data", train=1, valid=10)
    runs = [str(tmp_path / name) for name in ("one", "two")]
    options = ["--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    assert main([*runs, *options, "--precisions", "fp32"]) == 0
    mean = training_bundle.load(tmp_path / "out").weights
    for name, tensor in checkpoint.weights.items():
        torch.testing.assert_close(mean[name], tensor * 1.01)
