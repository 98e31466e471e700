"""Import of models with the Moses tokenizer and subword-nmt's BPE, and a service that runs them."""

import io
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import sacremoses
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from export.importers import argos, ctranslate2_folder, fairseq, marian_npz
from export.importers.held_out import drawn_sources
from export.importers.imported import SourceError
from export.importers.segmentation import segmentation_of
from service.models.bundle import Moses, load
from service.settings import Settings
from tests import toy
from tests.export.importers.ctranslate2_folders import write_folder
from tests.export.importers.fairseq_checkpoints import write_folder as write_checkpoint
from tests.export.importers.marian_npz_models import write_model
from tests.export.importers.marian_npz_reference import Reference
from tests.export.importers.test_argos import write_package
from tests.export.importers.test_importing import bundle_of, translated
from tests.export.importers.test_marian_npz_importing import is_repetitive

GERMAN = [german.replace(" rote ", '-rote "') for german, _ in toy.sentences()]
ENGLISH = [english.replace(" red ", "-red & ") for _, english in toy.sentences()]
WORDS = sorted({word for line in GERMAN for word in line.rstrip(".").split()})
TEXTS = [" ".join(random.Random(n).choices(WORDS, k=n % 6 + 1)) + "." for n in range(40)]
FIRST = ["</s>", "<unk>"]


def words_of(language: str, text: str) -> list[str]:
    found: list[str] = sacremoses.MosesTokenizer(language).tokenize(
        text, aggressive_dash_splits=True
    )
    return found


def learn(lines: list[str], language: str) -> str:
    codes = io.StringIO()
    learn_bpe(io.StringIO("\n".join(" ".join(words_of(language, one)) for one in lines)), codes, 90)
    return codes.getvalue()


def write_bpe(folder: Path) -> list[list[str]]:
    """Write `source.bpe`, `target.bpe` and the ids of their pieces, the most frequent first."""
    pieces: dict[str, int] = {}
    for side, language, lines in (("source", "de", GERMAN), ("target", "en", ENGLISH)):
        codes = learn(lines, language)
        (folder / f"{side}.bpe").write_text(codes, encoding="utf-8")
        for line in lines:
            for piece in BPE(io.StringIO(codes)).segment_tokens(words_of(language, line)):
                pieces[piece] = pieces.get(piece, 0) + 1
    for letter in sorted({letter for line in (*GERMAN, *ENGLISH) for letter in line.strip()}):
        pieces.setdefault(f"{letter}@@", 0)
    listed = [*FIRST, *sorted(pieces, key=lambda piece: -pieces[piece])]
    lines = [f"{json.dumps(piece)}: {id}\n" for id, piece in enumerate(listed)]
    (folder / "vocab.yml").write_text("".join(lines), encoding="utf-8")
    return [listed] * 2


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reference]:
    folder = tmp_path_factory.mktemp("moses") / "opus-2019-12-05"
    reference = write_model(folder, seed=7, write_pieces=write_bpe)
    script = "normalize-punctuation.perl -l $1 | tokenizer.perl -a -l $1 | apply_bpe.py -c $2\n"
    (folder / "preprocess.sh").write_text(script)
    return folder, reference


def by_marian(folder: Path, reference: Reference, text: str) -> str:
    lines = (folder / "vocab.yml").read_text(encoding="utf-8").splitlines()
    pieces = [json.loads(line.rpartition(": ")[0]) for line in lines]
    plain = sacremoses.MosesPunctNormalizer("de", norm_numbers=False).normalize(text)
    with (folder / "source.bpe").open(encoding="utf-8") as codes:
        cut = BPE(codes).segment_tokens(words_of("de", plain))
    ids = [pieces.index(piece) for piece in cut]
    found = reference.search([*ids, 0], 4, len(ids) + 50)
    words = " ".join(pieces[id] for id in found.ids).replace("@@ ", "").removesuffix("@@").split()
    joined: str = sacremoses.MosesDetokenizer("en").detokenize(words)
    return joined


@pytest.mark.slow
def test_an_imported_archive_translates_as_marian_does(
    archive: tuple[Path, Reference], tmp_path: Path, settings: Settings
) -> None:
    folder, reference = archive
    out = bundle_of(folder, tmp_path / "bundle", "--precisions", "fp32")
    manifest = load(out).manifest
    assert manifest.moses == Moses(splits_hyphens=True, escapes=True)
    assert manifest.rules == {"punctuation": {}}
    assert {"source.bpe", "target.bpe", "pieces.json"} < manifest.files.keys()
    origin = manifest.provenance.origin
    assert origin is not None
    assert {"source.bpe", "target.bpe", "vocab.yml"} < origin.files.keys()
    expected = {text: by_marian(folder, reference, text) for text in TEXTS}
    expected = {text: one for text, one in expected.items() if not is_repetitive(one)}
    assert len(set(expected.values())) > 4, "too few"
    fields: dict[str, Any] = {"beam_size": 4, "length_penalty": 0}
    found = translated(out, settings, "fp32", text=list(expected), **fields)
    assert found["translatedText"] == list(expected.values())
    page = {"text": "<p>Der <b>alte</b> Hund &amp; das Kind.</p>", "format": "html"}
    html = translated(out, settings, "fp32", **page)["translatedText"]
    assert re.findall("</?[pb]>", html) == ["<p>", "<b>", "</b>", "</p>"]


def test_frequent_pieces_are_drawn_more_often_than_others(
    archive: tuple[Path, Reference],
) -> None:
    imported = marian_npz.read(archive[0])
    place, ids = imported.source.arrangement.place, imported.source.ids
    drawn = [id for one in drawn_sources(imported) for id in one]
    assert min(drawn) > 3
    by_rank = [place[id] for id in sorted(ids.values())[len(FIRST) :]]
    first, last = (sum(map(drawn.count, part)) for part in (by_rank[:5], by_rank[-5:]))
    assert first > 3 * last


def test_a_fairseq_checkpoint_has_one_file_of_merges_for_both_sides(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    for code in ("de", "en"):
        path = tmp_path / f"dict.{code}.txt"
        lines = path.read_text(encoding="utf-8").splitlines()
        marked = [line.replace(" ", "@@ ") if n % 3 else line for n, line in enumerate(lines)]
        path.write_text("\n".join(marked) + "\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"supported: with the file of its merges, bpecodes,"):
        fairseq.read(tmp_path)
    codes = tmp_path / "bpecodes"
    codes.write_text("a b 30\nb c</w> 20\n")
    imported = fairseq.read(tmp_path)
    assert (imported.source.model, imported.target.model) == (codes, codes)
    assert imported.moses == Moses(splits_hyphens=False, escapes=True)
    assert codes in imported.files


def test_an_argos_package_is_tokenized_as_argos_does(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", extra=[f"{n}@@" for n in range(30)] + ["@-@", '"'])
    package = write_package(tmp_path / "package", folder)
    (package / "sentencepiece.model").unlink()
    (package / "bpe.model").write_text("#version: 0.2\na b\n")
    imported = argos.read(package)
    assert imported.moses == Moses(splits_hyphens=False, escapes=True)
    assert imported.rules == {"punctuation": {}}
    oracle = imported.oracle()
    assert oracle is not None
    assert oracle.encode is None
    shutil.copy(package / "bpe.model", package / "model" / "bpe.codes")
    imported = ctranslate2_folder.read(package / "model")
    assert imported.moses == Moses(splits_hyphens=True, escapes=False)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bpecodes", "a\n", 'bpecodes: line 1: "a" is no pair of symbols'),
        ("source.tcmodel", "", "tcmodel: Moses' truecaser is not supported"),
    ],
)
def test_unsupported_segmentation_files_are_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / "bpecodes").write_text("a b\n")
    tokens = {tmp_path / "vocab": ["a@@", "b"]}
    assert segmentation_of(tmp_path, tokens).moses is not None
    (tmp_path / name).write_text(content)
    with pytest.raises(SourceError) as caught:
        segmentation_of(tmp_path, tokens)
    assert message in str(caught.value)
