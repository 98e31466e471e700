"""Import of a folder by the command line, and a service that runs the bundle."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import transformers

from export.importers import conversion
from export.importers.__main__ import main
from export.verify import VerificationError
from model import bundle
from model.checkpoint import CheckpointError
from service.engine.types import StopRule
from service.models import inspect
from service.models.bundle import load
from service.models.proof import read_golden
from service.settings import Settings
from tests import toy
from tests.conftest import started

TEXTS = [german for german, _ in toy.sentences()[::6]]


@pytest.fixture(scope="module", autouse=True)
def _enough_sentences_for_int8() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("export.importers.held_out.SENTENCES", 40)
        yield


def bundle_of(folder: Path, out: Path, *more: str) -> Path:
    assert main([str(folder), "--out", str(out), *more]) == 0
    return out


def translated(bundle: Path, settings: Settings, precision: str, **fields: Any) -> Any:
    changes = {"bundle": (bundle,), "precision": precision, "max_text_characters": 20_000}
    chosen = settings.model_copy(update=changes)
    with started(chosen) as client:
        response = client.post("/translate", json={"source": "de", "target": "en", **fields})
        assert response.status_code == 200, response.text
        return response.json()


def translated_by_transformers(folder: Path, model: Any, texts: list[str]) -> list[str]:
    tokenizer: Any = transformers.MarianTokenizer.from_pretrained(str(folder))
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    ids = model.generate(**batch)  # with the settings in the folder
    found: list[str] = tokenizer.batch_decode(ids, skip_special_tokens=True)
    return found


@pytest.fixture(scope="module")
def imported(
    toy_folder: tuple[Path, Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Any, Path]:
    """The toy folder, its model, and the bundle made from it."""
    folder, model = toy_folder
    parent = tmp_path_factory.mktemp("imported")
    text = parent / "text.de"
    text.write_text("\n".join(TEXTS), encoding="utf-8")
    more = ["--source", "de,en", "--precisions", "fp32,int8", "--data", str(text)]
    return folder, model, bundle_of(folder, parent / "bundle", *more)


def test_an_imported_folder_translates_as_transformers_does(
    imported: tuple[Path, Any, Path], settings: Settings
) -> None:
    folder, model, out = imported
    expected = translated_by_transformers(folder, model, [f">>eng<< {text}" for text in TEXTS])
    assert translated(out, settings, "fp32", text=TEXTS)["translatedText"] == expected
    assert "The old dog waits." in expected
    html = {
        "text": "<p>Der <b>alte</b> Hund wartet.</p>",
        "format": "html",
        "return_alignment": True,
    }
    page = translated(out, settings, "int8", **html)
    assert page["translatedText"].count("<b>") == page["translatedText"].count("</b>") == 1
    assert len(page["details"][0][0]["alignment"]) == 5


def test_int8_translations_are_close_to_those_in_fp32(
    imported: tuple[Path, Any, Path], settings: Settings
) -> None:
    fp32, int8 = (
        translated(imported[2], settings, precision, text=TEXTS)["translatedText"]
        for precision in ("fp32", "int8")
    )
    assert sacrebleu.corpus_chrf(int8, [fp32]).score > 99


def test_the_manifest_and_inspect_describe_the_imported_folder(
    imported: tuple[Path, Any, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _, out = imported
    manifest = load(out).manifest
    pieces = json.loads((out / "pieces.json").read_text(encoding="utf-8"))
    assert {(one.source, one.target, pieces[one.tag or 0]) for one in manifest.directions} == {
        ("de", "en", ">>eng<<"),
        ("en", "de", ">>deu<<"),
    }
    assert {one.source_ids[0] for one in read_golden(load(out))} == {
        one.tag for one in manifest.directions
    }
    assert manifest.rules == {}
    assert (manifest.decoding.beam_size, manifest.decoding.length_penalty) == (6, 1)
    assert manifest.decoding.stop_rule is StopRule.BEATEN
    assert manifest.limits.max_target_length == 100
    assert manifest.provenance.licences == ["cc-by-4.0"]
    origin = manifest.provenance.origin
    assert origin is not None
    weights = (folder / "model.safetensors").read_bytes()
    assert origin.files["model.safetensors"] == hashlib.sha256(weights).hexdigest()
    capsys.readouterr()
    assert inspect.main([str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Hugging Face Marian: opus-mt-toy" in printed
    assert "cc-by-4.0" in printed
    assert "beam 6, length penalty n^1" in printed
    assert origin.files["model.safetensors"] in printed


def test_training_refuses_an_imported_model(imported: tuple[Path, Any, Path]) -> None:
    with pytest.raises(CheckpointError, match="is an imported model"):
        bundle.load(imported[2])


def test_a_model_can_be_calibrated_without_text(
    toy_folder: tuple[Path, Any], tmp_path: Path, settings: Settings
) -> None:
    more = ["--source", "de", "--target", "eng", "--precisions", "int8", "--licence", "own"]
    out = bundle_of(toy_folder[0], tmp_path / "bundle", *more)
    manifest = load(out).manifest
    assert [(one.source, one.target) for one in manifest.directions] == [("de", "eng")]
    assert manifest.provenance.licences == ["own"]
    found = translated(out, settings, "int8", text=TEXTS, target="eng")["translatedText"]
    english = [english for _, english in toy.sentences()[::6]]
    assert sacrebleu.corpus_chrf(found, [english]).score > 95


def test_a_model_that_fails_verification_is_not_published(
    toy_folder: tuple[Path, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise VerificationError("the graphs differ")

    monkeypatch.setattr(conversion, "publish", fail)
    monkeypatch.setattr("export.importers.held_out.SENTENCES", 2)
    assert main([str(toy_folder[0]), "--source", "de", "--out", str(tmp_path / "bundle")]) == 1
    assert "error: the graphs differ" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == []
