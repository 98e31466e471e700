"""Invalid bundles from untrusted sources: each is refused with a one-line BundleError."""

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from service.errors import BundleError
from service.models.bundle import load
from service.models.bundle_files import MAX_MANIFEST_BYTES, read_text, sha256
from tests.service.models.breaking import (
    MISSING,
    Break,
    file,
    in_place_of,
    manifest_of,
    named,
    numbered,
    replacing,
    setting,
    text,
    write_manifest,
)


def linked_out(folder: Path) -> None:
    outside = folder.parent / "outside.model"
    (folder / "sentencepiece.model").rename(outside)
    (folder / "sentencepiece.model").symlink_to(outside)


def in_a_circle(path: Path) -> None:
    path.symlink_to(path)


def untagged(folder: Path) -> None:
    """Remove the tags of all directions."""
    manifest = manifest_of(folder)
    for direction in manifest["directions"]:
        del direction["tag"]
    write_manifest(folder, manifest)


def doubled(folder: Path) -> None:
    manifest = manifest_of(folder)
    manifest["directions"].append(manifest["directions"][0])
    write_manifest(folder, manifest)


def unlisted(folder: Path) -> None:
    """Remove the weights from the manifest."""
    manifest = manifest_of(folder)
    del manifest["weights"], manifest["files"]["weights.bin"]
    write_manifest(folder, manifest)


def pointing_at(name: bytes, length: bytes = b"\x0b") -> Break:
    """Change the name of the file with a graph's weights; `length` is as protobuf writes it."""

    def change(folder: Path) -> None:
        graph, old = (folder / "encoder.fp32.onnx").read_bytes(), b"\x0bweights.bin"
        assert old in graph
        file("encoder.fp32.onnx", graph.replace(old, length + name, 1))(folder)

    return change


AT_LOADING: list[tuple[Break, str]] = [
    (text("[]"), "format_version is None"),
    (text("null"), "format_version is None"),
    (text(""), "not valid JSON"),
    (text(b"\xff\xfe{}"), "cannot be read: byte 0 is not UTF-8"),
    (text('{"format_version": NaN}'), "NaN is no number"),
    (text('{"format_version": 1e999}'), "1e999 is too large"),
    (text('{"format_version": 1' + 5000 * "0" + "}"), "not valid JSON"),
    (text('{"name": "a", "name": "b"}'), "name is duplicated"),
    (text(100_000 * "["), "nested too deeply"),
    (text('{"format_version": "\\ud800\\n"}'), "format_version is"),
    (text(b" " * (MAX_MANIFEST_BYTES + 1)), "has more than"),
    (in_place_of("manifest.json", Path.mkdir), "not a regular file"),
    (in_place_of("manifest.json", os.mkfifo), "not a regular file"),
    (in_place_of("manifest.json", in_a_circle), "cannot be read"),
    (in_place_of("manifest.json", lambda path: path.symlink_to("/dev/zero")), "points outside"),
    (setting("limits", {"max_source_length": 7, "max_target_length": 128}), "limits.max_source"),
    (setting("limits.max_source_length", 4096), "max_target_length must be at least"),
    (setting("limits.max_source_length", 10**9), "limits.max_source_length"),
    (setting("limits.max_target_length", 10**30), "limits.max_target_length"),
    (setting("decoding.length_penalty", 1e300), "decoding.length_penalty"),
    (replacing('"length_penalty": 0.6', '"length_penalty": Infinity'), "Infinity is no number"),
    (replacing('"length_penalty": 0.6', '"length_penalty": NaN'), "NaN is no number"),
    (setting("decoding.beam_size", 65), "decoding.beam_size"),
    (setting("decoding.beam_size", True), "decoding.beam_size"),
    (setting("decoding.channel_weight", 1e9), "decoding.channel_weight"),
    (setting("decoding.extra_length", 10**9), "decoding.extra_length"),
    (setting("rules.clauses", {"max_words": -1}), "clauses.max_words"),
    (setting("rules.clauses", {}), "clauses.max_words: Field required"),
    (setting("rules.quotes", {"max_words": 9}), "quotes.max_words: Extra inputs"),
    (setting("rules.magic", {}), "'magic' is not a rule; the rules are already, "),
    (setting("rules.names", {"table": "../names.tsv"}), "no sha256 for ../names.tsv"),
    (setting("memory", "memory.tsv"), "no sha256 for memory.tsv"),
    (setting("rules.single_words", {"table": "words.tsv"}), "no sha256 for words.tsv"),
    (setting("rules.single_words", {}), "memory: String should have at least 1 character"),
    (setting("decoding.stop_rule", "never"), "decoding.stop_rule"),
    (setting("vocab_size", 0), "vocab_size"),
    (setting("vocab_size", 10**12), "vocab_size"),
    (setting("vocab_size", "72"), "vocab_size: Input should be a valid integer"),
    (setting("name", ""), "name"),
    (setting("name", "n" * 101), "name"),
    (setting("name", "a\nCRITICAL all is lost"), "name: must be printable"),
    (setting("name", "a\u202eb"), "name: must be printable"),
    (setting("a\nCRITICAL b", 1), r"a\\nCRITICAL b: Extra inputs"),
    (setting("directions.0.source", "d\n"), "directions.0.source"),
    (setting("directions.0.source", "../de"), "directions.0.source"),
    (setting("directions.0.tag", -1), "directions.0.tag"),
    (setting("directions.0.tag", 72), "id 72 is outside the vocabulary of 72"),
    (setting("directions.0.tag", 3), "tag 3 is one of the special tokens"),
    (setting("directions.0.tag", 4), "two targets have tag 4"),
    (untagged, "two targets have no tag"),
    (doubled, "direction de-en is duplicated"),
    (setting("special_tokens.eos", 0), "special_tokens must differ"),
    (setting("special_tokens.bos", 3), "special_tokens must differ"),
    (setting("special_tokens.pad", 500), "id 500 is outside the vocabulary"),
    (setting("special_tokens.unk", MISSING), "special_tokens.unk: Field required"),
    (setting("special_tokens.ends_source", "no"), "ends_source: Input should be a valid boolean"),
    (setting("graphs", {}), "graphs"),
    (setting("graphs.int4", {"encoder": "a", "decoder": "b"}), "graphs.int4"),
    (setting("files", {"scorer.int8.onnx": "x"}), "files.scorer.int8.onnx: String should match"),
    (named("/etc/passwd"), "must be a path inside"),
    (named("../manifest.json"), "must be a path inside"),
    (named("a/../../b"), "must be a path inside"),
    (named("a\\b"), "must be a path inside"),
    (named("a\nb"), "must be printable"),
    (named("a\x00b"), "must be printable"),
    (named("a" * 300), "scorer: String should have at most 255"),
    (named("nowhere.onnx"), "nowhere.onnx is missing"),
    (linked_out, "sentencepiece.model points outside the bundle folder"),
    (in_place_of("scorer.int8.onnx", Path.mkdir), "scorer.int8.onnx is not a regular file"),
    (in_place_of("scorer.int8.onnx", os.mkfifo), "scorer.int8.onnx is not a regular file"),
    (in_place_of("scorer.int8.onnx", in_a_circle), "scorer.int8.onnx: cannot be read"),
    (lambda folder: (folder / "weights.bin").unlink(), "weights.bin is missing"),
    (setting("weights", "other.bin"), "no sha256 for other.bin"),
    (setting("weights", "../weights.bin"), "weights: must be a path inside"),
    (unlisted, "onnx refers to weights.bin, for which manifest.json has no sha256"),
    (pointing_at(b"../secret.x"), "encoder.fp32.onnx refers to ../secret.x, for which"),
    (pointing_at(b"/srv/secret"), "encoder.fp32.onnx refers to /srv/secret, for which"),
    (pointing_at(b"w" * 200, b"\xc8\x01"), "encoder.fp32.onnx refers to w{97}..., for which"),
]


def _is_told_well(error: BundleError, copy: Path) -> None:
    """Check that the message is one line of limited length, and that clients do not see the full path."""
    assert str(error).isprintable()
    assert len(str(error)) < 1000
    assert str(copy.parents[1]) not in error.client_message
    assert error.client_message


@pytest.mark.parametrize(("change", "message"), AT_LOADING, ids=numbered(AT_LOADING))
def test_an_invalid_bundle_is_refused(copy: Path, change: Break, message: str) -> None:
    change(copy)
    with pytest.raises(BundleError, match=message) as caught:
        load(copy)
    assert str(copy) in str(caught.value)
    _is_told_well(caught.value, copy)


def test_an_invalid_path_is_refused() -> None:
    for folder in (Path("a\x00b"), Path("a" * 5000), Path("/dev/null")):
        with pytest.raises(BundleError, match="is not a bundle"):
            load(folder)


def test_a_path_that_is_not_utf_8_is_refused(copy: Path) -> None:
    folder = Path(os.fsdecode(bytes(copy) + b"\xff"))
    try:
        copy.rename(folder)
    except OSError:
        pytest.skip("the file system has only names in UTF-8")
    with pytest.raises(BundleError, match="its path is not UTF-8") as caught:
        load(folder)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("read", [read_text, sha256])
def test_clients_are_told_why_a_file_cannot_be_read(
    tmp_path: Path, read: Callable[[Path], str]
) -> None:
    with pytest.raises(BundleError) as caught:
        read(tmp_path / "weights.bin")
    reason = "weights.bin: cannot be read: No such file or directory"
    assert caught.value.client_message == f"{tmp_path.name}/{reason}"


@pytest.mark.parametrize("read", [read_text, sha256])
def test_a_file_replaced_by_a_pipe_is_refused_without_blocking(
    tmp_path: Path, read: Callable[[Path], str]
) -> None:
    os.mkfifo(tmp_path / "golden.jsonl")
    errors = []

    def load_file() -> None:
        try:
            read(tmp_path / "golden.jsonl")
        except BundleError as error:
            errors.append(error.client_message)

    loading = Thread(target=load_file, daemon=True)
    loading.start()
    loading.join(60)
    assert errors == [f"{tmp_path.name}/golden.jsonl is not a regular file"]
