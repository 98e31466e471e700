"""Loading bundles: valid ones load, and damaged ones are refused with the file's name."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.errors import BundleError
from service.models import bundle


@pytest.fixture
def copy(tiny_bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))


def test_a_valid_bundle_loads(tiny_bundle: Path) -> None:
    loaded = bundle.load(tiny_bundle)
    direction = loaded.manifest.direction("de", "en")
    assert direction is not None
    assert loaded.manifest.direction("de", "fr") is None
    assert all(path.is_file() for path in loaded.graphs("fp32"))
    with pytest.raises(BundleError, match="has no fp16 graphs, only fp32, int8"):
        loaded.graphs("fp16")


def test_a_flipped_byte_in_any_file_is_detected(copy: Path) -> None:
    names = sorted(bundle.load(copy).manifest.files)
    assert len(names) == 8
    for name in names:
        original = (copy / name).read_bytes()
        damaged = bytearray(original)
        damaged[len(damaged) // 2] ^= 1
        (copy / name).write_bytes(damaged)
        with pytest.raises(BundleError, match=f"{name} is damaged"):
            bundle.load(copy)
        (copy / name).write_bytes(original)
    bundle.load(copy)


def test_a_missing_file_is_named(copy: Path) -> None:
    (copy / "decoder.int8.onnx").unlink()
    with pytest.raises(BundleError, match=r"decoder\.int8\.onnx is missing"):
        bundle.load(copy)


def _set(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda manifest: manifest.__setitem__(key, value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            _set("format_version", 1),
            "format_version is 1, this service reads 7 to 9; export the bundle again",
        ),
        (_set("format_version", 10), "is 10, this service reads 7 to 9; update Attendant"),
        (_set("surprise", 1), "surprise: Extra inputs are not permitted"),
        (_set("directions", []), "directions: List should have at least 1 item"),
        (_set("vocab_size", "many"), "vocab_size: Input should be a valid integer"),
        (_set("vocabulary", "other.model"), "no sha256 for other.model"),
        (lambda manifest: manifest.pop("limits"), "limits: Field required"),
    ],
)
def test_the_manifest_is_strict(
    copy: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(BundleError, match=message):
        bundle.load(copy)


@pytest.mark.parametrize("name", ["channel_weight", "reverse_weight"])
def test_channel_weight_is_read_under_its_former_name(copy: Path, name: str) -> None:
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text())
    for former in ("channel_weight", "reverse_weight"):
        manifest["decoding"].pop(former, None)
    manifest["decoding"][name] = 0.25
    path.write_text(json.dumps(manifest))
    assert bundle.load(copy).manifest.decoding.channel_weight == 0.25


@pytest.mark.parametrize("version", [4, 5])
def test_older_formats_can_be_read_for_a_new_export_but_not_served(
    copy: Path, version: int
) -> None:
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"format_version": version}))
    assert bundle.load(copy, bundle.MANIFESTS_ALIKE).manifest.decoding.beam_size == 4
    with pytest.raises(BundleError, match=rf"format_version is {version}.*export the bundle again"):
        bundle.load(copy)


def test_the_dictionary_of_a_former_rule_becomes_the_memory(copy: Path) -> None:
    (copy / "words.tsv").write_text("de\ten\nEimer\tbucket\n")
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["words.tsv"] = bundle.sha256(copy / "words.tsv")
    manifest["rules"] = {"quotes": {}, "single_words": {"table": "words.tsv"}}
    path.write_text(json.dumps(manifest))
    loaded = bundle.load(copy)
    assert (loaded.manifest.memory, list(loaded.manifest.rules)) == ("words.tsv", ["quotes"])
    direction = next(one for one in loaded.manifest.directions if one.source == "en")
    assert loaded.memory(direction).find("Bucket!") == "Eimer!"


def test_a_table_of_a_removed_rule_is_refused(copy: Path) -> None:
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text())
    old = {key: value for key, value in manifest.items() if key not in ("rules", "weights")}
    path.write_text(json.dumps(old | {"format_version": 7, "abbreviations": "short.tsv"}))
    with pytest.raises(BundleError, match="'abbreviations' is not a rule"):
        bundle.load(copy)


@pytest.mark.parametrize(
    ("content", "message"), [(None, "is not a bundle"), ("{", "not valid JSON")]
)
def test_a_folder_without_a_valid_manifest_is_refused(
    tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(BundleError, match=message):
        bundle.load(tmp_path)
