"""CTranslate2's own results for a folder, if it is installed, to verify an import."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import sentencepiece
import torch
from torch import Tensor

from export.importers.ctranslate2_vocabulary import Tokens, Vocabulary
from export.importers.imported import Oracle, SourceError, is_out_of_memory


def ctranslate2_oracle(
    folder: Path, vocabularies: tuple[Vocabulary, Vocabulary], model: Path | None, tokens: Tokens
) -> Oracle | None:
    """Load a folder, and its SentencePiece model if any; return None if CTranslate2 is not installed.

    Raises:
        SourceError: CTranslate2 cannot load the folder.
    """
    if importlib.util.find_spec("ctranslate2") is None:
        return None
    import ctranslate2

    try:
        translator = ctranslate2.Translator(str(folder), device="cpu", compute_type="float32")
    except Exception as error:  # it may raise anything
        if is_out_of_memory(error):
            raise
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SourceError(f"{folder}: CTranslate2 cannot load it: {reason}") from None
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model)) if model else None
    source_tokens, target_tokens = (
        {id: token for token, id in vocabulary.ids.items()} for vocabulary in vocabularies
    )
    ids = vocabularies[0].ids
    end = [tokens.eos] if tokens.ends_source else []

    def tokens_of(source: Sequence[int]) -> list[str]:
        """Return a source's tokens without BOS and EOS if CTranslate2 adds them."""
        pieces = [source_tokens[id] for id in source]
        return pieces[int(tokens.begins_source) : len(pieces) - int(tokens.adds_end)]

    def log_probs(source: Sequence[int], target: Sequence[int]) -> Tensor:
        prefix = [target_tokens[id] for id in target[1:]]
        [result] = translator.translate_batch(
            [tokens_of(source)],
            target_prefix=[prefix],
            beam_size=1,
            max_decoding_length=len(prefix) + 1,
            min_decoding_length=0,
            max_input_length=0,
            return_logits_vocab=True,
        )
        logits = np.stack([np.array(row) for row in result.logits[0]])
        return torch.from_numpy(logits).float().log_softmax(-1)

    def encode(tag: str, text: str) -> Sequence[int]:
        assert processor is not None
        pieces = [tokens.bos] if tokens.begins_source else [tag] if tag else []
        pieces += [*processor.encode(text, out_type=str), *end]
        return [ids.get(piece, ids[tokens.unk]) for piece in pieces]

    name = f"CTranslate2 {ctranslate2.__version__}"
    return Oracle(name, log_probs, encode if processor else None)
