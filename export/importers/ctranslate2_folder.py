"""CTranslate2 folders of Transformer models, whatever they were converted from.

The results match CTranslate2's own Translator. The specification describes the network, but not how text is
tokenized: the folder must also have the SentencePiece model or the BPE merges, which converters can copy.
"""

from functools import partial
from pathlib import Path

from export.importers.arrangement import Arrangement
from export.importers.ctranslate2_oracle import ctranslate2_oracle
from export.importers.ctranslate2_variables import Variables
from export.importers.ctranslate2_vocabulary import (
    CONFIG,
    KINDS,
    VOCABULARIES,
    Tokens,
    Vocabulary,
    read_tokens,
    read_vocabularies,
)
from export.importers.ctranslate2_weights import read_network
from export.importers.folder_parts import (
    as_small100,
    is_small100,
    languages_among,
    search_of,
    tags_among,
)
from export.importers.imported import Imported, Side, SourceError
from export.importers.languages import languages_of_name
from export.importers.model_card import licence_of
from export.importers.segmentation import segmentation_of

FORMAT = "CTranslate2"
WEIGHTS = "model.bin"
SPECIFICATIONS = "TransformerSpec", "TransformerBase", "TransformerBig"
REVISIONS = 2, 7
MAX_LENGTH = 512


def recognises(source: Path) -> bool:
    """Check whether this is a folder of this format."""
    paths = (source / f"{name}.{kind}" for name in VOCABULARIES for kind in KINDS)
    return (source / WEIGHTS).is_file() and any(path.is_file() for path in paths)


def read(source: Path) -> Imported:
    """Read a folder.

    Raises:
        SourceError: a part of the model is missing, broken or not supported.
    """
    return read_beside(source, source)


def read_beside(source: Path, tokenizer_folder: Path) -> Imported:
    """Read a folder; the tokenizer's files are in the folder `tokenizer_folder`.

    Raises:
        SourceError: a part of the model is missing, broken or not supported.
    """
    variables = _variables(source / WEIGHTS)
    tokens = read_tokens(source, variables)
    vocabularies = read_vocabularies(source, tokens.unk)
    segmentation = segmentation_of(
        tokenizer_folder, {vocabulary.path: vocabulary.ids for vocabulary in vocabularies}
    )
    sides = sides_of(vocabularies, tokens, segmentation.models)
    sizes = vocabularies[0].size, vocabularies[1].size
    config, weights = read_network(variables, sides, sizes, tokens.epsilon)
    languages = languages_among(vocabularies[1].ids) if tokens.ends_source else {}
    languages = languages if len(languages) > 1 else {}
    spm = None if segmentation.moses else segmentation.models[0]
    files = [
        variables.path,
        source / CONFIG,
        *(vocabulary.path for vocabulary in vocabularies),
        *segmentation.models,
    ]
    languages_by_side = languages_of_name(source.resolve().name)
    imported = Imported(
        format=FORMAT,
        config=config,
        weights=weights,
        source=sides[0],
        target=sides[1],
        max_length=min(config.max_positions - 1, MAX_LENGTH),
        decoding=search_of(4, 1.0),
        files=[path for path in dict.fromkeys(files) if path.exists()],
        source_languages=languages_by_side[0],
        target_languages=languages_by_side[1],
        tags=tags_among(sides[0].ids),
        languages=languages,
        source_start=vocabularies[0].ids.get(tokens.bos) if tokens.begins_source else None,
        ends_source=tokens.ends_source,
        moses=segmentation.moses,
        licence=licence_of(source, languages),
        oracle=partial(ctranslate2_oracle, source, vocabularies, spm, tokens),
    )
    return as_small100(imported) if languages and is_small100(source) else imported


def _variables(path: Path) -> Variables:
    """Read a weights file.

    Raises:
        SourceError: the file is broken, or its specification or revision is not supported.
    """
    variables = Variables(path)
    if variables.specification not in SPECIFICATIONS:
        raise SourceError(
            f"{path}: is a {variables.specification or 'model without a name'}; supported: "
            f"{SPECIFICATIONS[0]}, a sequence-to-sequence Transformer"
        )
    first_revision, last_revision = REVISIONS
    if not first_revision <= variables.revision <= last_revision:
        raise SourceError(
            f"{path}: {variables.specification} has revision {variables.revision}; supported: "
            f"{first_revision} to {last_revision}"
        )
    return variables


def sides_of(
    vocabularies: tuple[Vocabulary, Vocabulary], tokens: Tokens, models: tuple[Path, Path]
) -> tuple[Side, Side]:
    """Return both sides with their arrangements, padded to the size of the larger one.

    Raises:
        SourceError: a special token is missing, or UNK and EOS have the same id.
    """
    source, target = vocabularies
    unk, eos = target.ids[tokens.unk], target.id_of(tokens.eos, "end of a translation")
    start = target.id_of(tokens.start, "start of a translation")
    if unk == eos:
        raise SourceError(f"{target.path}: {tokens.unk} and {tokens.eos} must have different ids")
    target_arrangement = Arrangement.of(target.size, None, unk, eos, start)
    source_arrangement = target_arrangement
    if source is not target:
        end = source.ids.get(tokens.eos)
        if tokens.ends_source:
            end = source.id_of(tokens.eos, "end of a source")
        source_arrangement = Arrangement.of(source.size, None, source.ids[tokens.unk], end, 0)
    size = max(len(target_arrangement.order), len(source_arrangement.order))
    return (
        Side(models[0], source.pieces(tokens), source_arrangement.padded(size)),
        Side(models[1], target.pieces(tokens), target_arrangement.padded(size)),
    )
