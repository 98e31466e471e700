"""Import of a Marian archive, a service that runs the bundle, and the kinds of vocabularies."""

import hashlib
import json
import random
import re
import shutil
from pathlib import Path

import pytest
import sentencepiece

from export.importers import conversion
from export.importers.imported import SourceError
from export.importers.marian_npz import read
from export.importers.marian_vocabulary import read_vocabulary, side_of
from export.material import ExportOptions
from service.engine.types import StopRule
from service.models.bundle import load
from service.settings import Settings
from tests import toy
from tests.export.importers.marian_npz_models import write_model, write_student
from tests.export.importers.marian_npz_reference import Reference
from tests.export.importers.test_importing import bundle_of, translated

WORDS = sorted({word for german, _ in toy.sentences() for word in german.rstrip(".").split()})
TEXTS = [" ".join(random.Random(n).choices(WORDS, k=n % 7 + 1)) for n in range(110)]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Reference]:
    """An archive, its content, and the model."""
    folder = tmp_path_factory.mktemp("marian") / "opus-2020-02-26"
    reference = write_model(folder, seed=7)
    script = "normalize-punctuation.perl -l $1 | spm_encode --model $2\n"
    (folder / "preprocess.sh").write_text(script)
    return Path(shutil.make_archive(str(folder), "zip", folder)), folder, reference


@pytest.mark.slow
def test_an_imported_archive_translates_as_marian_does(
    archive: tuple[Path, Path, Reference],
    tmp_path: Path,
    settings: Settings,
) -> None:
    packed, folder, reference = archive
    out = bundle_of(packed, tmp_path / "bundle", "--precisions", "fp32")
    manifest = load(out).manifest
    assert manifest.name == "opus-2020-02-26"
    assert [(one.source, one.target) for one in manifest.directions] == [("de", "en")]
    assert (manifest.decoding.beam_size, manifest.decoding.length_penalty) == (4, 1)
    assert manifest.decoding.stop_rule is StopRule.NARROW
    assert manifest.provenance.licences == ["cc-by-4.0"]
    assert manifest.rules == {"punctuation": {}}
    origin = manifest.provenance.origin
    assert origin is not None
    assert origin.name == packed.name
    for path in (packed, folder / "model.npz", folder / "vocab.yml"):
        assert origin.files[path.name] == hashlib.sha256(path.read_bytes()).hexdigest()

    for beam_size in (1, 4):
        expected = {text: by_marian(folder, reference, text, beam_size) for text in TEXTS[:60]}
        expected = {text: one for text, one in expected.items() if not is_repetitive(one)}
        assert len(set(expected.values())) > 4, "too few"
        found = translated(out, settings, "fp32", text=list(expected), beam_size=beam_size)
        assert found["translatedText"] == list(expected.values())


@pytest.mark.slow
def test_an_imported_student_translates_as_marian_does(tmp_path: Path, settings: Settings) -> None:
    folder = tmp_path / "student"
    reference = write_student(folder, seed=3)
    out = bundle_of(folder, tmp_path / "bundle", "--precisions", "fp32,int8")
    manifest = load(out).manifest
    assert [(one.source, one.target) for one in manifest.directions] == [("de", "en")]
    assert manifest.decoding.beam_size == 1
    origin = manifest.provenance.origin
    assert origin is not None
    names = {"final.model.npz.best-chrf.npz", "vocab.deen.spm", "metadata.json"}
    assert origin.files.keys() == names

    cut = sentencepiece.SentencePieceProcessor(model_file=str(folder / "vocab.deen.spm"))
    expected = {}
    for text in TEXTS:
        ids = cut.encode(text)
        found = reference.search([*ids, 0], 1, len(ids) + 50).ids
        if found and not is_repetitive(cut.decode(found)):
            expected[text] = cut.decode(found)
    assert len(set(expected.values())) > 8, "too few"
    found = translated(out, settings, "fp32", text=list(expected))["translatedText"]
    assert found == list(expected.values())


def is_repetitive(text: str) -> bool:
    """Check whether the service would search again to avoid a loop, which is likely for a random model."""
    return re.search(r"(.+?)\1{3}", text) is not None or not text


def by_marian(folder: Path, reference: Reference, text: str, beam_size: int) -> str:
    cut = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    lines = (folder / "vocab.yml").read_text(encoding="utf-8").splitlines()
    pieces = [line.rpartition(": ")[0] for line in lines]
    pieces = [json.loads(piece) if piece.startswith('"') else piece for piece in pieces]
    ids = [pieces.index(piece) for piece in cut.encode(text, out_type=str)]
    found = reference.search([*ids, 0], beam_size, len(ids) + 50, normalize=1.0)
    return "".join(pieces[id] for id in found.ids).replace("▁", " ").strip()


@pytest.mark.parametrize(("asked", "found"), [(None, True), (True, True), (False, False)])
def test_the_punctuation_option_overrides_the_preprocessing_script(
    archive: tuple[Path, Path, Reference],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: bool | None,
    found: bool,
) -> None:
    seen = []
    monkeypatch.setattr(conversion, "_material", lambda imported, *_: seen.append(imported.rules))
    monkeypatch.setattr(conversion, "publish", lambda make, *_: make())
    conversion.import_model(
        archive[1], tmp_path / "bundle", ExportOptions("model"), punctuation=asked
    )
    assert seen == [{"punctuation": {}} if found else {}]


def test_missing_settings_have_the_defaults_of_marian(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "decoder.yml").unlink()
    imported = read(tmp_path)
    assert imported.config.activation == "silu"
    assert (imported.config.norm, imported.config.layer_norm_epsilon) == ("post", 1e-6)
    assert (imported.decoding.beam_size, imported.decoding.length_penalty) == (12, 0)


def test_vocabularies_in_yaml_json_and_plain_text_are_read(tmp_path: Path) -> None:
    lines = [
        *('</s>: 0', '<unk>: 1', '▁the: 2', '"\\"": 3', "'it''s': 4", "\": 5", "#: 6", ":: 7"),
        *('"\\u00e4\\x85": 8', "\x85: 9", "\u2028x: 10", "- a: 11", ">>deu<<: 12"),
    ]  # fmt: skip
    ids = {"</s>": 0, "<unk>": 1, "▁the": 2, '"': 3, "it's": 4}
    path = tmp_path / "vocab.yml"
    path.write_text("\n".join([*lines[:5], *lines[6:]]) + "\n", encoding="utf-8")
    others = {"#": 6, ":": 7, "ä\x85": 8, "\x85": 9, "\u2028x": 10, "- a": 11, ">>deu<<": 12}
    assert read_vocabulary(path) == {**ids, **others}
    path = tmp_path / "vocab.json"
    path.write_text(json.dumps(ids))
    assert read_vocabulary(path) == ids
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{piece}\n" for piece in ids))
    assert read_vocabulary(path) == ids


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("vocab.yml", "</s>: 0\n<unk> 1\n", "vocab.yml: line 2: '<unk> 1'; supported: piece: id"),
        ("vocab.yml", "</s>: 0\na: 1\na: 2\n", "vocab.yml: line 3: 'a' occurs twice"),
        (
            "vocab.yml",
            "</s>: 0\n<unk>: 7\n",
            "'<unk>' = 7; supported: ids below rows of the table, 5",
        ),
        ("vocab.yml", "</s>: 0\na: 1\n", "vocab.yml: has no <unk>"),
        ("vocab.json", '{"a": 1', "vocab.json: is not valid JSON"),
        ("vocab.fsv", "", "vocab.fsv: factored vocabularies are not supported"),
        ("vocab.spm", "spm", "vocab.spm: is not a SentencePiece model"),
    ],
)
def test_a_broken_vocabulary_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        side_of(path, read_vocabulary(path), tmp_path / "source.spm", 5)
    assert message in str(caught.value)
