"""A model's languages, licence and text rules, from the documents and scripts in its folder."""

import json
import re
from collections.abc import Sized
from pathlib import Path

MAX_BYTES = 65_536
NORMALIZER = "normalize-punctuation"
"""The Moses script that OPUS-MT's pipelines call."""
STATED = r"^ *[*-] *{} languages?(?:\(s\))?: *(.+)$"
"""The line with the languages of a side in the README of an OPUS-MT archive."""
LICENCES = {
    "Attribution 4.0 International": "cc-by-4.0",
    "Attribution-ShareAlike 4.0 International": "cc-by-sa-4.0",
    "Attribution-NonCommercial 4.0 International": "cc-by-nc-4.0",
    "Attribution-NonCommercial-ShareAlike 4.0 International": "cc-by-nc-sa-4.0",
    "CC0 1.0 Universal": "cc0-1.0",
    "Apache License": "apache-2.0",
    "MIT License": "mit",
    "Mozilla Public License Version 2.0": "mpl-2.0",
}
"""Licences by the beginning of their texts."""
NLLB_LANGUAGES, NLLB_LICENCE = 200, "cc-by-nc-4.0"
"""A model with so many languages that states no licence is assumed to have NLLB's."""


def licence_of(folder: Path, languages: Sized = ()) -> str:
    """Return the licence stated in the model card or in `LICENSE`, or implied by the languages, or ""."""
    head = _head(folder / "README.md")
    if match := re.match(r"---\n(?:.*\n)*?license: *([\w.-]+) *\n", head):
        return match[1]
    licence_title = " ".join(_head(folder / "LICENSE").split())
    licences = (name for start, name in LICENCES.items() if licence_title.startswith(start))
    implied = NLLB_LICENCE if len(languages) >= NLLB_LANGUAGES else ""
    return next(licences, licence_title[:80].strip() or implied)


def stated_languages(folder: Path) -> tuple[list[str], list[str]]:
    """Return the source and target codes stated in `metadata.json` or the README, as far as there are any."""
    try:
        metadata = json.loads(_head(folder / "metadata.json") or "{}")
    except (ValueError, RecursionError):
        metadata = {}
    text = _head(folder / "README.md")
    sides = []
    for side in ("source", "target"):
        code = metadata.get(f"{side}Language") if isinstance(metadata, dict) else None
        match = re.search(STATED.format(side), text, re.MULTILINE | re.IGNORECASE)
        codes = re.findall(r"[\w-]+", match[1]) if match else []
        sides.append([code] if isinstance(code, str) else codes)
    return sides[0], sides[1]


def rules_of(folder: Path) -> dict[str, dict[str, str]]:
    """Return the text rules that replace the preprocessing in the model's `preprocess.sh`."""
    return {"punctuation": {}} if NORMALIZER in _head(folder / "preprocess.sh") else {}


def _head(path: Path) -> str:
    """Return the beginning of a text file, or "" if there is no such file."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(MAX_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
