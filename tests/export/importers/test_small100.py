"""SMaLL-100: M2M-100's network, whose sources begin with the token of the target language."""

import json
from pathlib import Path
from typing import Any

import pytest
import transformers

from export.importers.m2m100 import read
from service.models.bundle import load
from service.settings import Settings
from service.translation.guards import loops
from tests.export.importers.ctranslate2_peer import muddled_texts
from tests.export.importers.m2m100_folders import train, write_folder
from tests.export.importers.test_ctranslate2 import import_folder, served


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("small100") / "model"
    model = write_folder(folder, kind="m2m100", encoder_layers=1, decoder_layers=1)
    train(model, folder, "en", "en", small100=True)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text()) | {"tokenizer_class": "SMALL100Tokenizer"}
    path.write_text(json.dumps(config))
    return folder, model


def translated(folder: Path, model: Any, texts: list[str]) -> list[str | None]:
    """Translate as SMaLL-100's own tokenizer does; None where the service would search again."""
    tokenizer: Any = transformers.M2M100Tokenizer.from_pretrained(str(folder), src_lang="en")
    found: list[str | None] = []
    for text in texts:
        batch = tokenizer([text], return_tensors="pt")
        longest = batch["input_ids"].shape[1] - 2 + 50
        ids = model.generate(**batch, num_beams=4, max_new_tokens=longest)[0].tolist()
        ends = ids[-1] == tokenizer.eos_token_id and not loops(ids)
        translation = tokenizer.decode(ids, skip_special_tokens=True).strip()
        found.append(translation if ends and translation else None)
    return found


@pytest.mark.parametrize("has_library", [True, False])
def test_it_translates_as_with_its_own_tokenizer(
    learnt: tuple[Path, Any],
    has_library: bool,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not has_library:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    bundle = import_folder(learnt[0], tmp_path / "bundle", "--source", "de", "--target", "en,fr")
    monkeypatch.undo()
    pieces = json.loads((bundle / "pieces.json").read_text(encoding="utf-8"))
    directions = load(bundle).manifest.directions
    assert [
        (one.source, one.target, pieces[one.tag or 0], one.start_token) for one in directions
    ] == [
        ("de", "en", "__en__", None),
        ("de", "fr", "__fr__", None),
    ]
    texts = muddled_texts(20)
    expected = translated(*learnt, texts)
    known = [at for at, one in enumerate(expected) if one is not None]
    assert len({expected[at] for at in known}) > 10
    [found] = served(bundle, texts, settings, alone=False)
    assert [found[at] for at in known] == [expected[at] for at in known]


def test_its_tokenizer_s_file_or_its_name_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    write_folder(folder, kind="m2m100")
    assert read(folder).languages
    (folder / "tokenization_small100.py").touch()
    assert (read(folder).languages, read(folder).tags["de"]) == ({}, "__de__")
    (folder / "tokenization_small100.py").unlink()
    named = folder.rename(tmp_path / "small100-de")
    assert (read(named).languages, read(named).tags["de"]) == ({}, "__de__")


def test_a_network_that_begins_without_a_language_is_reported(
    learnt: tuple[Path, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = learnt[0] / "tokenizer_config.json"
    config = path.read_text()
    path.write_text(json.dumps(json.loads(config) | {"tokenizer_class": "M2M100Tokenizer"}))
    try:
        import_folder(learnt[0], tmp_path / "bundle", "--source", "de", "--target", "en")
    finally:
        path.write_text(config)
    assert "trained with another order of tokens, as SMaLL-100 is?" in caplog.text
