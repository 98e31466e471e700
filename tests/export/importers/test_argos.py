"""Packages of Argos, zipped and unpacked, as LibreTranslate stores them."""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from export.importers.__main__ import main
from export.importers.argos import read
from export.importers.formats import format_of
from export.importers.imported import SourceError
from export.importers.languages import directions_of
from service.models.bundle import load
from service.settings import Settings
from tests.export.importers.ctranslate2_folders import write_folder
from tests.export.importers.ctranslate2_peer import muddled_texts, translated, write_learnt_folder
from tests.export.importers.test_ctranslate2 import import_folder, served


def write_package(folder: Path, model: Path, **metadata: Any) -> Path:
    """Write an unpacked package around a CTranslate2 folder."""
    shutil.copytree(model, folder / "model")
    (folder / "model" / "sentencepiece.model").rename(folder / "sentencepiece.model")
    defaults = {
        "package_version": "1.9",
        "argos_version": "1.9",
        "from_code": "de",
        "to_code": "en",
    }
    (folder / "metadata.json").write_text(json.dumps({**defaults, **metadata}))
    (folder / "README.md").write_text("# German to English\n")
    return folder


def zipped(folder: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, Path(folder.name, file.relative_to(folder)))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_learnt_folder(
        tmp_path_factory.mktemp("argos") / "model", norm="pre", quantization="int8"
    )


@pytest.mark.slow
def test_the_service_translates_a_package_as_argos_does(
    model: Path, tmp_path: Path, settings: Settings
) -> None:
    package = write_package(tmp_path / "translate-de_en-1_9", model)
    archive = zipped(package, tmp_path / "translate-de_en-1_9.argosmodel")
    bundle = import_folder(archive, tmp_path / "bundle")
    manifest = load(bundle).manifest
    assert [(one.source, one.target) for one in manifest.directions] == [("de", "en")]
    assert (manifest.decoding.beam_size, manifest.decoding.length_penalty) == (4, 0.2)
    origin = manifest.provenance.origin
    assert origin is not None
    assert (origin.format, origin.name) == ("Argos Translate", archive.name)
    assert origin.files[archive.name] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert "model.bin" in origin.files
    texts = muddled_texts(40)
    argos: dict[str, Any] = {"beam_size": 4, "length_penalty": 0.2, "replace_unknowns": True}
    shutil.copyfile(model / "sentencepiece.model", package / "model" / "sentencepiece.model")
    expected = translated(package / "model", texts, **argos)
    [found] = served(bundle, texts, settings, alone=False)
    known = [at for at, one in enumerate(expected) if one is not None]
    assert [found[at] for at in known] == [expected[at] for at in known]


@pytest.mark.parametrize(("code", "known"), [("zt", "zh-Hant"), ("pb", "pt-BR"), ("en", "en")])
def test_language_codes_are_mapped_to_bcp_47(
    model: Path, tmp_path: Path, code: str, known: str
) -> None:
    package = write_package(tmp_path / "package", model, to_code=code)
    assert format_of(package).name == "Argos Translate"
    [direction] = directions_of(read(package), [], [])
    assert (direction.source, direction.target) == ("de", known)


def test_a_target_prefix_becomes_the_start_token(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", extra=["__en__"])
    package = write_package(tmp_path / "package", folder, target_prefix="__en__")
    imported = read(package)
    [direction] = directions_of(imported, [], [])
    tokens = json.loads((folder / "shared_vocabulary.json").read_text())
    assert direction.start_token == imported.target.arrangement.place[tokens.index("__en__")]
    assert direction.tag is None
    write_package(tmp_path / "other", folder, target_prefix="__fr__")
    with pytest.raises(SourceError, match="target_prefix = '__fr__'; supported: tokens of"):
        read(tmp_path / "other")


@pytest.mark.slow
def test_translations_after_a_target_prefix_equal_those_of_ctranslate2(
    model: Path, tmp_path: Path, settings: Settings
) -> None:
    word = "sleeps"  # left out of every text, like a language token
    package = write_package(tmp_path / "package", model, target_prefix=f"▁{word}")
    bundle = import_folder(package, tmp_path / "bundle")
    shutil.copyfile(model / "sentencepiece.model", package / "model" / "sentencepiece.model")
    texts = muddled_texts(30)
    whole = translated(package / "model", texts, prefix=[f"▁{word}"])
    [found, alone] = served(bundle, texts, settings, length_penalty=0.0)
    known = [at for at, one in enumerate(whole) if one is not None and one.count(word) == 1]
    assert len(known) > 10
    expected = [(whole[at] or "").removeprefix(word).strip() for at in known]
    assert [found[at] for at in known] == [alone[at] for at in known] == expected


def without_sentencepiece_model(package: Path) -> None:
    (package / "sentencepiece.model").unlink()


@pytest.mark.parametrize(
    ("metadata", "change", "message"),
    [
        ({"type": "sbd"}, None, "metadata.json: type = 'sbd'; supported: 'translate'"),
        ({"from_code": None}, None, "metadata.json: from_code is missing"),
        ({"to_code": ["en"]}, None, "metadata.json: to_code = ['en']; supported: str"),
        (
            {},
            without_sentencepiece_model,
            "has no SentencePiece model; supported: sentencepiece.model, or",
        ),
    ],
)
def test_unsupported_packages_are_refused(
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    metadata: dict[str, Any],
    change: Callable[[Path], None] | None,
    message: str,
) -> None:
    package = write_package(tmp_path / "package", model, **metadata)
    if change:
        change(package)
    assert main([str(package), "--out", str(tmp_path / "bundle")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "bundle").exists()


def test_an_archive_without_a_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = tmp_path / "bad.argosmodel"
    for name, message in (
        ("../escaped", "'../escaped' is outside of the archive's folder"),
        ("notes.txt", "has no known format"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, b"x")
        assert main([str(path), "--out", str(tmp_path / "bundle")]) == 1
        assert message in capsys.readouterr().err
        assert sorted(tmp_path.iterdir()) == [path]
