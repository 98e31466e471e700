"""Bundles that a stranger may have made: each is refused with a BundleError that says why, in one line."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.errors import BundleError
from service.models.bundle import Bundle, load
from service.models.bundle_files import MAX_MANIFEST_BYTES, MAX_TEXT_BYTES, sha256
from service.models.loading import ModelOptions, start_model
from tests.conftest import TINY_BUNDLE

Break = Callable[[Path], object]
MISSING = object()
W_1 = "{}.0.feed_forward.w_1.weight.T"
"""A weight of one of the two graphs in fp32."""


def _manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def _write(folder: Path, manifest: dict[str, Any]) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest))


def setting(path: str, value: Any) -> Break:
    """Change what the manifest has at `path`, as in "limits.max_source_length"."""

    def change(folder: Path) -> None:
        manifest = _manifest(folder)
        *parents, last = path.split(".")
        place: Any = manifest
        for parent in parents:
            place = place[int(parent)] if isinstance(place, list) else place[parent]
        key: Any = int(last) if isinstance(place, list) else last
        if value is MISSING:
            del place[key]
        else:
            place[key] = value
        _write(folder, manifest)

    return change


def text(content: str | bytes) -> Break:
    """Put another manifest in its place."""
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / "manifest.json").write_bytes(data)


def replacing(old: str, new: str) -> Break:
    """Replace in the manifest's text."""

    def change(folder: Path) -> None:
        path = folder / "manifest.json"
        before = path.read_text()
        assert old in before
        path.write_text(before.replace(old, new, 1))

    return change


def in_place_of(name: str, make: Callable[[Path], object]) -> Break:
    """Put something else in the place of a file."""

    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


def file(name: str, content: bytes, rule: str | None = None) -> Break:
    """Write a file, with its digest; as the table of the rule `rule`."""

    def change(folder: Path) -> None:
        (folder / name).write_bytes(content)
        manifest = _manifest(folder)
        manifest["files"][name] = sha256(folder / name)
        if rule:
            manifest["rules"][rule] = {"table": name}
        _write(folder, manifest)

    return change


def named(name: str) -> Break:
    """Let the manifest name a file of this name as its scorer."""

    def change(folder: Path) -> None:
        manifest = _manifest(folder)
        manifest["scorer"] = name
        manifest["files"][name] = "0" * 64
        _write(folder, manifest)

    return change


def linked_out(folder: Path) -> None:
    outside = folder.parent / "outside.model"
    (folder / "sentencepiece.model").rename(outside)
    (folder / "sentencepiece.model").symlink_to(outside)


def in_a_circle(path: Path) -> None:
    path.symlink_to(path)


def untagged(folder: Path) -> None:
    """No direction says what it is for."""
    manifest = _manifest(folder)
    for direction in manifest["directions"]:
        del direction["tag"]
    _write(folder, manifest)


def doubled(folder: Path) -> None:
    manifest = _manifest(folder)
    manifest["directions"].append(manifest["directions"][0])
    _write(folder, manifest)


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
    (in_place_of("scorer.int8.onnx", in_a_circle), "scorer.int8.onnx cannot be read"),
    (lambda folder: (folder / "weights.bin").unlink(), "weights.bin is missing"),
    (setting("weights", "other.bin"), "no sha256 for other.bin"),
    (setting("weights", "../weights.bin"), "weights: must be a path inside"),
]


def _names(cases: list[tuple[Break, str]]) -> list[str]:
    return [f"{number}: {message}" for number, (_, message) in enumerate(cases)]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TINY_BUNDLE, tmp_path / "models" / "bundle"))


def _is_told_well(error: BundleError, copy: Path) -> None:
    """In one line that is not endless, and to clients without where it lies."""
    assert str(error).isprintable()
    assert len(str(error)) < 1000
    assert str(copy.parents[1]) not in error.client_message
    assert error.client_message


@pytest.mark.parametrize(("change", "message"), AT_LOADING, ids=_names(AT_LOADING))
def test_a_bundle_that_makes_no_sense_is_refused(copy: Path, change: Break, message: str) -> None:
    change(copy)
    with pytest.raises(BundleError, match=message) as caught:
        load(copy)
    assert str(copy) in str(caught.value)
    _is_told_well(caught.value, copy)


def line(**changes: Any) -> bytes:
    """A golden sentence with some of its parts changed."""
    first = json.loads((TINY_BUNDLE / "golden.jsonl").read_text().splitlines()[0])
    return json.dumps(first | changes).encode() + b"\n"


def swapped(folder: Path) -> None:
    """Give the encoder of one precision to the other graph's name, so that shapes fit and sense does not."""
    manifest = _manifest(folder)
    manifest["graphs"]["fp32"]["decoder"] = "encoder.fp32.onnx"
    _write(folder, manifest)


def _place(graph: bytes, weight: str) -> re.Match[bytes]:
    """Where a graph says that a weight lies: "offset" and "length" in digits, each behind its own length."""
    name = b"B" + bytes([len(weight)]) + weight.encode()  # as a tensor's field of protobuf
    pattern = re.escape(name) + rb".*?offset\x12.(\d+).*?length\x12.(\d+)"
    found = re.search(pattern, graph, re.DOTALL)
    assert found, weight
    return found


def filled(name: str, weight: str, value: float) -> Break:
    """Write one value over all of a graph's weight."""

    def change(folder: Path) -> None:
        offset, length = map(int, _place((folder / name).read_bytes(), weight).groups())
        data = bytearray((folder / "weights.bin").read_bytes())
        data[offset : offset + length] = np.full(length // 4, value, np.float32).tobytes()
        file("weights.bin", bytes(data))(folder)

    return change


def pointing_out(folder: Path) -> None:
    """A graph whose weight lies before the beginning of the file."""
    graph = (folder / "decoder.fp32.onnx").read_bytes()
    start = _place(graph, W_1.format("decoder")).start(1)
    file("decoder.fp32.onnx", graph[:start] + b"-" + graph[start + 1 :])(folder)


def mixed_up(folder: Path) -> None:
    """The second half of the weights in front of the first."""
    data = (folder / "weights.bin").read_bytes()
    file("weights.bin", data[len(data) // 2 :] + data[: len(data) // 2])(folder)


def misjudged(folder: Path) -> None:
    """Golden sentences whose scores are other ones."""
    lines = [json.loads(one) for one in (folder / "golden.jsonl").read_text().splitlines()]
    worse = [json.dumps(one | {"score": one["score"] - 9}) for one in lines]
    file("golden.jsonl", "\n".join(worse).encode())(folder)


def tags_swapped(folder: Path) -> None:
    """Each language asked for by the other one's tag."""
    manifest = _manifest(folder)
    one, other = manifest["directions"]
    one["tag"], other["tag"] = other["tag"], one["tag"]
    _write(folder, manifest)


AT_START: list[tuple[Break, str]] = [
    (file("sentencepiece.model", b""), "not a SentencePiece model"),
    (file("sentencepiece.model", b"\x00" * 100), "not a SentencePiece model"),
    (setting("vocab_size", 80), "has 72 tokens, the manifest says 80"),
    (setting("special_tokens.unk", 7), "unk is 1, the manifest says 7"),
    (setting("limits.max_target_length", 4096), "a first translation failed"),
    (file("encoder.fp32.onnx", b"no graph"), "fp32 graphs cannot run on cpu"),
    (file("decoder.fp32.onnx", b""), "fp32 graphs cannot run on cpu"),
    (file("scorer.int8.onnx", b"no graph"), "fp32 graphs cannot run on cpu"),
    (swapped, "fp32 graphs cannot run on cpu"),
    (file("names.tsv", b"de\tde\nA\tB\n", "names"), "has a language twice"),
    (file("names.tsv", b"de\ten\nA\x1b[0m\tB\n", "names"), "control characters"),
    (file("names.tsv", b"de\ten\nA\t" + 201 * b"B", "names"), "too long"),
    (file("names.tsv", b"de\ten\n" + 100_000 * b"A\tB\n", "names"), "lines, the limit is"),
    (file("names.tsv", b"x" * (MAX_TEXT_BYTES + 1), "names"), "has more than"),
    (file("names.tsv", b"\xff", "names"), "is not UTF-8"),
    (file("golden.jsonl", b"{}\n"), "line 1 is not a golden sentence"),
    (file("golden.jsonl", b"[" * 100_000), "line 1 is not a golden sentence"),
    (file("golden.jsonl", line(score=float("nan"))), "line 1 is not a golden sentence"),
    (file("golden.jsonl", line() + line(source_ids=[5, 99, 3])), "line 2 has id 99"),
    (tags_swapped, "line 1 is a translation to .., for which the manifest has another tag"),
    (misjudged, "only 0 of 6 sentences of golden.jsonl are translated as expected"),
    (
        filled("decoder.fp32.onnx", W_1.format("decoder"), np.nan),
        "a first translation failed: StepFailedError",
    ),
    (filled("encoder.fp32.onnx", W_1.format("encoder"), np.nan), "a first translation failed"),
    (filled("decoder.fp32.onnx", W_1.format("decoder"), 3.0), "only . of 6 sentences"),
    (filled("encoder.fp32.onnx", W_1.format("encoder"), 30.0), "only . of 6 sentences"),
    (mixed_up, "only 0 of 6 sentences"),
    (file("weights.bin", b""), "fp32 graphs cannot run on cpu"),
    (file("weights.bin", 50_000 * b"\x00"), "fp32 graphs cannot run on cpu"),
    (pointing_out, "fp32 graphs cannot run on cpu"),
]


@pytest.mark.parametrize(("change", "message"), AT_START, ids=_names(AT_START))
def test_a_bundle_that_does_not_translate_is_refused(
    copy: Path, change: Break, message: str
) -> None:
    change(copy)
    bundle: Bundle = load(copy)
    with pytest.raises(BundleError, match=message) as caught:
        start_model(bundle, ModelOptions(precision="fp32", device="cpu", num_workers=1))
    assert str(copy) in str(caught.value)
    assert str(copy.parents[1]) not in caught.value.client_message


def _start(folder: Path) -> None:
    options = ModelOptions(precision="int8", device="cpu", num_workers=1)
    model = start_model(load(folder), options)
    assert model.engine.is_alive
    assert model.engine.close()


def test_a_bundle_without_golden_sentences_is_served_and_the_log_says_that_nothing_proves_it(
    copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manifest = _manifest(copy)
    del manifest["files"]["golden.jsonl"]
    _write(copy, manifest)
    (copy / "golden.jsonl").write_text("not looked at")
    _start(copy)
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [one.split(",")[0] for one in told] == [
        f"{manifest['name']}: translations to {target} are not verified" for target in ("en", "de")
    ]


@pytest.mark.parametrize(
    ("lines", "target", "warned"),
    [(0, "en", ["en", "de"]), (1, "en", ["de"]), (1, "fr", ["en", "de"])],
)
def test_a_direction_without_golden_sentences_is_told_on_the_log(
    copy: Path, caplog: pytest.LogCaptureFixture, lines: int, target: str, warned: list[str]
) -> None:
    to_english = [
        one for one in (copy / "golden.jsonl").read_bytes().splitlines(True) if b'"en"' in one
    ]
    golden = b"".join(to_english[:lines]).replace(b'"en"', f'"{target}"'.encode())
    file("golden.jsonl", golden)(copy)
    _start(copy)
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [one.split(" translations to ")[1].split()[0] for one in told] == warned


def test_golden_sentences_of_older_bundles_need_not_name_their_language(copy: Path) -> None:
    lines = [json.loads(one) for one in (copy / "golden.jsonl").read_text().splitlines()]
    for one in lines:
        del one["target"]
    file("golden.jsonl", "".join(json.dumps(one) + "\n" for one in lines).encode())(copy)
    _start(copy)


def test_links_within_the_folder_and_folders_in_it_are_served(copy: Path) -> None:
    (copy / "data").mkdir()
    (copy / "scorer.int8.onnx").rename(copy / "data" / "scorer")
    (copy / "scorer.int8.onnx").symlink_to("data/scorer")
    manifest = _manifest(copy)
    manifest["files"]["data/scorer"] = manifest["files"]["scorer.int8.onnx"]
    manifest["graphs"]["fp32"]["encoder"] = "encoder.fp32.onnx"
    _write(copy, manifest)
    link = copy.parent / "link"
    link.symlink_to(copy)
    _start(link)


def test_a_folder_that_is_no_path_is_refused() -> None:
    for folder in (Path("a\x00b"), Path("a" * 5000), Path("/dev/null")):
        with pytest.raises(BundleError, match="is not a bundle"):
            load(folder)
