"""Broken folders are refused: the message names file, key and value, no code runs, nothing is written."""

import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from export.importers.__main__ import main
from tests.export.importers.breaking import (
    Break,
    left_to_lfs,
    made_a_folder,
    made_large,
    removed,
    truncated,
)
from tests.export.importers.marian_folders import write_folder


def setting(key: str, value: Any, name: str = "config.json") -> Break:
    """Change a value in a JSON file."""

    def change(folder: Path) -> None:
        values = json.loads((folder / name).read_text())
        values[key] = value
        (folder / name).write_text(json.dumps(values))

    return change


def tensor(key: str, change_it: Callable[[torch.Tensor], torch.Tensor | None]) -> Break:
    """Change or remove one tensor."""

    def change(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        changed = change_it(tensors.pop(key))
        if changed is not None:
            tensors[key] = changed.contiguous()
        save_file(tensors, folder / "model.safetensors")

    return change


def added(key: str) -> Break:
    def change(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        save_file({**tensors, key: torch.zeros(3)}, folder / "model.safetensors")

    return change


class Trap:
    """A pickle of this would run code on loading."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path("trapped").touch, ()


def trapped(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with (folder / "pytorch_model.bin").open("wb") as file:
        pickle.dump({"model.shared.weight": Trap()}, file, protocol=2)


def truncated_pickle(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    truncated("pytorch_model.bin")(folder)


def pickled_list(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save([torch.zeros(2)], folder / "pytorch_model.bin")


def pickled(change_it: Callable[[torch.Tensor], torch.Tensor]) -> Break:
    """Replace the safetensors file with a pickle in which one tensor is changed."""

    def change(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        (folder / "model.safetensors").unlink()
        tensors[FC1] = change_it(tensors[FC1])
        torch.save(tensors, folder / "pytorch_model.bin")

    return change


def compressed(folder: Path) -> None:
    pickled(torch.zeros_like)(folder)
    with zipfile.ZipFile(folder / "pytorch_model.bin") as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data + bytes(1 << 16))


def with_duplicate_key(folder: Path) -> None:
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace("{", '{"d_model": 48, ', 1))


FC1 = "model.encoder.layers.0.fc1.weight"
CASES: list[tuple[Break, str]] = [
    (setting("model_type", "bart"), "config.json: model_type = 'bart'; supported: Hugging Face"),
    (setting("d_model", "many"), "config.json: d_model = 'many'; supported: int"),
    (setting("d_model", None), "config.json: d_model is missing"),
    (setting("d_model", 30), "config.json: d_model = 30; supported: multiples of twice"),
    (setting("d_model", 40), "layer_norm.weight has shape [32], but the configuration requires [40]"),
    (setting("d_model", 10**9), "config.json: d_model = 1000000000; supported: 1 to"),
    (setting("encoder_layers", 3), "has no model.encoder.layers.2.self_attn"),
    (setting("encoder_layers", 1), "model.encoder.layers.1.fc1.bias is not part of the network"),
    (setting("decoder_ffn_dim", 64), "config.json: decoder_ffn_dim = 64; supported: 48"),
    (setting("activation_function", "tanh"), "activation_function = 'tanh'; supported: 'swish', 'silu'"),
    (setting("normalize_before", True), "normalize_before = True; supported: False"),
    (setting("architectures", ["MarianForCausalLM"]), "architectures = ['MarianForCausalLM']; supported"),
    (setting("max_position_embeddings", 8), "max_position_embeddings = 8; supported: 64 to"),
    (setting("vocab_size", 70), "config.json: decoder_vocab_size ="),
    (setting("pad_token_id", 1000), "pad_token_id = 1000; supported: 0 to"),
    (setting("eos_token_id", 5, "generation_config.json"), "vocab.json: </s> = 0; supported: eos_token_id"),
    (setting("bad_words_ids", [[3, 4]], "generation_config.json"), "bad_words_ids has [3, 4]; supported"),
    (setting("bad_words_ids", [7], "generation_config.json"), "bad_words_ids has 7; supported"),
    (setting("forced_bos_token_id", 3, "generation_config.json"), "forced_bos_token_id = 3; supported"),
    (setting("num_beams", 0, "generation_config.json"), "generation_config.json: num_beams = 0") ,
    (setting("▁neu", 1000, "vocab.json"), "vocab.json: '▁neu' = 1000; supported: ids below vocab_size"),
    (setting("▁neu", "x", "vocab.json"), "vocab.json: '▁neu' = 'x'; supported: ids"),
    (setting("\ud83d", 1, "vocab.json"), "vocab.json: '\\ud83d' has half of a surrogate pair; supported"),
    (setting("▁neu", 0, "vocab.json"), "vocab.json: '▁neu' and '</s>' have the same id, 0"),
    (tensor(FC1, lambda _: None), f"model.safetensors: has no {FC1}, which must have shape [48, 32]"),
    (tensor(FC1, lambda one: one.T), f"{FC1} has shape [32, 48], but the configuration requires [48, 32]"),
    (tensor(FC1, lambda one: one.long()), f"{FC1} is torch.int64; supported: floating point"),
    (tensor(FC1, lambda one: one / 0), f"{FC1} has values that are not finite"),
    (added("model.decoder.more.weight"), "model.decoder.more.weight is not part of the network"),
    (left_to_lfs("model.safetensors"), "model.safetensors: is a pointer of Git LFS, not the file itself"),
    (left_to_lfs("source.spm"), "source.spm: is a pointer of Git LFS, not the file itself; get it with `git"),
    (truncated("model.safetensors"), "model.safetensors: cannot be read, it may be truncated"),
    (truncated("config.json"), "config.json: is not valid JSON"),
    (truncated("vocab.json"), "vocab.json: is not valid JSON"),
    (truncated("source.spm"), "source.spm: is not a SentencePiece model"),
    (removed("target.spm"), "target.spm: is missing"),
    (removed("vocab.json"), "vocab.json: is missing"),
    (removed("config.json"), "has no known format; supported: Hugging Face Marian"),
    (removed("model.safetensors"), "has no weights; supported: model.safetensors, pytorch_model.bin"),
    (trapped, "pytorch_model.bin: contains code, which was not executed"),
    (truncated_pickle, "pytorch_model.bin: cannot be read, it may be truncated"),
    (pickled_list, "pytorch_model.bin: is not a dict of tensors by name"),
    (pickled(torch.Tensor.to_sparse), f"'{FC1}' is tensor("),
    (pickled(lambda one: one.to("meta")), f"'{FC1}' is tensor("),
    (pickled(lambda one: one[:1, :1].clone().expand(48, 32)), f"'{FC1}' is tensor("),
    (compressed, "pytorch_model.bin: unpacks to "),
    (with_duplicate_key, "config.json: 'd_model' occurs twice"),
    (setting("d_model", "x" * 10_000), "config.json: d_model = 'xxx"),
    (setting("early_stopping", "later", "generation_config.json"), "early_stopping = 'later'; supp"),
    (setting("length_penalty", 10**400, "generation_config.json"), "length_penalty = (1329 bits); supp"),
    (made_a_folder("generation_config.json"), "generation_config.json: is not a file"),
    (made_large("source.spm"), "source.spm: has more than 67108864 bytes"),
    (setting("target_lang", "gmw", "tokenizer_config.json"), "target language (gmw): --target en"),
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "model"
    write_folder(folder)
    return folder


@pytest.mark.parametrize(("change", "message"), CASES, ids=[f"{message}" for _, message in CASES])
def test_a_broken_folder_is_refused(
    whole: Path, check_is_refused: Callable[..., None], change: Break, message: str
) -> None:
    check_is_refused(whole, change, message)


def test_an_output_folder_that_is_not_a_bundle_is_not_overwritten(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("dear")
    assert main([str(whole), "--out", str(tmp_path / "letters")]) == 1
    assert "exists and is not a bundle" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["a.txt"]
