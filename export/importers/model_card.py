"""What the documents beside a model say of its languages and its licence."""

import json
import re
from collections.abc import Sized
from pathlib import Path

MAX_BYTES = 65_536
NORMALIZER = "normalize-punctuation"
"""Moses' script, which OPUS-MT's pipelines call."""
STATED = r"^[*-] *{} languages?(?:\(s\))?: *(.+)$"
"""As in the README of an OPUS-MT archive."""
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
"""By how their texts begin."""
NLLB_LANGUAGES, NLLB_LICENCE = 200, "cc-by-nc-4.0"
"""Whatever has so many languages has that, unless it says otherwise."""


def licence_of(folder: Path, languages: Sized = ()) -> str:
    """What the front matter of a model card says, how the licence begins, or what the languages give away."""
    head = _head(folder / "README.md")
    if found := re.match(r"---\n(?:.*\n)*?license: *([\w.-]+) *\n", head):
        return found[1]
    title = " ".join(_head(folder / "LICENSE").split())
    known = (name for start, name in LICENCES.items() if title.startswith(start))
    implied = NLLB_LICENCE if len(languages) >= NLLB_LANGUAGES else ""
    return next(known, title[:80].strip() or implied)


def stated_languages(folder: Path) -> tuple[list[str], list[str]]:
    """The codes of the source's and of the target's languages, as far as anything says them."""
    try:
        said = json.loads(_head(folder / "metadata.json") or "{}")
    except (ValueError, RecursionError):
        said = {}
    text = _head(folder / "README.md")
    sides = []
    for side in ("source", "target"):
        code = said.get(f"{side}Language") if isinstance(said, dict) else None
        found = re.search(STATED.format(side), text, re.MULTILINE)
        written = re.findall(r"[\w-]+", found[1]) if found else []
        sides.append([code] if isinstance(code, str) else written)
    return sides[0], sides[1]


def rules_of(folder: Path) -> dict[str, dict[str, str]]:
    """The text rules that do what a script beside the model does before it cuts text into pieces."""
    return {"punctuation": {}} if NORMALIZER in _head(folder / "preprocess.sh") else {}


def _head(path: Path) -> str:
    """The beginning of a text; nothing where there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(MAX_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
