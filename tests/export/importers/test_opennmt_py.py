"""OpenNMT-py checkpoints, compared with CTranslate2, whose own converter reads them."""

import argparse
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
import torch

from export.importers.opennmt_py import read, recognises
from model.tokenizer import BOS_ID
from service.models.bundle import load
from service.settings import Settings
from tests.export.importers.breaking import Break, removed, truncated
from tests.export.importers.ctranslate2_peer import muddled_texts, translated
from tests.export.importers.opennmt_checkpoints import SHAPES, converted, write_folder
from tests.export.importers.test_ctranslate2 import import_folder, served
from tests.export.importers.test_marian_networks import network_of

CHECKPOINT = "model_step_100.pt"


@pytest.mark.parametrize("shape", SHAPES)
def test_log_probabilities_are_those_of_ctranslate2(tmp_path: Path, shape: str) -> None:
    folder = write_folder(tmp_path / "model", **SHAPES[shape])
    assert recognises(folder)
    imported, rng = read(folder), random.Random(0)
    assert imported.config.embeddings == SHAPES[shape].get("embeddings", "shared")
    network, place = network_of(imported), imported.target.arrangement.to_bundle
    translator = ctranslate2.Translator(
        str(converted(folder, tmp_path / "ct2")), compute_type="float32", intra_threads=1
    )
    tokens = sorted(imported.source.ids, key=imported.source.ids.__getitem__)
    size = len(tokens) + 4  # and special tokens
    order = torch.tensor(place(range(size)))
    for _ in range(8):
        source, target = (rng.choices(tokens[4:], k=rng.randint(1, 40)) for _ in range(2))
        ids = [place(imported.source.ids[one] for one in side) for side in (source, target)]
        with torch.no_grad():
            found = network(torch.tensor([ids[0]]), torch.tensor([[BOS_ID, *ids[1]]]))[0]
        [result] = translator.translate_batch(
            [source],
            target_prefix=[target],
            beam_size=1,
            max_decoding_length=len(target) + 1,
            min_decoding_length=0,
            return_logits_vocab=True,
        )
        expected = torch.tensor(np.array([np.array(one) for one in result.logits[0]]))
        torch.testing.assert_close(
            found.log_softmax(-1)[:, order], expected.log_softmax(-1), atol=1e-4, rtol=0
        )


@pytest.mark.slow
def test_the_services_translations_equal_those_of_ctranslate2(
    tmp_path: Path, settings: Settings
) -> None:
    folder = write_folder(tmp_path / "opus-mt-de-en", learnt=True)
    bundle = import_folder(folder, tmp_path / "bundle")
    assert load(bundle).manifest.special_tokens.ends_source is False
    texts = muddled_texts(20)
    expected = translated(
        converted(folder, tmp_path / "ct2"), texts, beam_size=5, length_penalty=1.0
    )
    known = [at for at, one in enumerate(expected) if one is not None]
    assert len({expected[at] for at in known}) > 12
    for found in served(bundle, texts, settings):
        assert [found[at] for at in known] == [expected[at] for at in known]


def test_weights_can_be_in_a_safetensors_file(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    folder = write_folder(tmp_path / "model", embeddings="separate")
    expected, checkpoint = read(folder).weights, loaded(folder)
    weights = {**checkpoint.pop("model")}
    weights |= {f"generator.{key}": one for key, one in checkpoint.pop("generator").items()}
    save_file(weights, folder / "model_step_100.safetensors")
    torch.save(checkpoint, folder / CHECKPOINT)
    imported = read(folder)
    assert folder / "model_step_100.safetensors" in imported.files
    assert all(torch.equal(one, imported.weights[name]) for name, one in expected.items())


def loaded(folder: Path) -> dict[str, Any]:
    with torch.serialization.safe_globals([argparse.Namespace]):
        found: dict[str, Any] = torch.load(folder / CHECKPOINT, weights_only=True)
    return found


def changing(part: str, **values: Any) -> Callable[[Path], None]:
    """Change values of a part of the checkpoint."""

    def change(folder: Path) -> None:
        checkpoint = loaded(folder)
        found = checkpoint[part]
        (vars(found) if part == "opt" else found).update(values)
        torch.save(checkpoint, folder / CHECKPOINT)

    return change


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("opennmt") / "opus-mt-de-en")


POSITIONS = "encoder.embeddings.make_embedding.pe.pe"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changing("opt", decoder_type="rnn"), "opt: decoder_type = 'rnn'; supported: 'transformer'"),
        (changing("opt", max_relative_positions=-1), "max_relative_positions = -1; supported: 0"),
        (changing("opt", pos_ffn_activation_fn="silu"), "= 'silu'; supported: 'relu', 'gelu'"),
        (changing("opt", layer_norm="rms"), "layer_norm = 'rms'; supported: 'standard'"),
        (changing("opt", tgt_word_vec_size=16), "tgt_word_vec_size = 16; supported: 32"),
        (changing("opt", heads=5), "enc_hid_size = 32; supported: multiples of twice heads, 10"),
        (changing("opt", norm_eps=2.0), "norm_eps = 2.0; supported: between 0 and 1"),
        (changing("opt", enc_layers="2"), "enc_layers = '2'; supported: int"),
        (changing("opt", dec_layers=2), "has no decoder.transformer_layers.1."),
        (changing("vocab", src=5), "vocab: src = 5; supported: list"),
        (changing("vocab", tgt=["a", "b", "c", "d"]), "vocab.tgt: has no </s>"),
        (changing("vocab", src=["<unk>", "</s>", "un￭", "￭do"]), "marked with ￭, like 'un￭'"),
        (changing("vocab", decoder_start_token="<q>"), "has no <q>, which is the start"),
        (changing("model", more=torch.zeros(2)), "more is not part of the network"),
        (changing("model", **{POSITIONS: torch.zeros(5000, 1, 32)}), "from the sinusoids"),
        (changing("generator", bias=torch.zeros(3)), "generator.bias has shape [3]"),
        (truncated(CHECKPOINT), f"{CHECKPOINT}: cannot be read, it may be truncated"),
        (removed("sentencepiece.model"), "has no SentencePiece model"),
    ],
)  # fmt: skip
def test_a_broken_folder_is_refused(
    folder: Path, check_is_refused: Callable[..., None], change: Break, message: str
) -> None:
    check_is_refused(folder, change, message)
