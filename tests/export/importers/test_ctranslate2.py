"""CTranslate2 folders, compared with CTranslate2: log-probabilities of all tokens, whole beam searches."""

import json
import random
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
import torch

from export.importers.__main__ import main
from export.importers.ctranslate2_folder import read, recognises
from export.importers.imported import Imported
from model.tokenizer import BOS_ID
from service.models.bundle import load
from service.settings import Settings
from tests import toy
from tests.conftest import started
from tests.export.importers.ctranslate2_files import read_file, write_file
from tests.export.importers.ctranslate2_folders import SHAPES, write_folder
from tests.export.importers.ctranslate2_peer import muddled_texts, translated, write_learnt_folder
from tests.export.importers.test_marian_networks import network_of

CASES = [
    *((shape, kind) for shape in SHAPES for kind in (None, "int8")),
    *(("opennmt", kind) for kind in ("int16", "float16", "bfloat16", "int8_float16")),
]


@pytest.mark.parametrize(("shape", "quantization"), CASES)
def test_log_probabilities_are_those_of_ctranslate2(
    tmp_path: Path, shape: str, quantization: str | None
) -> None:
    write_folder(tmp_path, quantization=quantization, **SHAPES[shape])
    assert recognises(tmp_path)
    check_log_probs(tmp_path, read(tmp_path))


def check_log_probs(folder: Path, imported: Imported) -> None:
    """Compare every token of the vocabulary, after random sources and translations."""
    translator = ctranslate2.Translator(
        str(folder), device="cpu", compute_type="float32", intra_threads=1
    )
    config = json.loads((folder / "config.json").read_text())
    names = [list(vocabulary(folder, side)) for side in ("source", "target")]
    rng, network = random.Random(0), network_of(imported)
    place = imported.target.arrangement.place
    order = torch.tensor([place[id] for id in range(len(names[1]))])
    for _ in range(8):
        tokens = [rng.choices(names[0][4:], k=rng.randint(1, 30)), rng.choices(names[1][4:], k=20)]
        source, target = (
            [one.index(token) for token in side] for one, side in zip(names, tokens, strict=True)
        )
        added = source
        if config["add_source_bos"]:
            added = [names[0].index("<s>"), *added]
        if config["add_source_eos"] or config["decoder_start_token"] == "</s>":
            added = [*added, names[0].index("</s>")]
            tokens[0] += [] if config["add_source_eos"] else ["</s>"]
        with torch.no_grad():
            logits = network(
                torch.tensor([imported.source.arrangement.to_bundle(added)]),
                torch.tensor([[BOS_ID, *imported.target.arrangement.to_bundle(target)]]),
            )[0]
        found = logits.log_softmax(-1)[:, order]
        [result] = translator.translate_batch(
            [tokens[0]],
            target_prefix=[tokens[1]],
            beam_size=1,
            max_decoding_length=len(target) + 1,
            min_decoding_length=0,
            return_logits_vocab=True,
        )
        expected = torch.tensor(np.array([np.array(one) for one in result.logits[0]]))
        torch.testing.assert_close(found, expected.log_softmax(-1), atol=1e-4, rtol=0)


def vocabulary(folder: Path, side: str) -> list[str]:
    shared, own = folder / "shared_vocabulary.json", folder / f"{side}_vocabulary.json"
    tokens: list[str] = json.loads((shared if shared.exists() else own).read_text())
    return tokens


@pytest.mark.parametrize(("version", "revision"), [(5, 4), (4, 3), (3, 3)])
def test_files_of_older_versions_are_read(tmp_path: Path, version: int, revision: int) -> None:
    write_folder(tmp_path, heads=2, quantization="int8", pre_norm=False)
    path = tmp_path / "model.bin"
    file = read_file(path)
    file.version, file.revision = version, revision
    for key, kind in (("num_heads", np.int8), ("pre_norm", np.int8), ("activation", np.int8)):
        file.variables[key] = file.variables.pop(f"encoder/{key}").astype(kind)
        del file.variables[f"decoder/{key}"]
    file.variables = {
        name: value
        for name, value in file.variables.items()
        if value.ndim or "/" not in name or name.endswith("scale_embeddings")
    }
    file.renamed(lambda name: name.replace("embeddings_0", "embeddings"))
    write_file(path, file)
    check_log_probs(tmp_path, read(tmp_path))
    tokens = json.loads((tmp_path / "shared_vocabulary.json").read_text())
    (tmp_path / "shared_vocabulary.json").unlink()
    (tmp_path / "config.json").unlink()
    (tmp_path / "shared_vocabulary.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    imported = read(tmp_path)
    assert not imported.ends_source
    assert imported.oracle() is not None
    assert imported.source.ids["▁the"] == tokens.index("▁the")


def import_folder(folder: Path, out: Path, *more: str) -> Path:
    text = folder.parent / "text.de"
    text.write_text("\n".join(german for german, _ in toy.sentences()[::9]), encoding="utf-8")
    more = ("--data", str(text), "--precisions", "fp32", *more)
    assert main([str(folder), "--out", str(out), *more]) == 0
    return out


def served(
    bundle: Path, texts: list[str], settings: Settings, *, alone: bool = True, **asked: Any
) -> list[list[str]]:
    """Return a running service's translations of texts in one request, and also one by one if `alone`."""
    changes = {"bundle": (bundle,), "precision": "fp32", "max_text_characters": 200_000}
    request = {"source": "de", "target": "en", "split_sentences": "0", **asked}
    with started(settings.model_copy(update=changes)) as client:
        bodies = [{"text": texts, **request}]
        bodies += [{"text": text, **request} for text in texts if alone]
        answers = [client.post("/translate", json=body).json() for body in bodies]
    together, *others = [one["translatedText"] for one in answers]
    return [together, others] if alone else [together]


@pytest.mark.slow
@pytest.mark.parametrize(
    "variants",
    [
        {"norm": "pre"},
        {"activation": "gelu", "ends_source": True, "layer_norm_epsilon": 1e-3},
        {"activation": "silu", "layer_norm_epsilon": 1e-3, "quantization": "int8"},
    ],
    ids=["opennmt", "post-gelu", "pre-silu-int8"],
)
def test_the_services_translations_equal_those_of_ctranslate2(
    tmp_path: Path, settings: Settings, variants: dict[str, Any]
) -> None:
    folder = write_learnt_folder(tmp_path / "opus-mt-de-en", **variants)
    bundle = import_folder(folder, tmp_path / "bundle")
    assert load(bundle).manifest.special_tokens.ends_source is variants.get("ends_source", False)
    texts = muddled_texts(20)
    expected = translated(folder, texts, length_penalty=1.0)
    known = [at for at, one in enumerate(expected) if one is not None]
    assert len({expected[at] for at in known}) > 12
    for found in served(bundle, texts, settings):
        assert [found[at] for at in known] == [expected[at] for at in known]
