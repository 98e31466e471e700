"""The bundled model's weights in the layout of every format that can represent them.

CTranslate2 and Argos represent the model exactly. Marian, Hugging Face's Marian and fairseq get the network
in post-norm (see `reshaping.py`), which computes nearly the same. Positions begin where the format
requires, and sources of fairseq and OpenNMT-py have no tag. Students cannot represent the model, because
their decoder has no self-attention.
"""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from model.checkpoint import Checkpoint
from model.data.corpus import Pair
from model.tokenizer import BOS_ID, tag_piece
from tests.bench import marian_files, peer
from tests.export.importers import (
    fairseq_checkpoints,
    m2m100_folders,
    marian_folders,
    opennmt_checkpoints,
)
from tests.export.importers.marian_npz_models import DECODER
from tests.export.importers.reshaping import with_halves, with_post_norm

SOURCE, TARGET = "de", "en"
FOLDER = "opus-mt-de-en"
TAGS = {tag_piece("de"): ">>deu<<", tag_piece("en"): ">>eng<<"}


class Trained(NamedTuple):
    """The trained pre-norm network and its conversion to post-norm."""

    pre: Checkpoint
    post: Checkpoint

    @classmethod
    def of(cls, checkpoint: Checkpoint, pairs: list[Pair]) -> "Trained":
        """Convert a checkpoint to post-norm, using the spread of activations on `pairs`."""
        return cls(checkpoint, with_post_norm(checkpoint, pairs))


def write_ctranslate2(folder: Path, trained: Trained) -> Path:
    """Write a CTranslate2 folder whose sources begin with a tag in place of BOS."""
    folder.mkdir(parents=True)
    vocabulary, names = trained.pre.vocabularies.source, _pieces(trained.pre)
    tag = names[vocabulary.tag_id(TARGET)]
    peer.convert(
        trained.pre.network(),
        folder,
        names=names,
        bos_token=tag,
        add_source_bos=True,
        add_source_eos=True,
        decoder_start_token=names[BOS_ID],
    )
    (folder / "sentencepiece.model").write_bytes(vocabulary.model)
    return folder


def write_argos(folder: Path, trained: Trained) -> Path:
    """Write an Argos package as a file."""
    package = folder / f"{SOURCE}_{TARGET}"
    model = write_ctranslate2(package / "model", trained)
    (model / "sentencepiece.model").rename(package / "sentencepiece.model")
    metadata = {"package_version": "1.9", "argos_version": "1.9.6", "type": "translate"}
    languages = {
        "from_code": SOURCE,
        "from_name": "German",
        "to_code": TARGET,
        "to_name": "English",
    }
    (package / "metadata.json").write_text(json.dumps(metadata | languages))
    (package / "README.md").write_text("# German - English\n")
    file = folder / f"translate-{SOURCE}_{TARGET}-1_9.argosmodel"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return file


def write_hugging_face(folder: Path, trained: Trained) -> Path:
    """Write a folder of Hugging Face's Marian."""
    marian_folders.write_network(folder, trained.post)
    return folder


def write_npz(folder: Path, trained: Trained) -> Path:
    """Write a folder like an unpacked archive of OPUS-MT; its translations begin with a vector of zeros."""
    folder.mkdir(parents=True)
    network = with_halves(trained.post, position_exponent="inclusive")
    marian_files.write_npz(folder / "opus.npz", network.network())
    pieces = _pieces(trained.pre)
    names = [TAGS.get(pieces[id], pieces[id]) for id in marian_files.format_ids(len(pieces))]
    lines = [f"{json.dumps(name, ensure_ascii=False)}: {id}\n" for id, name in enumerate(names)]
    (folder / "opus.vocab.yml").write_text("".join(lines), encoding="utf-8")
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(trained.pre.vocabularies.source.model)
    decoder = {"models": ["opus.npz"], "vocabs": ["opus.vocab.yml"] * 2, **DECODER}
    (folder / "decoder.yml").write_text(json.dumps(decoder))
    readme = (
        "# opus-2020-02-26.zip\n\n* source language(s): deu eng\n* target language(s): deu eng\n"
    )
    (folder / "README.md").write_text(readme)
    return folder


def write_m2m100(folder: Path, trained: Trained) -> Path:
    """Write a folder of M2M-100, whose architecture NLLB shares."""
    m2m100_folders.write_network(folder, trained.pre, SOURCE, TARGET)
    return folder


def write_fairseq(folder: Path, trained: Trained) -> Path:
    """Write a fairseq checkpoint."""
    fairseq_checkpoints.write_network(folder, trained.post)
    return folder


def write_opennmt(folder: Path, trained: Trained) -> Path:
    """Write an OpenNMT-py checkpoint, whose sources have neither a tag nor EOS."""
    opennmt_checkpoints.write_network(folder, trained.pre)
    return folder


LAYOUTS: dict[str, Callable[[Path, Trained], Path]] = {
    "CTranslate2": write_ctranslate2,
    "Argos": write_argos,
    "Hugging Face Marian": write_hugging_face,
    "Marian npz": write_npz,
    "M2M-100": write_m2m100,
    "fairseq": write_fairseq,
    "OpenNMT-py": write_opennmt,
}
"""Functions that write a model into a new folder and return the path to import."""


def _pieces(checkpoint: Checkpoint) -> list[str]:
    processor = checkpoint.vocabularies.source.processor
    return [processor.id_to_piece(id) for id in range(processor.vocab_size())]
