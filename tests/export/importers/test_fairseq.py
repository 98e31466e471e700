"""fairseq checkpoints, compared with networks of transformers that are ports of fairseq's."""

import argparse
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from export.importers.fairseq import read, recognises
from export.importers.imported import SourceError
from model.tokenizer import BOS_ID
from service.models.bundle import load
from service.settings import Settings
from service.translation.guards import loops
from tests.export.importers.breaking import Break, deep_value, left_to_lfs, removed, truncated
from tests.export.importers.ctranslate2_peer import muddled_texts
from tests.export.importers.fairseq_checkpoints import SHAPES, decode, encode, write_folder
from tests.export.importers.test_ctranslate2 import import_folder, served
from tests.export.importers.test_marian_networks import network_of

CHECKPOINT = "checkpoint_best.pt"


@pytest.mark.parametrize("shape", SHAPES)
def test_log_probabilities_are_those_of_transformers(tmp_path: Path, shape: str) -> None:
    model = write_folder(tmp_path, **SHAPES[shape])
    assert recognises(tmp_path)
    imported = read(tmp_path)
    sides, rng = (imported.source, imported.target), random.Random(0)
    places = [side.arrangement.to_bundle for side in sides]
    order = torch.tensor(places[1](range(len(sides[1].ids))))
    for _ in range(8):
        source, target = (
            rng.choices(range(3, len(side.ids)), k=rng.randint(1, 40)) for side in sides
        )
        with torch.no_grad():
            expected = model(
                input_ids=torch.tensor([[*source, 2]]),
                decoder_input_ids=torch.tensor([[2, *target]]),
                use_cache=False,
            ).logits[0]
            found = network_of(imported)(
                torch.tensor([places[0]([*source, 2])]),
                torch.tensor([[BOS_ID, *places[1](target)]]),
            )
        torch.testing.assert_close(
            found[0].log_softmax(-1)[:, order], expected.log_softmax(-1), atol=1e-4, rtol=0
        )


@pytest.mark.parametrize("learnt", [{}, {"new": True}], ids=["args", "cfg"])
def test_learnt_positions_are_imported(tmp_path: Path, learnt: dict[str, Any]) -> None:
    write_folder(tmp_path, **learnt)
    tables = {stack: torch.randn(130, 32) for stack in ("encoder", "decoder")}
    weights = {f"{stack}.embed_positions.weight": one for stack, one in tables.items()}
    options: dict[str, Any] = {"encoder_learned_pos": True, "decoder_learned_pos": True}
    options |= {"max_source_positions": 128, "max_target_positions": 128}
    changing(options, weights)(tmp_path)
    imported = read(tmp_path)
    assert imported.config.max_positions == 128
    torch.testing.assert_close(imported.weights["source_positions.table"], tables["encoder"][2:])
    torch.testing.assert_close(imported.weights["target_positions.table"], tables["decoder"][2:])


@pytest.mark.slow
@pytest.mark.parametrize("pre_norm", [False, True], ids=["post", "pre"])
def test_the_services_translations_equal_those_of_transformers(
    tmp_path: Path, settings: Settings, pre_norm: bool
) -> None:
    folder = tmp_path / "fairseq"
    model = write_folder(folder, pre_norm=pre_norm, learnt=True, encoder_layers=1)
    bundle = import_folder(folder, tmp_path / "bundle")
    manifest = load(bundle).manifest
    assert [(one.source, one.target) for one in manifest.directions] == [("de", "en")]
    assert manifest.decoding.beam_size == 5
    texts = muddled_texts(20, longest=8)
    expected = translated(folder, model, texts)
    known = [at for at, one in enumerate(expected) if one is not None]
    assert len({expected[at] for at in known}) > 12
    for found in served(bundle, texts, settings):
        assert [found[at] for at in known] == [expected[at] for at in known]


def translated(folder: Path, model: Any, texts: list[str]) -> list[str | None]:
    """Translate with transformers' beam search; None where the service would search again."""
    found: list[str | None] = []
    for text in texts:
        source = encode(folder, "de", text)
        ids = model.generate(
            torch.tensor([source]),
            num_beams=5,
            early_stopping=True,
            max_new_tokens=len(source) - 1 + 50,
            max_length=None,
            bad_words_ids=[[1]],
        )[0].tolist()
        ends = ids[-1] == 2 and not loops(ids)
        found.append(decode(folder, "en", ids) or None if ends else None)
    return found


class Code:
    """A pickle of this would call a function on loading."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("executed"),))


def changing(
    options: dict[str, Any], weights: dict[str, Any] | None = None
) -> Callable[[Path], None]:
    """Change options and weights of the checkpoint; None removes one."""

    def change(folder: Path) -> None:
        path = folder / CHECKPOINT
        with torch.serialization.safe_globals([argparse.Namespace]):
            checkpoint = torch.load(path, weights_only=True)
        namespace = checkpoint["args"] or checkpoint["cfg"]["model"]
        vars(namespace).update(options)
        for name, tensor in (weights or {}).items():
            checkpoint["model"][name] = tensor
            if tensor is None:
                del checkpoint["model"][name]
        torch.save(checkpoint, path)

    return change


def saving(content: Any) -> Callable[[Path], None]:
    return lambda folder: torch.save(content, folder / CHECKPOINT)


def adding_line(line: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with (folder / "dict.en.txt").open("a", encoding="utf-8") as file:
            file.write(line)

    return change


def split_by_subword_nmt(folder: Path) -> None:
    path = folder / "dict.de.txt"
    path.write_text(path.read_text(encoding="utf-8").replace(" ", "@@ "), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fairseq") / "model"
    write_folder(place, tied=True)
    return place


PROJECTION = "decoder.output_projection.weight"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changing({"arch": "lstm"}), "args: arch = 'lstm'; supported: transformer, transformer_*"),
        (changing({"arch": 5}), "args: arch = 5; supported: str"),
        (changing({"layernorm_embedding": True}), "layernorm_embedding = True; supported: False"),
        (changing({"task": "translation_multi_simple_epoch"}), "supported: 'translation'"),
        (changing({"activation_fn": "tanh"}), "activation_fn = 'tanh'; supported: 'relu'"),
        (changing({"decoder_embed_dim": 48}), "decoder_embed_dim = 48; supported: 32"),
        (changing({"encoder_layers": 3}), "has no encoder.layers.2.self_attn_layer_norm.weight"),
        (changing({"decoder_normalize_before": True}), "the encoder's, False"),
        (changing({"share_all_embeddings": True}), "with two different dictionaries; supported: equal"),
        (changing({"source_lang": "../de"}), "source_lang = '../de'; supported: up to 32 letters"),
        (changing({"arch": deep_value()}), "args: arch = [[["),
        (changing({"arch": torch.zeros(2)}), "args: 'arch' is a tensor; supported: numbers, texts"),
        (changing({"source_lang": "nl"}), "dict.nl.txt: is missing"),
        (changing({}, {"encoder.more": torch.zeros(2)}), "encoder.more is not part of the network"),
        (changing({}, {PROJECTION: torch.zeros(2)}), "has shape [2], but the configuration requires"),
        (changing({}, {PROJECTION: torch.zeros(37, 32)}), "which is tied to it"),
        (saving({"args": None, "cfg": None, "model": {}}), "cfg = None; supported: options by name"),
        (saving([1]), f"{CHECKPOINT}: contains a list; supported: a dict of parts"),
        (saving({"model": Code()}), f"{CHECKPOINT}: contains code, which was not executed"),
        (left_to_lfs(CHECKPOINT), f"{CHECKPOINT}: is a pointer of Git LFS"),
        (truncated(CHECKPOINT), f"{CHECKPOINT}: cannot be read, it may be truncated"),
        (split_by_subword_nmt, "needs words split by subword-nmt or fastBPE; supported: with the file"),
        (adding_line("▁the 3\n"), "'▁the' occurs twice"),
        (adding_line("more\n"), "'more'; supported: token count"),
        (adding_line("more 3\n"), "the configuration requires [38, 32]"),
        (removed("spm.de.model"), "has no SentencePiece model; supported: sentencepiece.model"),
        (removed("spm.de.model", "spm.en.model"), "has no SentencePiece model; supported"),
    ],
)  # fmt: skip
def test_a_broken_folder_is_refused(
    folder: Path, check_is_refused: Callable[..., None], change: Break, message: str
) -> None:
    check_is_refused(folder, change, message)


def test_several_checkpoints_are_refused_unless_one_is_the_best(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("checkpoint1.pt", "checkpoint2.pt"):
        (tmp_path / name).write_bytes((folder / CHECKPOINT).read_bytes())
    with pytest.raises(SourceError, match=r"has checkpoint1.pt, checkpoint2.pt; supported: one"):
        read(tmp_path)
