"""Folders of M2M-100 and NLLB, compared with transformers, and as bundles with many directions."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from ctranslate2.converters import TransformersConverter
from safetensors.torch import load_file, save_file

from export.importers.imported import SourceError
from export.importers.languages import directions_of
from export.importers.m2m100 import read, recognises
from model.tokenizer import BOS_ID
from service.models.bundle import load
from service.settings import Settings
from service.translation.guards import loops
from tests.conftest import started
from tests.export.importers.breaking import Break, removed, truncated
from tests.export.importers.ctranslate2_peer import muddled_texts
from tests.export.importers.m2m100_folders import NLLB, SHAPES, tokenizer_of, train, write_folder
from tests.export.importers.test_broken_folders import setting
from tests.export.importers.test_ctranslate2 import import_folder, served
from tests.export.importers.test_marian_networks import network_of


@pytest.mark.parametrize("shape", SHAPES)
def test_log_probabilities_are_those_of_transformers(tmp_path: Path, shape: str) -> None:
    model = write_folder(tmp_path, **SHAPES[shape])
    assert recognises(tmp_path)
    imported = read(tmp_path)
    network, place = network_of(imported), imported.source.arrangement.to_bundle
    size, rng = model.config.vocab_size, random.Random(0)
    order = torch.tensor(place(range(size)))
    for _ in range(8):
        source = [*rng.choices(range(3, size), k=rng.randint(1, 60)), 2]
        target = rng.choices(range(3, size), k=rng.randint(1, 60))
        with torch.no_grad():
            expected = model(
                input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[2, *target]])
            ).logits[0]
            found = network(torch.tensor([place(source)]), torch.tensor([[BOS_ID, *place(target)]]))
        torch.testing.assert_close(
            found[0].log_softmax(-1)[:, order], expected.log_softmax(-1), atol=1e-4, rtol=0
        )


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("nllb") / "nllb"
    model = write_folder(folder, encoder_layers=1, decoder_layers=1)
    train(model, folder)
    return folder, model


@pytest.fixture(scope="module")
def imported(learnt: tuple[Path, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_folder(learnt[0], tmp_path_factory.mktemp("imported") / "bundle")


def translated_by_transformers(
    folder: Path,
    model: Any,
    texts: list[str],
    languages: tuple[str, str] = NLLB[:2],
    **options: Any,
) -> list[str | None]:
    """Translate with transformers; None where the service would search again."""
    tokenizer, found = tokenizer_of(folder, languages[0]), []
    forced = tokenizer.convert_tokens_to_ids(languages[1])
    for text in texts:
        batch = tokenizer([text], return_tensors="pt")
        ids = model.generate(
            **batch,
            forced_bos_token_id=forced,
            num_beams=4,
            max_new_tokens=batch["input_ids"].shape[1] - 2 + 50,
            **options,
        )[0].tolist()
        ends = ids[-1] == tokenizer.eos_token_id and not loops(ids)
        text = tokenizer.decode(ids, skip_special_tokens=True).strip()
        found.append(text if ends and text else None)
    return found


def test_the_services_translations_equal_those_of_transformers(
    learnt: tuple[Path, Any], imported: Path, settings: Settings
) -> None:
    texts = muddled_texts(30)
    expected = translated_by_transformers(*learnt, texts)
    known = [at for at, one in enumerate(expected) if one is not None]
    assert len({expected[at] for at in known}) > 20
    for found in served(imported, texts, settings):
        assert [found[at] for at in known] == [expected[at] for at in known]


@pytest.mark.slow
def test_m2m100_has_all_its_directions_and_translates_as_transformers_does(
    tmp_path: Path, settings: Settings
) -> None:
    folder = tmp_path / "m2m100"
    model = write_folder(folder, kind="m2m100", encoder_layers=1, decoder_layers=1)
    train(model, folder, "de", "en")
    bundle = import_folder(folder, tmp_path / "bundle")
    ids = tokenizer_of(folder, "de").lang_code_to_id
    manifest = load(bundle).manifest
    assert len({one.source for one in manifest.directions}) == len(ids) == 100
    assert len(manifest.directions) == 100 * 99
    texts = muddled_texts(30)
    expected = translated_by_transformers(folder, model, texts, ("de", "__en__"))
    known = [at for at, one in enumerate(expected) if one is not None]
    assert len({expected[at] for at in known}) > 20
    for found in served(bundle, texts, settings):
        assert [found[at] for at in known] == [expected[at] for at in known]


@pytest.mark.slow
def test_a_folder_converted_by_ctranslate2_translates_as_the_original(
    learnt: tuple[Path, Any], tmp_path: Path, settings: Settings
) -> None:
    converter = TransformersConverter(str(learnt[0]), copy_files=["sentencepiece.bpe.model"])
    folder = Path(converter.convert(str(tmp_path / "ct2")))
    bundle = import_folder(folder, tmp_path / "bundle", "--source", "de", "--target", "en,fr")
    texts = muddled_texts(30)
    expected = translated_by_transformers(*learnt, texts, early_stopping=True)
    known = [at for at, one in enumerate(expected) if one is not None]
    [found] = served(bundle, texts, settings, alone=False)
    assert [found[at] for at in known] == [expected[at] for at in known]


def test_languages_have_bcp_47_codes_and_other_spellings_are_accepted(
    imported: Path, settings: Settings
) -> None:
    codes = ["de", "en", "fr", "pt", "zh", "zh-Hant"]
    with started(
        settings.model_copy(update={"bundle": (imported,), "precision": "fp32"})
    ) as client:
        listed = {one["code"]: one for one in client.get("/languages").json()}
        fields = {"text": "Der alte Hund wartet. Die Katze singt.", "source": "deu_Latn"}
        answer = client.post(
            "/translate", json={**fields, "target": "eng", "return_alignment": True}
        )
        other = client.post("/translate", json={**fields, "target": "zt"})
        metrics = client.get("/metrics").text
    assert sorted(listed) == codes
    assert listed["de"]["targets"] == codes[1:]
    assert listed["zh-Hant"]["name"] == "Traditional Chinese"
    assert answer.json()["translatedText"].startswith("The old dog ")
    assert other.status_code == 200
    assert 'attendant_sentences_total{direction="de-en",outcome="ok"} 2.0' in metrics


def test_the_manifest_lists_languages_instead_of_their_pairs(imported: Path) -> None:
    listed = json.loads((imported / "manifest.json").read_text())["directions"]
    ids = load(imported).manifest.vocab_size
    assert listed.keys() == {"from_tags", "into_start_tokens"}
    assert listed["from_tags"] == listed["into_start_tokens"]
    assert all(id < ids for id in listed["from_tags"].values())
    assert len(load(imported).manifest.directions) == 6 * 5


def test_directions_can_be_limited_to_some_languages(learnt: tuple[Path, Any]) -> None:
    found = directions_of(read(learnt[0]), ["de", "zho_Hant"], ["en", "de"])
    assert [(one.source, one.target) for one in found] == [
        ("de", "en"),
        ("zho_Hant", "en"),
        ("zho_Hant", "de"),
    ]
    with pytest.raises(SourceError, match="--target nl: the model has de, en, fr, pt, zh, zh-Hant"):
        directions_of(read(learnt[0]), [], ["nl"])


@pytest.mark.slow
def test_a_non_commercial_licence_is_printed_and_recorded(
    learnt: tuple[Path, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("export.importers.model_card.NLLB_LANGUAGES", 6)
    bundle = import_folder(learnt[0], tmp_path / "bundle", "--source", "de", "--target", "en")
    assert "licence: cc-by-nc-4.0, which allows no commercial use" in capsys.readouterr().out
    assert load(bundle).manifest.provenance.licences == ["cc-by-nc-4.0"]
    assert len(load(bundle).manifest.directions) == 1


def without_languages(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()


def with_extra_tensor(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    save_file({**tensors, "model.more": torch.zeros(2)}, path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (setting("tie_word_embeddings", False), "tie_word_embeddings = False; supported: True"),
        (
            setting("activation_function", "tanh"),
            "activation_function = 'tanh'; supported: 'swish'",
        ),
        (setting("decoder_ffn_dim", 50), "decoder_ffn_dim = 50; supported: 48"),
        (setting("d_model", 40), "has shape [32], but the configuration requires [40]"),
        (setting("vocab_size", 20), "ids below vocab_size, 20"),
        (
            setting("legacy_behaviour", True, "tokenizer_config.json"),
            "legacy_behaviour = True; supp",
        ),
        (
            setting("suppress_tokens", [7], "generation_config.json"),
            "suppress_tokens = [7]; supported",
        ),
        (
            setting("eos_token_id", 5, "generation_config.json"),
            "eos_token_id = 5, pad_token_id = 1;",
        ),
        (without_languages, "have no language tokens, such as deu_Latn or __de__"),
        (with_extra_tensor, "model.more is not part of the network"),
        (truncated("tokenizer.json"), "tokenizer.json: is not valid JSON"),
        (removed("sentencepiece.bpe.model"), "sentencepiece.bpe.model: is missing"),
        (removed("model.safetensors"), "has no weights; supported: model.safetensors"),
    ],
)
def test_a_broken_folder_is_refused(
    learnt: tuple[Path, Any], check_is_refused: Callable[..., None], change: Break, message: str
) -> None:
    check_is_refused(learnt[0], change, message)
