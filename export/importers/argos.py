"""Packages of Argos Translate and LibreTranslate: a CTranslate2 folder with Argos' metadata."""

from dataclasses import replace
from pathlib import Path

from export.importers import ctranslate2_folder
from export.importers.folder_parts import search_of
from export.importers.imported import Imported, SourceError
from export.importers.settings import Settings, shown
from service.models.bundle import Moses

FORMAT = "Argos Translate"
METADATA, FOLDER = "metadata.json", "model"
BEAM_SIZE, LENGTH_PENALTY = 4, 0.2
"""Argos' own defaults."""
MOSES = Moses(splits_hyphens=False, escapes=True)
"""How Argos calls the Moses tokenizer, whatever the model was trained with."""


def recognises(source: Path) -> bool:
    """Check whether this is an unpacked package."""
    return (source / METADATA).is_file() and (
        source / FOLDER / ctranslate2_folder.WEIGHTS
    ).is_file()


def read(source: Path) -> Imported:
    """Read an unpacked package.

    Raises:
        SourceError: a part of the package is missing, broken or not supported.
    """
    metadata, folder = Settings(source / METADATA), source / FOLDER
    metadata.refuse("type", "translate")
    imported = ctranslate2_folder.read_beside(folder, source)
    codes = [metadata.get(key, str) for key in ("from_code", "to_code")]
    prefix = metadata.get("target_prefix", str, "")
    return replace(
        imported,
        format=FORMAT,
        files=[metadata.path, *imported.files],
        source_languages=codes[:1],
        target_languages=codes[1:],
        target_start=_id_of(prefix, imported, metadata.path) if prefix else None,
        decoding=search_of(BEAM_SIZE, LENGTH_PENALTY),
        moses=imported.moses and MOSES,
        rules={"punctuation": {}} if imported.moses else {},
    )


def _id_of(prefix: str, imported: Imported, path: Path) -> int:
    if prefix not in imported.target.ids:
        raise SourceError(
            f"{path}: target_prefix = {shown(prefix)}; supported: tokens of the vocabulary"
        )
    return imported.target.ids[prefix]
