"""Detection of a model's tokenizer: SentencePiece, or the Moses tokenizer and BPE."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import sentencepiece

from export.importers.imported import SourceError
from export.importers.settings import read_small, shown
from service.errors import BundleError
from service.models.bundle import Moses
from service.text.bpe import Bpe
from service.text.moses_tokenizer import HYPHEN, JOINT

MODELS = "sentencepiece.model", "sentencepiece.bpe.model", "spm.model", "tokenizer.model"
MODELS_BY_SIDE = "source.spm", "target.spm"
CODES = "bpecodes", "bpe.codes", "bpe.model"
CODES_BY_SIDE = "source.bpe", "target.bpe"
OTHER_JOINT, TRUECASER = "\uffed", "*.tcmodel"
"""The joiner mark of pyonmttok, and the tables of the Moses truecaser."""
MOST_JOINTS = 0.1
"""Maximum share of tokens that may have such a mark by chance."""


class Segmentation(NamedTuple):
    """The tokenizers of both sides."""

    models: tuple[Path, Path]
    """SentencePiece models, or BPE merges."""
    moses: Moses | None = None
    """How words are tokenized before BPE; None for SentencePiece."""


def segmentation_of(
    folder: Path, vocabularies: Mapping[Path, Collection[str]], languages: Sequence[str] = ()
) -> Segmentation:
    """Find the tokenizers that belong to these vocabularies, among the files in a folder.

    Raises:
        SourceError: a file is missing or broken, or the tokenizer is not supported.
    """
    if problem := _joiner_problem(vocabularies, OTHER_JOINT):
        raise SourceError(f"{problem}pyonmttok; supported: SentencePiece, subword-nmt, fastBPE")
    if problem := _joiner_problem(vocabularies, JOINT):
        if any(folder.glob(TRUECASER)):
            raise SourceError(f"{folder / TRUECASER}: Moses' truecaser is not supported")
        if (codes := _codes(folder)) is None:
            raise SourceError(
                f"{problem}subword-nmt or fastBPE; supported: with the file of its merges, "
                f"{', '.join(CODES)}, or {' and '.join(CODES_BY_SIDE)}, in {folder}"
            )
        tokens = set[str]().union(*vocabularies.values())
        escapes = tokens.isdisjoint({'"', "'"})
        return Segmentation(codes, Moses(splits_hyphens=HYPHEN in tokens, escapes=escapes))
    models = sentencepiece_models(folder, languages)
    for model in models:
        load_sentencepiece(model)
    return Segmentation(models)


def _joiner_problem(vocabularies: Mapping[Path, Collection[str]], joint: str) -> str:
    """Return the beginning of an error message if many tokens have the mark of a split word, otherwise ""."""
    for path, tokens in vocabularies.items():
        marked = [token for token in tokens if token.startswith(joint) or token.endswith(joint)]
        if len(marked) > MOST_JOINTS * len(tokens):
            return (
                f"{path}: {len(marked)} of {len(tokens)} tokens are marked with {joint}, like "
                f"{shown(marked[0])}: the model needs words split by "
            )
    return ""


def _codes(folder: Path) -> tuple[Path, Path] | None:
    """Return the BPE merges of source and target, a shared file twice; None if there are none."""
    by_side = [folder / name for name in CODES_BY_SIDE]
    shared = [folder / name for name in CODES if (folder / name).is_file()]
    if not all(path.is_file() for path in by_side):
        by_side = shared[:1] * 2
    try:
        for path in by_side:
            Bpe(path)
    except BundleError as error:
        raise SourceError(str(error)) from None
    return (by_side[0], by_side[1]) if by_side else None


def load_sentencepiece(path: Path) -> sentencepiece.SentencePieceProcessor:
    """Load a SentencePiece model.

    Raises:
        SourceError: the file is missing, or is not a SentencePiece model.
    """
    model = read_small(path)
    try:
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(model)
        for id in range(processor.vocab_size()):
            processor.id_to_piece(id)  # raises if it is not UTF-8
    except (RuntimeError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: is not a SentencePiece model: {error}") from None
    return processor


def sentencepiece_model(path: Path) -> Path:
    """Check that a file is a SentencePiece model, and return its path.

    Raises:
        SourceError: the file is missing, or is not a SentencePiece model.
    """
    load_sentencepiece(path)
    return path


def sentencepiece_models(source: Path, languages: Sequence[str]) -> tuple[Path, Path]:
    """Find the SentencePiece models of source and target in a folder; a shared one is returned twice.

    Raises:
        SourceError: there is none, or it is unclear which one belongs to which side.
    """
    by_side = [source / name for name in MODELS_BY_SIDE]
    if all(path.is_file() for path in by_side):
        return by_side[0], by_side[1]
    models_by_side = [sorted(source.glob(f"*.{code}.model")) for code in languages]
    if [len(models) for models in models_by_side] == [1, 1]:
        return models_by_side[0][0], models_by_side[1][0]
    other_models = [
        path
        for path in sorted(source.glob("*.model"))
        if not any(path in models for models in models_by_side)
    ]
    usual_models = [source / name for name in MODELS if (source / name).is_file()]
    if shared := [*usual_models, *other_models[: len(other_models) == 1]]:
        return shared[0], shared[0]
    raise SourceError(
        f"{source}: has no SentencePiece model; supported: {MODELS[0]}, or "
        f"{' and '.join(MODELS_BY_SIDE)}, copied from the files of the training or the conversion"
    )
