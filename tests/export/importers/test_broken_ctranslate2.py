"""Broken CTranslate2 folders are refused: the message names file, key and value, and nothing is written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ctranslate2.specs import TransformerDecoderModelSpec
from ctranslate2.specs.common_spec import Activation

from tests.export.importers.breaking import Break, left_to_lfs, removed, truncated
from tests.export.importers.ctranslate2_files import ModelFile, read_file, write_file
from tests.export.importers.ctranslate2_folders import write_folder
from tests.export.importers.test_broken_folders import setting

W1 = "encoder/layer_0/ffn/linear_0/weight"


def changed(change: Callable[[ModelFile], object]) -> Break:
    """Change the content of `model.bin`."""

    def change_it(folder: Path) -> None:
        file = read_file(folder / "model.bin")
        change(file)
        write_file(folder / "model.bin", file)

    return change_it


def attribute(key: str, value: Any) -> Break:
    return changed(lambda file: setattr(file, key, value))


def variable(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Break:
    return changed(lambda file: file.variables.update({name: change(file.variables[name])}))


def added(name: str, value: np.ndarray) -> Break:
    return changed(lambda file: file.variables.update({name: value}))


def without(name: str) -> Break:
    return changed(lambda file: file.variables.pop(name))


def bytes_of(change: Callable[[bytearray], object]) -> Break:
    def change_it(folder: Path) -> None:
        data = bytearray((folder / "model.bin").read_bytes())
        change(data)
        (folder / "model.bin").write_bytes(data)

    return change_it


def vocabulary(change: Callable[[list[Any]], Any]) -> Break:
    def change_it(folder: Path) -> None:
        path = folder / "shared_vocabulary.json"
        path.write_text(json.dumps(change(json.loads(path.read_text()))))

    return change_it


def rewritten(**options: Any) -> Break:
    """Replace the folder with a model that has other options."""

    def write(folder: Path) -> None:
        shutil.rmtree(folder)
        write_folder(folder, **options)

    return write


def renamed(old: bytes, new: bytes) -> Break:
    def change(data: bytearray) -> None:
        data[:] = data.replace(old, new)

    return bytes_of(change)


LAYER, W2 = "encoder/layer_0", "encoder/layer_0/ffn/linear_1/weight"
ONE, ROW = np.array(1, np.int8), np.zeros(3, np.float32)
CASES: list[tuple[Break, str]] = [
    (left_to_lfs("model.bin"), "model.bin: is a pointer of Git LFS, not the file itself; get it with `git"),
    (truncated("model.bin"), "model.bin: ends at byte "),
    (bytes_of(bytearray.clear), "model.bin: cannot be read"),
    (bytes_of(lambda data: data.extend(b"more")), "model.bin: has 4 unexpected bytes at its end"),
    (bytes_of(lambda data: data.__setitem__(slice(6, 10), b"\xff" * 4)), "there is no valid name"),
    (bytes_of(lambda data: data.__setitem__(slice(26, 30), b"\xff" * 4)), "is more than 100000"),
    (attribute("version", 1), "model.bin: has version 1; supported: 2 to 6"),
    (attribute("version", 7), "model.bin: has version 7; supported: 2 to 6"),
    (attribute("name", "WhisperSpec"), "is a WhisperSpec; supported: TransformerSpec, a seq"),
    (attribute("name", TransformerDecoderModelSpec.__name__), "is a TransformerDecoderModelSpec;"),
    (attribute("revision", 8), "TransformerSpec has revision 8; supported: 2 to 7"),
    (variable(W2, lambda one: one.T), f"{W2} has shape [48, 32], but the configuration requires [32, 48]"),
    (variable(W1, lambda one: one.ravel()), f"{W1} has shape [1536]; supported: two dimensions"),
    (variable(W1, lambda one: one * np.inf), f"{W1} has values that are not finite"),
    (variable(W1, lambda one: one.astype(np.int8)), f"{W1} is int8, but {W1}_scale is missing"),
    (variable(W1, lambda one: one.astype(np.int32)), f"{W1} is torch.int64; supported: floating"),
    (renamed(b"encoder/layer_1/ffn/linear_0", b"encoder/layer_0/ffn/linear_0"), "/bias' occurs twice"),
    (without(W1), f"model.bin: has no {W1}"),
    (without("decoder/layer_1/ffn/layer_norm/beta"), "has no decoder/layer_1/ffn/layer_norm/beta"),
    (added("decoder/layer_0/more", np.zeros(3, np.float32)), "decoder/layer_0/more is not part of"),
    (added("decoder/future", ONE), "decoder/future = 1 is not supported, only 0"),
    (added("decoder/alibi", ONE), "decoder/alibi: attention with linear biases are not supported"),
    (added(f"{LAYER}/self_attention/relative_position_keys", ROW), "to one another are not supported"),
    (added(f"{LAYER}/ffn/linear_0_noact/weight", ROW), "gated feed-forward layers are not supported"),
    (added("encoder/layernorm_embedding/beta", ROW), "a norm of the embeddings are not supported"),
    (rewritten(activation=Activation.Tanh), "activation = 5; supported: 0 (relu), 1 (gelu_tanh)"),
    (rewritten(scale=3.0), "scale_embeddings = 3 in the encoder, 3 in the decoder; supported: 1 or 5.65"),
    (rewritten(positions=20), "position_encodings/encodings has 20 positions; supported: at least 64"),
    (rewritten(heads=3), "num_heads = 3; supported: divisors of half of 32"),
    (added("encoder/num_heads", np.array(2, np.int16)), "decoder/num_heads = 4; supported: the encoder's"),
    (setting("decoder_start_token", None), "config.json: decoder_start_token = null, so the caller"),
    (setting("decoder_start_token", "<go>"), "has no <go>, which is the start of a translation"),
    (setting("eos_token", "<end>"), "shared_vocabulary.json: has no <end>, which is the end"),
    (setting("layer_norm_epsilon", 2), "layer_norm_epsilon = 2.0; supported: between 0 and 1"),
    (setting("add_source_eos", "yes"), "config.json: add_source_eos = 'yes'; supported: bool"),
    (setting("quantization_type", 1), "quantization_type = 1; supported: int8, int16, float16"),
    (truncated("config.json"), "config.json: is not valid JSON"),
    (truncated("shared_vocabulary.json"), "shared_vocabulary.json: is not valid JSON"),
    (vocabulary(lambda tokens: tokens[:40]), "has shape [71, 32], but the configuration requires [40, 32]"),
    (vocabulary(lambda tokens: dict.fromkeys(tokens)), "shared_vocabulary.json: is not a list of tokens"),
    (vocabulary(lambda tokens: [*tokens[:9], 7]), "shared_vocabulary.json: is not a list of tokens"),
    (vocabulary(lambda tokens: [*tokens[:9], "\udc00"]), "'\\udc00' has half of a surrogate pair"),
    (vocabulary(lambda tokens: tokens[:3]), "has 3 tokens; supported: 4 to 999999"),
    (vocabulary(lambda tokens: [*tokens[:60], *(f"{one}@@" for one in tokens[60:])]), "marked with @@, like"),
    (removed("shared_vocabulary.json"), "has no known format; supported: Hugging Face Marian"),
    (removed("sentencepiece.model"), "has no SentencePiece model; supported: sentencepiece.model, or"),
    (truncated("sentencepiece.model"), "sentencepiece.model: is not a SentencePiece model"),
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("whole") / "opus-mt-de-en")


@pytest.mark.parametrize(("change", "message"), CASES, ids=[message for _, message in CASES])
def test_a_broken_folder_is_refused(
    whole: Path, check_is_refused: Callable[..., None], change: Break, message: str
) -> None:
    check_is_refused(whole, change, message)
