"""What folders of several formats have: SentencePiece models, a card, names that say languages, tags."""

import re
from collections.abc import Iterable, Sized
from pathlib import Path

import sentencepiece

from export.importers.imported import SourceError

TAG = re.compile(r">>(.+)<<")
"""A piece in front of a source that asks for a language."""
LANGUAGE = re.compile(r"([a-z]{3}_[A-Z][a-z]{3})|__([a-z]{2,3})__")
"""A token of a language, as NLLB or M2M-100 has them."""
NLLB_LANGUAGES, NLLB_LICENCE = 200, "cc-by-nc-4.0"
"""Whatever has so many has that, unless it says otherwise."""
LENGTH_PENALTY_FACTOR = 1.25
"""Of the exponent of other libraries: near 20 tokens, ((5 + n) / 6)^1.25p grows with n as n^p does."""


def sentencepiece_model(path: Path) -> Path:
    """A file that is one.

    Raises:
        SourceError: it is missing, or is none.
    """
    if not path.is_file():
        raise SourceError(f"{path}: is missing")
    try:
        sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        raise SourceError(f"{path}: is not a SentencePiece model: {error}") from None
    return path


def languages_of_name(name: str) -> tuple[str, str]:
    """What `opus-mt-de-en` and `opus-mt-tc-big-gmw-gmw` say; nothing where it is called otherwise."""
    found = re.fullmatch(r"opus-?mt-(?:.*-)?([A-Za-z_]+)-([A-Za-z_]+)", name)
    return (found[1], found[2]) if found else ("", "")


def languages_among(pieces: Iterable[str]) -> dict[str, str]:
    """Tokens of languages by their codes.

    >>> languages_among(["deu_Latn", "__pt__", "d"])
    {'deu_Latn': 'deu_Latn', 'pt': '__pt__'}
    """
    found = ((piece, LANGUAGE.fullmatch(piece)) for piece in pieces)
    return {match[1] or match[2]: piece for piece, match in found if match}


def licence_of(card: Path, languages: Sized = ()) -> str:
    """What the front matter of a model card says, or what the number of languages gives away."""
    if not card.is_file():
        return NLLB_LICENCE if len(languages) >= NLLB_LANGUAGES else ""
    head = card.read_bytes()[:65_536].decode("utf-8", "replace")
    found = re.match(r"---\n(?:.*\n)*?license: *([\w.-]+) *\n", head)
    return found[1] if found else ""
