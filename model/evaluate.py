"""Evaluation of a network: loss and BLEU on held-out text, and the width of its attention."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sacrebleu
import torch
from torch import Tensor

from model.config import Config
from model.data.batches import batches_of
from model.data.corpus import Pair
from model.loss import label_smoothed_loss
from model.search import greedy_search
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID, Vocabularies
from model.transformer import Transformer


@dataclass(frozen=True)
class ValidationLoss:
    """Mean losses per target token in nats, without padding."""

    smoothed: float
    nll: float


def suppressed_ids(vocabularies: Vocabularies, config: Config) -> tuple[int, ...]:
    """Return the tokens that no translation contains: padding, BOS and the language tags."""
    return (PAD_ID, BOS_ID, *(vocabularies.target.tag_id(code) for code in config.data.targets))


@torch.inference_mode()
def validation_loss(network: Transformer, pairs: Sequence[Pair], config: Config) -> ValidationLoss:
    """Compute the teacher-forced loss over all pairs, in the network's current precision and mode."""
    device = network.embedding.weight.device
    smoothed = nll = tokens = 0.0
    for batch in batches_of(pairs, config.training.batch_tokens):
        batch = batch.to(device)
        logits = network(batch.source, batch.target_in)
        sums = label_smoothed_loss(
            logits.flatten(0, 1),
            batch.target_out.flatten(),
            PAD_ID,
            config.training.label_smoothing,
        )
        smoothed, nll = smoothed + float(sums.smoothed), nll + float(sums.nll)
        tokens += float(sums.tokens)
    return ValidationLoss(smoothed / tokens, nll / tokens)


def greedy_translate(
    network: Transformer,
    vocabularies: Vocabularies,
    sentences: Sequence[str],
    target_language: str,
    suppressed: Sequence[int],
    batch_size: int = 100,
) -> list[str]:
    """Translate sentences by greedy search, in batches of similar length; the order is kept."""
    tag = vocabularies.source.tag_id(target_language)
    encoded = [[tag, *ids, EOS_ID] for ids in vocabularies.source.encode(sentences)]
    order = sorted(range(len(encoded)), key=lambda index: len(encoded[index]))
    translations = [""] * len(encoded)
    device = network.embedding.weight.device
    for start in range(0, len(order), batch_size):
        chunk = order[start : start + batch_size]
        width = max(len(encoded[index]) for index in chunk)
        rows = [encoded[index] + [PAD_ID] * (width - len(encoded[index])) for index in chunk]
        ids = greedy_search(network, torch.tensor(rows, device=device), suppressed)
        for index, text in zip(chunk, vocabularies.target.decode(ids), strict=True):
            translations[index] = text
    return translations


def greedy_bleu(
    network: Transformer, vocabularies: Vocabularies, text: dict[str, list[str]], config: Config
) -> dict[str, float]:
    """Compute SacreBLEU of greedy translations of the first `bleu_sentences` lines, by direction."""
    suppressed = suppressed_ids(vocabularies, config)
    scores = {}
    for direction in config.data.directions:
        source_code, target_code = direction.split("-")
        count = config.training.bleu_sentences
        hypotheses = greedy_translate(
            network, vocabularies, text[source_code][:count], target_code, suppressed
        )
        scores[direction] = sacrebleu.corpus_bleu(hypotheses, [text[target_code][:count]]).score
    return scores


@torch.inference_mode()
def attention_widths(
    network: Transformer, pairs: Sequence[Pair], max_pairs: int = 50
) -> dict[str, list[float]]:
    """Compute how many positions each head attends to: e to the mean entropy of its weights.

    At most `max_pairs` pairs are used, evenly spaced. A head with a width near 1 attends to one position. If
    that is its own position in all heads of a layer, the layer has lost its context, and the gradient of so
    sharp a softmax is too small to recover it.

    Returns:
        The width of every head, by layer and kind, as in `Transformer.attention_maps`.
    """
    device = network.embedding.weight.device
    entropies: dict[str, Tensor] = {}
    queries: Counter[str] = Counter()
    for pair in pairs[:: max(1, -(-len(pairs) // max_pairs))]:
        source = torch.from_numpy(pair.source.astype(np.int64))[None].to(device)
        target = torch.tensor([[BOS_ID, *pair.target[:-1].tolist()]], device=device)
        for map_name, weights in network.attention_maps(source, target).items():
            entropy = torch.special.entr(weights[0]).sum(-1)  # [H, queries]
            entropies[map_name] = entropies.get(map_name, torch.zeros(())) + entropy.sum(-1).cpu()
            queries[map_name] += entropy.shape[1]
    return {
        map_name: (total / queries[map_name]).exp().tolist()
        for map_name, total in entropies.items()
    }
