"""The reference search: greedy and beam, slow and simple; the whole prefix is fed at each step.

It is the oracle that the exported graphs and the service's engine are held against, so it shares nothing
with them but the definition of the search, which stands here:

- every step, the candidates are all continuations of the live beams, best first; the first 2K count;
- those that end (EOS) among the first K are finished; the best K that do not end live on;
- it stops by its stop rule, or after `max_length` tokens: then, unless a hypothesis has finished, the live
  beams stand as they are;
- hypotheses are ranked by log-probability / ((5 + length) / 6)^alpha, EOS counted
  (Wu et al., 2016, equation 14).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.tokenizer import BOS_ID, EOS_ID, PAD_ID
from model.transformer import Transformer


@dataclass(frozen=True)
class Found:
    """One hypothesis: ids without BOS and EOS, its normalized score, whether it ended by itself."""

    ids: tuple[int, ...]
    score: float
    ended: bool


@dataclass(frozen=True)
class SearchOptions:
    """What the search is asked for."""

    beam_size: int
    max_length: int
    """Most tokens, EOS counted."""
    alpha: float = 0.6
    suppressed: Sequence[int] = ()
    """Tokens that are never produced."""
    min_length: int = 0
    """Fewest tokens before EOS."""
    prefix: Sequence[int] = ()
    """How every hypothesis begins; its probability is not counted."""
    no_repeat_ngram_size: int = 0
    """No n tokens in a row twice in one hypothesis; 0 for no such rule."""
    stop_at_bound: int = 0
    """0: stop when K hypotheses have finished. N: when no live beam can still reach the N best."""
    stop_when_behind: int = 0
    """N: stop when no live beam is, at its present length, better than the N best."""


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^alpha, by which a log-probability is divided."""
    return float(((5 + length) / 6) ** alpha)


def max_target_length(source_length: int) -> int:
    """Source pieces + 50, tag and EOS not counted (section 6.1)."""
    return source_length - 2 + 50


def suppressed_mask(vocab_size: int, suppressed: Sequence[int]) -> Tensor:
    """0 everywhere, -inf at the tokens that are never produced: [V]."""
    mask = torch.zeros(vocab_size)
    mask[list(suppressed)] = -torch.inf
    return mask


def next_log_probs(
    network: Transformer, memory: Tensor, source: Tensor, prefixes: Tensor, mask: Tensor
) -> Tensor:
    """What follows each prefix: memory [1, S, d_model], source [1, S], prefixes [N, T] -> [N, V].

    `mask` [V] or [N, V] is added to the logits. What the network forbids keeps its share of probability.
    """
    count = len(prefixes)
    states = network.decode(prefixes, memory.expand(count, -1, -1), source.expand(count, -1))[:, -1]
    log_probs = (network.project(states).float() + mask).log_softmax(-1)
    log_probs[:, list(network.config.forbidden_ids)] = -torch.inf
    return log_probs


def forbidden(ids: Sequence[int], options: SearchOptions) -> list[int]:
    """Tokens that must not follow `ids`."""
    found = list(options.suppressed)
    if len(ids) < options.min_length:
        found.append(EOS_ID)
    if size := options.no_repeat_ngram_size:
        grams = {tuple(ids[at : at + size]) for at in range(len(ids) - size + 1)}
        found += (gram[-1] for gram in grams if gram[:-1] == tuple(ids[len(ids) - size + 1 :]))
    return found


@torch.inference_mode()
def beam_search(network: Transformer, source: Sequence[int], options: SearchOptions) -> list[Found]:
    """All hypotheses that were found, best first, for source ids (tag ... EOS)."""
    beam_size, alpha = options.beam_size, options.alpha
    vocab_size = network.config.vocab_size
    source_row = torch.tensor([list(source)])
    memory = network.encode(source_row)
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, tuple(options.prefix))]
    finished: list[Found] = []
    for length in range(len(options.prefix) + 1, options.max_length + 1):
        prefixes = torch.tensor([[BOS_ID, *ids] for _, ids in live])
        masks = [suppressed_mask(vocab_size, forbidden(ids, options)) for _, ids in live]
        log_probs = next_log_probs(network, memory, source_row, prefixes, torch.stack(masks))
        sums = log_probs + torch.tensor([[total] for total, _ in live])  # [N, V]
        scores, places = sums.flatten().topk(min(2 * beam_size, sums.numel()))
        beams: list[tuple[float, tuple[int, ...]]] = []
        for rank, (total, place) in enumerate(zip(scores.tolist(), places.tolist(), strict=True)):
            parent, token = divmod(place, vocab_size)
            ids = live[parent][1]
            if token != EOS_ID:
                beams.append((total, (*ids, token)))
            elif rank < beam_size and total > -math.inf:
                finished.append(Found(ids, total / length_penalty(length, alpha), ended=True))
        live = beams[:beam_size]
        finished.sort(key=lambda found: -found.score)
        if wanted := options.stop_at_bound or options.stop_when_behind:
            counted = options.max_length if options.stop_at_bound else length
            reachable = live[0][0] / length_penalty(counted, alpha)
            if len(finished) >= wanted and reachable <= finished[wanted - 1].score:
                break
        elif len(finished) >= beam_size:
            break
    if not finished:
        return [
            Found(ids, total / length_penalty(len(ids), alpha), ended=False) for total, ids in live
        ]
    return finished


@torch.inference_mode()
def greedy_search(
    network: Transformer,
    sources: Tensor,
    suppressed: Sequence[int],
    begin: Tensor | None = None,
) -> list[list[int]]:
    """The most probable token at every step, a batch at once: sources [B, S] -> ids without BOS and EOS.

    `begin` [B, N] is what each translation begins with.
    """
    lengths = (sources != PAD_ID).sum(1)
    limit = int(max_target_length(int(lengths.max())))
    never = [*suppressed, *network.config.forbidden_ids]
    mask = suppressed_mask(network.config.vocab_size, never).to(sources.device)
    memory = network.encode(sources)
    target = torch.full((len(sources), 1), BOS_ID, device=sources.device)
    if begin is not None:
        target = torch.cat((target, begin.to(sources.device)), dim=1)
    live = torch.arange(len(sources), device=sources.device)  # rows that have not ended
    for length in range(1, limit + 1):
        states = network.decode(target[live], memory[live], sources[live])[:, -1]
        chosen = (network.project(states).float() + mask).argmax(-1)
        target = torch.nn.functional.pad(target, (0, 1), value=PAD_ID)
        target[live, -1] = chosen
        live = live[(chosen != EOS_ID) & (length < lengths[live] - 2 + 50)]
        if not len(live):
            break
    return [
        [token for token in row if token not in (PAD_ID, EOS_ID)] for row in target[:, 1:].tolist()
    ]
