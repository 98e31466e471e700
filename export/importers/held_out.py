"""Text to calibrate and verify an imported model: the user's, or sources drawn from its vocabulary.

In both cases, the model itself translates it: int8 must be calibrated with values that really occur.
"""

from collections.abc import Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path

import numpy as np
import sentencepiece
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from export.importers.imported import Imported, Side, SourceError
from export.parallel import in_parallel
from model.data.corpus import Pair
from model.search import greedy_search
from model.tokenizer import EOS_ID, PAD_ID
from model.transformer import Transformer
from service.models.bundle import Direction

SENTENCES = 160
MAX_LINES = 10 * SENTENCES
"""Maximum number of lines of the user's text."""
MAX_LINE_CHARACTERS = 10_000
"""What is beyond in a line counts as further lines."""
MAX_TOKENS = 64
"""Maximum number of a source's pieces."""
GENERATED_TOKENS = 4, 25
"""Minimum and maximum number of tokens of drawn sources."""
BATCH = 16


def read_lines(path: Path) -> list[str]:
    """Read the first `MAX_LINES` non-empty lines of a text.

    Raises:
        SourceError: the file cannot be read, is not UTF-8, or has no text.
    """
    try:
        with path.open(encoding="utf-8") as file:
            given = iter(lambda: file.readline(MAX_LINE_CHARACTERS), "")
            lines = list(islice(filter(None, map(str.strip, given)), MAX_LINES))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SourceError(f"{path}: cannot be read: {reason}") from None
    if not lines:
        raise SourceError(f"{path}: has no text")
    return lines


def drawn_sources(imported: Imported) -> list[list[int]]:
    """Draw sources of random pieces, frequent ones more often; return the bundle's ids, without tag and EOS.

    Raises:
        SourceError: none of the tokenizer's pieces is in the vocabulary.
    """
    side = imported.source
    pieces, share = _ranked_pieces(imported) if imported.moses else _scored_pieces(side)
    if not pieces:
        raise SourceError(f"{side.model}: none of its pieces has an id in the vocabulary")
    ids = [side.arrangement.place[side.ids[piece]] for piece in pieces]
    rng = np.random.default_rng(0)
    shortest, longest = GENERATED_TOKENS
    lengths = rng.integers(shortest, longest, SENTENCES, endpoint=True)
    return [rng.choice(ids, length, p=share / share.sum()).tolist() for length in lengths]


def _scored_pieces(side: Side) -> tuple[list[str], NDArray[np.float64]]:
    """Return SentencePiece's text pieces and their relative frequencies, estimated from their scores."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(side.model))
    pieces, weights = [], []
    for id in range(processor.vocab_size()):
        piece = processor.id_to_piece(id)
        is_text = not (
            processor.is_control(id) or processor.is_unknown(id) or processor.is_byte(id)
        )
        if is_text and piece in side.ids:
            pieces.append(piece)
            weights.append(processor.get_score(id))
    # scores of unigram models are log-probabilities; those of BPE are ranks, with a frequency of 1 / rank
    scores = np.array(weights)
    if len(scores) and (scores.min() < -1e3 or np.exp(scores).sum() > 2):
        return pieces, 1 / (1 + np.argsort(np.argsort(-scores)))
    return pieces, np.exp(scores - max(weights, default=0))


def _ranked_pieces(imported: Imported) -> tuple[list[str], NDArray[np.float64]]:
    """Return a vocabulary's text pieces, sorted by frequency, which is assumed to be 1 / rank."""
    side, tags = imported.source, {*imported.tags.values(), *imported.languages.values()}
    pieces = [
        piece
        for piece, id in sorted(side.ids.items(), key=itemgetter(1))
        if piece not in tags and side.arrangement.place[id] > EOS_ID
    ]
    return pieces, 1 / np.arange(1.0, len(pieces) + 1)


def pairs_of(
    network: Transformer,
    imported: Imported,
    directions: Sequence[Direction],
    sources: Sequence[Sequence[int]],
) -> list[Pair]:
    """Distribute sources among the directions, and translate them with the network.

    Raises:
        SourceError: no source is short enough.
    """
    room = min(MAX_TOKENS, imported.max_length - 1, network.config.max_positions - 52)
    usable = [list(ids) for ids in sources if 0 < len(ids) <= room][:SENTENCES]
    if not usable:
        raise SourceError(f"no line of the text has between 1 and {room} tokens")
    direction_of_source = [
        directions[index * len(directions) // len(usable)] for index in range(len(usable))
    ]
    complete_sources = [
        [*direction.prefix, *ids, *imported.source_end]
        for direction, ids in zip(direction_of_source, usable, strict=True)
    ]
    order = sorted(range(len(complete_sources)), key=lambda index: -len(complete_sources[index]))
    chunks = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]

    def translate(chunk: Sequence[int]) -> list[list[int]]:
        width = len(complete_sources[chunk[0]])
        rows = [
            complete_sources[index] + [PAD_ID] * (width - len(complete_sources[index]))
            for index in chunk
        ]
        start_tokens = torch.tensor(
            [direction_of_source[index].start_tokens for index in chunk], dtype=torch.long
        )
        return greedy_search(network, torch.tensor(rows), imported.suppressed_ids, start_tokens)

    translations: dict[int, list[int]] = {}
    with tqdm(total=len(order), desc="translating for calibration", unit="sentence") as progress:
        for chunk, targets in zip(chunks, in_parallel(translate, chunks), strict=True):
            translations |= dict(zip(chunk, targets, strict=True))
            progress.update(len(chunk))
    return [
        Pair(np.array(ids, np.int32), np.array([*translations[index], EOS_ID], np.int32))
        for index, ids in enumerate(complete_sources)
    ]
