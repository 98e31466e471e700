"""The results of transformers for a folder, if it is installed, to verify an import."""

import importlib.util
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from export.importers.imported import Oracle, SourceError, is_out_of_memory


def marian_oracle(folder: Path) -> Oracle | None:
    """Load a MarianMTModel and its tokenizer; return None if transformers is not installed.

    Raises:
        SourceError: transformers cannot load the folder.
    """

    def encode(tokenizer: Any, tag: str, text: str) -> Sequence[int]:
        ids: Sequence[int] = tokenizer(f"{tag} {text}" if tag else text)["input_ids"]
        return ids

    return _oracle(folder, "MarianMTModel", "MarianTokenizer", encode)


def m2m100_oracle(folder: Path, tokenizer_kind: str) -> Oracle | None:
    """Load an M2M100ForConditionalGeneration and its tokenizer; return None without transformers.

    `tokenizer_kind` is the name of the tokenizer's class.

    Raises:
        SourceError: transformers cannot load the folder.
    """

    def encode(tokenizer: Any, tag: str, text: str) -> Sequence[int]:
        tokenizer.src_lang = tag.strip("_")
        ids: Sequence[int] = tokenizer(text)["input_ids"]
        return ids

    return _oracle(folder, "M2M100ForConditionalGeneration", tokenizer_kind, encode)


def _oracle(
    folder: Path,
    network: str,
    tokenizer_kind: str,
    encode: Callable[[Any, str, str], Sequence[int]],
) -> Oracle | None:
    """Load a network and a tokenizer by the names of their classes.

    `encode` is called with the tokenizer, a tag and a text.
    """
    if importlib.util.find_spec("transformers") is None:
        return None
    import transformers

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it recommends sacremoses, and does not use it
            model: Any = getattr(transformers, network).from_pretrained(
                str(folder), dtype=torch.float32, local_files_only=True, trust_remote_code=False
            )
            tokenizer: Any = getattr(transformers, tokenizer_kind).from_pretrained(
                str(folder), local_files_only=True
            )
    except Exception as error:  # it may raise anything
        if is_out_of_memory(error):
            raise
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SourceError(f"{folder}: transformers cannot load it: {reason}") from None
    model.eval()

    @torch.inference_mode()
    def log_probs(source: Sequence[int], target: Sequence[int]) -> Tensor:
        logits = model(
            input_ids=torch.tensor([list(source)]), decoder_input_ids=torch.tensor([list(target)])
        ).logits[0]
        log_probabilities: Tensor = logits.float().log_softmax(-1)
        return log_probabilities

    return Oracle(f"transformers {transformers.__version__}", log_probs, partial(encode, tokenizer))
