"""The check at startup: only bundles whose models translate as expected are served."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.errors import BundleError
from service.models.bundle import Bundle, load
from service.models.bundle_files import MAX_TEXT_BYTES
from service.models.loading import ModelOptions, start_model
from tests.conftest import TINY_BUNDLE
from tests.service.models.breaking import (
    Break,
    file,
    manifest_of,
    numbered,
    setting,
    write_manifest,
)

W_1 = "{}.0.feed_forward.w_1.weight.T"
"""A weight of a graph in fp32."""


def line(**changes: Any) -> bytes:
    """Return a golden sentence with some fields changed."""
    first = json.loads((TINY_BUNDLE / "golden.jsonl").read_text().splitlines()[0])
    return json.dumps(first | changes).encode() + b"\n"


def swapped(folder: Path) -> None:
    """Use the encoder's graph as the decoder."""
    manifest = manifest_of(folder)
    manifest["graphs"]["fp32"]["decoder"] = "encoder.fp32.onnx"
    write_manifest(folder, manifest)


def _place(graph: bytes, weight: str) -> re.Match[bytes]:
    """Find a weight's offset and length in a graph, which stores them as decimal strings."""
    name = b"B" + bytes([len(weight)]) + weight.encode()  # as a tensor's field of protobuf
    pattern = re.escape(name) + rb".*?offset\x12.(\d+).*?length\x12.(\d+)"
    found = re.search(pattern, graph, re.DOTALL)
    assert found, weight
    return found


def filled(name: str, weight: str, value: float) -> Break:
    """Overwrite a weight of a graph with one value."""

    def change(folder: Path) -> None:
        offset, length = map(int, _place((folder / name).read_bytes(), weight).groups())
        data = bytearray((folder / "weights.bin").read_bytes())
        data[offset : offset + length] = np.full(length // 4, value, np.float32).tobytes()
        file("weights.bin", bytes(data))(folder)

    return change


def pointing_out(folder: Path) -> None:
    """Set the offset of a weight to before the beginning of the file."""
    graph = (folder / "decoder.fp32.onnx").read_bytes()
    start = _place(graph, W_1.format("decoder")).start(1)
    file("decoder.fp32.onnx", graph[:start] + b"-" + graph[start + 1 :])(folder)


def mixed_up(folder: Path) -> None:
    """Swap the two halves of the weights."""
    data = (folder / "weights.bin").read_bytes()
    file("weights.bin", data[len(data) // 2 :] + data[: len(data) // 2])(folder)


def misjudged(folder: Path) -> None:
    """Change the scores of golden sentences."""
    lines = [json.loads(one) for one in (folder / "golden.jsonl").read_text().splitlines()]
    worse = [json.dumps(one | {"score": one["score"] - 9}) for one in lines]
    file("golden.jsonl", "\n".join(worse).encode())(folder)


def tags_swapped(folder: Path) -> None:
    """Swap the tags of the two languages."""
    manifest = manifest_of(folder)
    one, other = manifest["directions"]
    one["tag"], other["tag"] = other["tag"], one["tag"]
    write_manifest(folder, manifest)


def memory(table: bytes) -> Break:
    """Add a translation memory."""

    def change(folder: Path) -> None:
        file("memory.tsv", table)(folder)
        setting("memory", "memory.tsv")(folder)

    return change


def no_text(folder: Path) -> None:
    """Put a piece that is not UTF-8 into the vocabulary."""
    model = (folder / "sentencepiece.model").read_bytes()
    file("sentencepiece.model", model.replace("fällt".encode(), b"f\x86\x86llt"))(folder)


AT_START: list[tuple[Break, str]] = [
    (no_text, "not a SentencePiece model"),
    (file("sentencepiece.model", b""), "not a SentencePiece model"),
    (file("sentencepiece.model", b"\x00" * 100), "not a SentencePiece model"),
    (setting("vocab_size", 80), "has 72 tokens, the manifest says 80"),
    (setting("special_tokens.unk", 7), "unk is 1, the manifest says 7"),
    (setting("limits.max_target_length", 4096), "a first translation failed"),
    (setting("decoding.stop_rule", "narrow"), "graph does not support the stop rule narrow"),
    (file("encoder.fp32.onnx", b"no graph"), "fp32 graphs cannot run on cpu"),
    (file("decoder.fp32.onnx", b""), "fp32 graphs cannot run on cpu"),
    (file("scorer.int8.onnx", b"no graph"), "fp32 graphs cannot run on cpu"),
    (swapped, "fp32 graphs cannot run on cpu"),
    (file("names.tsv", b"de\tde\nA\tB\n", "names"), "has a language twice"),
    (file("names.tsv", b"\xef\xbb\xbfde\tde\r\nA\tB\r\n", "names"), "has a language twice"),
    (file("names.tsv", b"A\nB\n", "names"), "must name two languages or more"),
    (file("names.tsv", b"de\ten\nA\x1b[0m\tB\n", "names"), "control characters"),
    (file("names.tsv", b"de\ten\nA\t" + 201 * b"B", "names"), "too long"),
    (file("names.tsv", b"de\ten\n" + 100_000 * b"A\tB\n", "names"), "lines, the limit is"),
    (file("names.tsv", b"x" * (MAX_TEXT_BYTES + 1), "names"), "has more than"),
    (file("names.tsv", b"\xff", "names"), "is not UTF-8"),
    (memory(b"de\ten\nA\n"), "memory.tsv: line 2 must have 2 cells"),
    (memory(b"de\ten\nA\t" + 201 * b"B"), "memory.tsv: line 2 has a cell that is too long"),
    (file("golden.jsonl", b"{}\n"), "line 1 is not a golden sentence"),
    (file("golden.jsonl", b"[" * 100_000), "line 1 is not a golden sentence"),
    (file("golden.jsonl", line(score=float("nan"))), "line 1 is not a golden sentence"),
    (file("golden.jsonl", line() + line(source_ids=[5, 99, 3])), "line 2 has id 99"),
    (tags_swapped, "line 1 is a translation to .., for which the manifest has another tag"),
    (setting("special_tokens.ends_source", False), "line 1 ends with id 3, which is not what"),
    (file("golden.jsonl", line(source_ids=[5, 9])), "line 1 ends with id 9, which is not what"),
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


@pytest.mark.parametrize(("change", "message"), AT_START, ids=numbered(AT_START))
def test_a_bundle_that_translates_wrongly_is_refused(
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


def test_a_bundle_without_golden_sentences_is_served_with_a_warning(
    copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manifest = manifest_of(copy)
    del manifest["files"]["golden.jsonl"]
    write_manifest(copy, manifest)
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
def test_a_direction_without_golden_sentences_is_logged(
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


def test_links_within_the_folder_and_subfolders_are_allowed(copy: Path) -> None:
    (copy / "data").mkdir()
    (copy / "scorer.int8.onnx").rename(copy / "data" / "scorer")
    (copy / "scorer.int8.onnx").symlink_to("data/scorer")
    manifest = manifest_of(copy)
    manifest["files"]["data/scorer"] = manifest["files"]["scorer.int8.onnx"]
    manifest["graphs"]["fp32"]["encoder"] = "encoder.fp32.onnx"
    write_manifest(copy, manifest)
    link = copy.parent / "link"
    link.symlink_to(copy)
    _start(link)
