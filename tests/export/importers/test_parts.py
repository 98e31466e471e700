"""Arrangement of ids, languages and directions, drawn sources, limits."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from safetensors.torch import save_file

from export.importers.arrangement import Arrangement
from export.importers.conversion import check_sizes
from export.importers.held_out import drawn_sources, read_lines
from export.importers.hugging_face_marian import read
from export.importers.imported import SourceError
from export.importers.languages import directions_of
from export.importers.tensors import load_tensors
from model.network_config import ModelConfig
from tests.export.importers.marian_folders import write_folder


def test_ids_are_converted_to_the_order_of_bundles_and_back() -> None:
    arrangement = Arrangement.of(6, pad=5, unk=1, eos=0, start=5).padded(9)
    assert arrangement.order == (5, 1, None, 0, 2, 3, 4, None, None)
    assert arrangement.to_bundle([0, 1, 2, 3, 4, 5]) == [3, 1, 4, 5, 6, 0]
    assert arrangement.to_format([2, 4, 3]) == [5, 2, 0]  # BOS becomes the start token
    rows = torch.arange(6.0)[:, None]
    assert arrangement.table(rows)[:, 0].tolist() == [5, 1, 5, 0, 2, 3, 4, 0, 0]
    infinite = -torch.inf
    assert arrangement.bias(rows[:, 0]).tolist() == [5, 1, infinite, 0, 2, 3, 4, infinite, infinite]
    pieces = {"</s>": 0, "<unk>": 1, "a": 2, "b": 4, "<pad>": 5}
    assert arrangement.pieces(pieces) == [
        *("<pad>", "<unk>", None, "</s>"),
        *("a", None, "b", None, None),
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("named") / "opus-mt-tc-big-deu-eng"
    write_folder(folder, languages=None)
    return folder


def pairs(*arguments: Any) -> list[tuple[str, str]]:
    return [(one.source, one.target) for one in directions_of(*arguments)]


def test_languages_come_from_the_name_of_the_folder_unless_given(folder: Path) -> None:
    imported = read(folder)
    assert pairs(imported, [], []) == [("de", "en")]
    assert pairs(imported, ["nl", "af"], ["en-GB"]) == [("nl", "en-GB"), ("af", "en-GB")]
    with pytest.raises(SourceError, match="--target en,fr: the model has no tags"):
        directions_of(imported, [], ["en", "fr"])
    with pytest.raises(SourceError, match="no direction from en into en"):
        directions_of(imported, ["en"], [])


def test_a_language_group_is_not_accepted_as_a_language(folder: Path) -> None:
    imported = replace(read(folder), source_languages=["gmw"])
    with pytest.raises(
        SourceError, match=r"does not name its source languages \(gmw\): --source de"
    ):
        directions_of(imported, [], [])
    tagged = replace(imported, tags={"gmw": "<unk>", "eng": "<pad>"})
    assert pairs(tagged, ["de"], []) == [("de", "en")]
    with pytest.raises(SourceError, match="--target fr: the model has en"):
        directions_of(tagged, ["de"], ["fr"])


def test_likely_pieces_are_drawn_more_often_than_others(folder: Path) -> None:
    imported = read(folder)
    side, drawn = imported.source, drawn_sources(imported)
    assert all(4 <= len(one) <= 25 for one in drawn)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(side.model))
    scores = {
        side.arrangement.place[side.ids[piece]]: processor.get_score(id)
        for id in range(processor.vocab_size())
        if (piece := processor.id_to_piece(id)) in side.ids and not piece.startswith("<")
    }
    counts = Counter(id for one in drawn for id in one)
    assert counts.keys() <= scores.keys()
    by_score = sorted(scores, key=lambda id: -scores[id])
    assert sum(counts[id] for id in by_score[:5]) > 2 * sum(counts[id] for id in by_score[-5:])


def test_a_text_without_lines_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("\n  \n")
    with pytest.raises(SourceError, match="has no text"):
        read_lines(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="cannot be read"):
        read_lines(path)
    path.write_text("\n a \nb\n")
    assert read_lines(path) == ["a", "b"]


def test_an_endless_text_is_read_in_part() -> None:
    lines = read_lines(Path("/dev/zero"))
    assert (len(lines), set(map(len, lines))) == (1600, {10_000})


def test_graphs_too_large_for_a_file_are_refused_before_any_work() -> None:
    nllb = ModelConfig(256_206, 1024, 4096, 16, 12, 12)
    check_sizes(nllb, ("int8", "fp16"))
    with pytest.raises(SourceError, match=r"in fp32, the decoder's graph would have 2\.\d GB, and"):
        check_sizes(nllb, ("int8", "fp32"))
    with pytest.raises(SourceError, match="supported: int8"):
        check_sizes(replace(nllb, d_model=2048, num_decoder_layers=6), ("fp16",))


def test_tensors_of_safetensors_are_mapped_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    kinds = torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64
    tensors = {f"{kind}": torch.randn(3, 5).to(kind) for kind in kinds}
    tensors |= {"empty": torch.zeros(0, 4), "number": torch.tensor(2.5)}
    save_file(tensors, path, metadata={"format": "pt"})
    mapped = load_tensors(path)
    assert mapped.keys() == tensors.keys()
    for name, tensor in tensors.items():
        torch.testing.assert_close(mapped[name], tensor, rtol=0, atol=0)
    before = path.read_bytes()
    mapped["number"].zero_()
    assert path.read_bytes() == before
    save_file({"odd": torch.zeros(2, dtype=torch.int16)}, path)
    with pytest.raises(SourceError, match="odd is I16; supported: F64, F32, F16"):
        load_tensors(path)["odd"]
