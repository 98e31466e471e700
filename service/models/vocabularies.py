"""The vocabularies of a bundle, checked against its manifest."""

from pathlib import Path

from service.errors import BundleError
from service.models.bundle import Bundle
from service.text.piece_tokenizer import PieceTokenizer
from service.text.tokenizer import Tokenizer, Tokenizers


def load_tokenizers(bundle: Bundle) -> Tokenizers:
    """The vocabularies of both sides.

    Raises:
        BundleError: one is no vocabulary, or not the one that the manifest describes.
    """
    manifest = bundle.manifest
    source = _tokenizer(bundle, bundle.vocabulary, manifest.pieces)
    if manifest.target_vocabulary is None and manifest.target_pieces is None:
        return Tokenizers(source, source)
    pieces = manifest.target_pieces or manifest.pieces
    return Tokenizers(source, _tokenizer(bundle, bundle.target_vocabulary, pieces))


def _tokenizer(bundle: Bundle, model: Path, pieces: str | None) -> Tokenizer:
    manifest, path = bundle.manifest, bundle.folder / pieces if pieces else model
    tokenizer = PieceTokenizer(model, path) if pieces else Tokenizer(model)
    if tokenizer.vocab_size != manifest.vocab_size:
        raise BundleError(
            f" has {tokenizer.vocab_size} tokens, the manifest says {manifest.vocab_size}", path
        )
    for name, found in tokenizer.special_ids.items():
        expected = getattr(manifest.special_tokens, name)
        if found != expected:
            raise BundleError(f": {name} is {found}, the manifest says {expected}", path)
    return tokenizer
