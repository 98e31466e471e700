"""Comparison of an imported model with its library: token ids of texts and log-probabilities of tokens."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from export.importers.imported import Imported, Oracle, SourceError, is_out_of_memory
from export.importers.settings import shown
from export.importers.vocabulary import PieceTokenizers
from model.data.corpus import Pair
from model.tokenizer import BOS_ID
from model.transformer import Transformer
from service.models.bundle import Direction

MAX_NATS_APART = 1e-3
"""Maximum difference of any token's log-probability; both sides compute in fp32."""
SENTENCES, TEXTS = 8, 100
MIN_SHARE_OF_LANGUAGES = 0.01


def check_texts(
    oracle: Oracle,
    imported: Imported,
    directions: Sequence[Direction],
    texts: Sequence[str],
    tokenizers: PieceTokenizers,
) -> str:
    """Compare the token ids of texts; return one line that says how many were compared.

    Raises:
        SourceError: the ids of a text differ.
    """
    if oracle.encode is None:
        return f"{oracle.name}: does not tokenize text, so token ids are not compared"
    count, arrangement = 0, imported.source.arrangement
    pieces = {arrangement.place[id]: piece for piece, id in imported.source.ids.items()}
    for index, text in enumerate(texts[:TEXTS]):
        prefix = directions[index % len(directions)].prefix
        tag = pieces.get(prefix[0], "") if prefix else ""
        [ids] = tokenizers.source.encode([text])
        actual = arrangement.to_format([*prefix, *ids, *imported.source_end])
        with _errors_of(oracle, f"encode {shown(text)}"):
            expected = list(oracle.encode(tag, text))
        if actual != expected:
            raise SourceError(f"{oracle.name} encodes {shown(text)} as {expected}, not as {actual}")
        count += 1
    return f"{oracle.name}: {count} texts have the same ids"


@torch.inference_mode()
def check_log_probs(
    oracle: Oracle, imported: Imported, network: Transformer, pairs: Sequence[Pair]
) -> str:
    """Compare the log-probabilities of all tokens; return one line with the largest difference.

    Raises:
        SourceError: the difference exceeds `MAX_NATS_APART`.
    """
    source_side, target_side = imported.source.arrangement, imported.target.arrangement
    bundle_ids = torch.tensor(list(target_side.place.values()))  # the bundle's ids
    format_ids = torch.tensor(list(target_side.place))
    differences = []
    for pair in pairs[:: max(1, len(pairs) // SENTENCES)][:SENTENCES]:
        source, target = pair.source.tolist(), [BOS_ID, *pair.target.tolist()[:-1]]
        ours = network(torch.tensor([source]), torch.tensor([target]))[0].log_softmax(-1)
        with _errors_of(oracle, "run the model"):
            theirs = oracle.log_probs(source_side.to_format(source), target_side.to_format(target))
        differences.append((ours[:, bundle_ids] - theirs[:, format_ids]).abs().max())
    worst = float(torch.stack(differences).max())  # NaN if any value is NaN
    line = f"{oracle.name}: log-probabilities differ by {worst:.2g} at most"
    if not worst <= MAX_NATS_APART:
        raise SourceError(f"{line}; the limit is {MAX_NATS_APART}")
    return line


@torch.inference_mode()
def problem_with_language_tokens(
    imported: Imported, network: Transformer, pairs: Sequence[Pair]
) -> str:
    """Return what is wrong if translations hardly ever begin with the token of a language by themselves.

    A network that was trained with such tokens gives them nearly all of the probability. It is "" then, and
    for models without such tokens.
    """
    place = imported.target.arrangement.place
    tokens = [place[imported.target.ids[piece]] for piece in imported.languages.values()]
    if not tokens:
        return ""
    shares = [
        network(torch.tensor([pair.source.tolist()]), torch.tensor([[BOS_ID]]))[0, 0].softmax(-1)[
            tokens
        ]
        for pair in pairs[:SENTENCES]
    ]
    share = float(torch.stack(shares).sum(1).mean())
    if share >= MIN_SHARE_OF_LANGUAGES:
        return ""
    return (
        f"the network gives the tokens of languages, with which its translations are made to begin, a "
        f"probability of {share:.2g} there: was it trained with another order of tokens, as SMaLL-100 is?"
    )


@contextmanager
def _errors_of(oracle: Oracle, task: str) -> Iterator[None]:
    """Turn any error of a library in its `task` into a SourceError, except a lack of memory."""
    try:
        yield
    except Exception as error:  # it may raise anything
        if is_out_of_memory(error):
            raise
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SourceError(f"{oracle.name} cannot {task}: {reason}") from None
