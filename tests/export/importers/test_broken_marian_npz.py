"""Broken Marian folders are refused with messages that name file, key and value."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.export.importers.breaking import (
    Break,
    deep_value,
    left_to_lfs,
    made_a_folder,
    removed,
    truncated,
)
from tests.export.importers.marian_npz_models import YML, save, write_model


def arrays(change_them: Callable[[dict[str, Any]], object]) -> Break:
    def change(folder: Path) -> None:
        with np.load(folder / "model.npz") as file:
            found = dict(file)
        change_them(found)
        save(folder / "model.npz", found)

    return change


def setting(key: str, value: Any) -> Break:
    def change(found: dict[str, Any]) -> None:
        config = json.loads(found[YML].tobytes().rstrip(b"\0")) | {key: value}
        found[YML] = np.frombuffer(json.dumps(config).encode() + b"\0", np.int8)

    return arrays(change)


def tensor(key: str, change_it: Callable[[Any], Any]) -> Break:
    return arrays(lambda found: found.update({key: change_it(found[key])}))


def decoder(**changes: Any) -> Break:
    def change(folder: Path) -> None:
        path = folder / "decoder.yml"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def written(name: str, data: bytes) -> Break:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return change


def intgemm(folder: Path) -> None:
    removed("model.npz", "decoder.yml")(folder)
    written("model.deen.intgemm.alphas.bin", b"\1")(folder)


def two_models(folder: Path) -> None:
    removed("decoder.yml")(folder)
    shutil.copy(folder / "model.npz", folder / "other.npz")


def with_duplicate_member(name: str) -> Break:
    def change(folder: Path) -> None:
        with (
            zipfile.ZipFile(folder / "model.npz", "a") as file,
            pytest.warns(UserWarning, match="Duplicate name"),
        ):
            file.writestr(name, file.read(name))

    return change


DEEP = yaml.safe_dump({"models": deep_value(), "vocabs": ["vocab.yml"] * 2}).encode()
LAUGHS = "".join(
    ["beam-size: 4\na0: &a0 [" + "lol, " * 9 + "lol]\n"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)]
    + ["vocabs: [*a8, *a8]\n"]
).encode()
WQ = "encoder_l1_self_Wq"
CASES: list[tuple[Break, str]] = [
    (setting("type", "amun"), "special:model.yml: type = 'amun'; supported: 'transformer'"),
    (setting("type", None), "special:model.yml: type is missing"),
    (setting("transformer-decoder-autoreg", "average-attention"), "supported: 'self-attention', 'rnn'"),
    (setting("transformer-decoder-autoreg", "rnn"), "special:model.yml: dec-cell = 'gru'; supported: 'ssru'"),
    (setting("transformer-ffn-depth", 3), "transformer-ffn-depth = 3; supported: 2"),
    (setting("transformer-decoder-dim-ffn", 64), "transformer-decoder-dim-ffn = 64; supported: 0, 48"),
    (setting("transformer-ffn-activation", "tanh"), "ffn-activation = 'tanh'; supported: 'swish'"),
    (setting("transformer-postprocess", "dhn"), "transformer-postprocess = 'dhn'; supported: '' and 'dan'"),
    (setting("transformer-postprocess-emb", "n"), "transformer-postprocess-emb = 'n'; supported: '', 'd'"),
    (setting("transformer-train-positions", True), "transformer-train-positions = True; supported: False"),
    (setting("transformer-tied-layers", [1, 3]), "transformer-tied-layers = [1, 3]; supported: 2 numbers"),
    (setting("input-types", ["class", "sequence"]), "input-types = ['class', 'sequence']; supported: []"),
    (setting("lemma-dim-emb", 64), "lemma-dim-emb = 64; supported: 0"),
    (setting("right-left", True), "right-left = True; supported: False"),
    (setting("dim-emb", 36), "dim-emb = 36; supported: multiples of twice transformer-heads, 8"),
    (setting("dim-emb", "wide"), "dim-emb = 'wide'; supported: int"),
    (setting("dim-vocabs", [70]), "dim-vocabs = [70]; supported: two numbers"),
    (setting("enc-depth", 3), f"model.npz: has no {WQ.replace('1', '3')}, which must have shape [32, 32]"),
    (setting("enc-depth", 1), "model.npz: encoder_l2_ffn_W1 is not part of the network"),
    (setting("tied-embeddings-all", False), "model.npz: has no decoder_Wemb"),
    (tensor(WQ, lambda one: one[:-1]), f"{WQ} has shape [31, 32], but the configuration requires [32, 32]"),
    (tensor(WQ, lambda one: one.astype(int)), f"{WQ} is torch.int64; supported: floating point"),
    (tensor(WQ, lambda one: one + np.inf), f"{WQ} has values that are not finite"),
    (tensor(WQ, lambda one: one.astype("U3")), "model.npz: cannot be read"),
    (tensor(YML, lambda _: np.frombuffer(b"a: [", np.int8)), "special:model.yml: is not valid YAML"),
    (tensor(YML, lambda _: np.frombuffer(b"text", np.int8)), "special:model.yml: is not a YAML mapping"),
    (arrays(lambda found: found.pop(YML)), "model.npz: has no special:model.yml; supported: models"),
    (arrays(lambda found: found.update(x=np.array([print], object))), "model.npz: cannot be read"),
    (arrays(lambda found: found.update(x=np.zeros(1))), "model.npz: x is not part of the network"),
    (truncated("model.npz"), "model.npz: cannot be read, it may be truncated"),
    (decoder(models=["a.npz", "b.npz"]), "decoder.yml: models = ['a.npz', 'b.npz']; supported: one .npz"),
    (decoder(models=["../../secret.npz"]), "model/secret.npz: is missing"),
    (decoder(vocabs=["vocab.yml"]), "decoder.yml: vocabs = ['vocab.yml']; supported: two files"),
    (decoder(**{"beam-size": 100}), "decoder.yml: beam-size = 100; supported: 1 to 64"),
    (decoder(**{"word-penalty": 0.5}), "decoder.yml: word-penalty = 0.5; supported: 0"),
    (written("decoder.yml", b"\t- a: ["), "decoder.yml: is not valid YAML"),
    (written("decoder.yml", b"beam-size: 4\nbeam-size: 5\n"), "decoder.yml: 'beam-size' occurs twice"),
    (written("decoder.yml", LAUGHS), "decoder.yml: has the alias *a0; supported: YAML without aliases"),
    (tensor(YML, lambda _: np.frombuffer(LAUGHS, np.int8)), "model.yml: has the alias *a0; supported: YAML"),
    (decoder(vocabs=[1, 2]), "decoder.yml: vocabs = [1, 2]; supported: two files"),
    (left_to_lfs("model.npz"), "model.npz: is a pointer of Git LFS, not the file itself; get it with `git"),
    (left_to_lfs("source.spm"), "source.spm: is a pointer of Git LFS"),
    (left_to_lfs("vocab.yml"), "vocab.yml: is a pointer of Git LFS"),
    (written("decoder.yml", DEEP), "decoder.yml: has the alias"),
    (made_a_folder("decoder.yml"), "decoder.yml: is not a file"),
    (with_duplicate_member(f"{WQ}.npy"), f"model.npz: '{WQ}.npy' occurs twice"),
    (tensor(WQ, lambda one: one * 1e30), f"{WQ} has values that are not finite, or larger than 1e+09"),
    (removed("decoder.yml", "vocab.yml"), "it is unclear which vocabulary belongs to which side (none)"),
    (removed("source.spm"), "has no SentencePiece model; supported: sentencepiece.model, or source.spm and"),
    (truncated("source.spm"), "source.spm: is not a SentencePiece model"),
    (removed("vocab.yml"), "vocab.yml: is missing"),
    (removed("README.md"), "the model does not name its source languages"),
    (two_models, "has model.npz, other.npz; supported: one model, or a decoder.yml"),
    (intgemm, "model.deen.intgemm.alphas.bin: has 8-bit weights for intgemm; supported: the model's "
     "weights in float32, final.model.npz.best-chrf.npz"),
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "model"
    write_model(folder)
    return folder


@pytest.mark.parametrize(("change", "message"), CASES, ids=[message for _, message in CASES])
def test_a_broken_folder_is_refused(
    whole: Path, check_is_refused: Callable[..., None], change: Break, message: str
) -> None:
    check_is_refused(whole, change, message)
