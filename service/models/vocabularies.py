"""Loads the vocabularies of a bundle and checks them against its manifest."""

from collections.abc import Iterable
from pathlib import Path

from service.errors import BundleError
from service.models.bundle import Bundle
from service.text.moses_tokenizer import MosesTokenizer
from service.text.piece_tokenizer import PieceTokenizer
from service.text.tokenizer import Tokenizer, Tokenizers


def load_tokenizers(bundle: Bundle) -> Tokenizers:
    """Load the vocabularies of both sides.

    Raises:
        BundleError: a vocabulary is invalid, or differs from the manifest.
    """
    manifest = bundle.manifest
    source_codes = (direction.source for direction in manifest.directions)
    source = _tokenizer(bundle, bundle.vocabulary, manifest.pieces, source_codes)
    target_files = manifest.target_vocabulary, manifest.target_pieces, manifest.moses
    if target_files == (None, None, None):
        return Tokenizers(source, source)
    pieces = manifest.target_pieces or manifest.pieces
    target_codes = (direction.target for direction in manifest.directions)
    return Tokenizers(source, _tokenizer(bundle, bundle.target_vocabulary, pieces, target_codes))


def language_of(codes: Iterable[str]) -> str:
    """Return the only language among `codes`, without its region, or "" if there are several.

    >>> language_of(["pt-BR", "pt"]), language_of(["de", "en"])
    ('pt', '')
    """
    languages = {code.partition("-")[0] for code in codes}
    return languages.pop() if len(languages) == 1 else ""


def _tokenizer(bundle: Bundle, model: Path, pieces: str | None, codes: Iterable[str]) -> Tokenizer:
    manifest, path = bundle.manifest, bundle.folder / pieces if pieces else model
    if manifest.moses:
        options = manifest.moses.model_dump()
        tokenizer: Tokenizer = MosesTokenizer(model, path, language_of(codes), **options)
    else:
        tokenizer = PieceTokenizer(model, path) if pieces else Tokenizer(model)
    if tokenizer.vocab_size != manifest.vocab_size:
        raise BundleError(
            f" has {tokenizer.vocab_size} tokens, the manifest says {manifest.vocab_size}", path
        )
    for name, id in tokenizer.special_ids.items():
        expected = getattr(manifest.special_tokens, name)
        if id != expected:
            raise BundleError(f": {name} is {id}, the manifest says {expected}", path)
    return tokenizer
