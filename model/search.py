"""The reference search: greedy and beam search, slow and simple. Each step decodes the whole prefix.

The exported graphs and the service's engine are tested against this search. It shares no code with them, only
this definition of beam search with K beams:

- In every step, the 2K best continuations of the live beams are candidates.
- Candidates that end (EOS) among the first K are finished. The best K that do not end are the next beams.
- The search stops by its stop rule, or after `max_length` tokens. If no hypothesis has finished by then, the
  live beams are the result.
- Hypotheses are ranked by log-probability / ((5 + length) / 6)^alpha, where length includes EOS (Wu et al.,
  2016, equation 14).
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
    """One hypothesis: its ids without BOS and EOS, its normalized score, and whether it ended with EOS."""

    ids: tuple[int, ...]
    score: float
    ended: bool


@dataclass(frozen=True)
class SearchOptions:
    """Options of beam search; the beam size is K."""

    beam_size: int
    max_length: int
    """Maximum number of tokens, including EOS."""
    alpha: float = 0.6
    suppressed: Sequence[int] = ()
    """Tokens that are never produced."""
    min_length: int = 0
    """Minimum number of tokens before EOS."""
    prefix: Sequence[int] = ()
    """The beginning of every hypothesis; its probability does not count."""
    no_repeat_ngram_size: int = 0
    """Size of n-grams that must not occur twice in a hypothesis; 0 allows repetitions."""
    stop_at_bound: int = 0
    """0: stop when K hypotheses have finished. N: stop when no live beam can still reach the N best."""
    stop_when_behind: int = 0
    """N: stop when no live beam scores, at its current length, above the N best; 0: no such rule."""


def length_penalty(length: int, alpha: float) -> float:
    """Return ((5 + length) / 6)^alpha, the divisor of a log-probability."""
    return float(((5 + length) / 6) ** alpha)


def max_target_length(source_length: int) -> int:
    """Return the number of source pieces, without tag and EOS, plus 50 (section 6.1)."""
    return source_length - 2 + 50


def suppressed_mask(vocab_size: int, suppressed: Sequence[int]) -> Tensor:
    """Return a mask for logits with -inf at suppressed tokens and 0 elsewhere: [V]."""
    mask = torch.zeros(vocab_size)
    mask[list(suppressed)] = -torch.inf
    return mask


def next_log_probs(
    network: Transformer, memory: Tensor, source: Tensor, prefixes: Tensor, mask: Tensor
) -> Tensor:
    """Return log-probabilities of the token after each prefix.

    Shapes: memory [1, S, d_model], source [1, S], prefixes [N, T] -> [N, V]. `mask`, [V] or [N, V], is added
    to the logits. The network's `forbidden_ids` are -inf, but count in the normalization.
    """
    count = len(prefixes)
    states = network.decode(prefixes, memory.expand(count, -1, -1), source.expand(count, -1))[:, -1]
    log_probs = (network.project(states).float() + mask).log_softmax(-1)
    log_probs[:, list(network.config.forbidden_ids)] = -torch.inf
    return log_probs


def forbidden(ids: Sequence[int], options: SearchOptions) -> list[int]:
    """Return the tokens that must not follow `ids`."""
    tokens = list(options.suppressed)
    if len(ids) < options.min_length:
        tokens.append(EOS_ID)
    if size := options.no_repeat_ngram_size:
        grams = {tuple(ids[start : start + size]) for start in range(len(ids) - size + 1)}
        tokens += (gram[-1] for gram in grams if gram[:-1] == tuple(ids[len(ids) - size + 1 :]))
    return tokens


@torch.inference_mode()
def beam_search(network: Transformer, source: Sequence[int], options: SearchOptions) -> list[Found]:
    """Search translations of source ids (tag ... EOS), and return all hypotheses found, best first."""
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
        scores, flat_indices = sums.flatten().topk(min(2 * beam_size, sums.numel()))
        beams: list[tuple[float, tuple[int, ...]]] = []
        for rank, (total, flat_index) in enumerate(
            zip(scores.tolist(), flat_indices.tolist(), strict=True)
        ):
            parent, token = divmod(flat_index, vocab_size)
            ids = live[parent][1]
            if token != EOS_ID:
                beams.append((total, (*ids, token)))
            elif rank < beam_size and total > -math.inf:
                finished.append(Found(ids, total / length_penalty(length, alpha), ended=True))
        live = beams[:beam_size]
        finished.sort(key=lambda hypothesis: -hypothesis.score)
        if num_wanted := options.stop_at_bound or options.stop_when_behind:
            normalized_length = options.max_length if options.stop_at_bound else length
            reachable = live[0][0] / length_penalty(normalized_length, alpha)
            if len(finished) >= num_wanted and reachable <= finished[num_wanted - 1].score:
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
    start_tokens: Tensor | None = None,
) -> list[list[int]]:
    """Translate a batch by greedy search: sources [B, S] -> ids without BOS and EOS.

    `start_tokens`, [B, N], is the beginning of each translation.
    """
    lengths = (sources != PAD_ID).sum(1)
    limit = int(max_target_length(int(lengths.max())))
    forbidden_ids = [*suppressed, *network.config.forbidden_ids]
    mask = suppressed_mask(network.config.vocab_size, forbidden_ids).to(sources.device)
    memory = network.encode(sources)
    target = torch.full((len(sources), 1), BOS_ID, device=sources.device)
    if start_tokens is not None:
        target = torch.cat((target, start_tokens.to(sources.device)), dim=1)
    live = torch.arange(len(sources), device=sources.device)  # rows that have not ended
    for length in range(1, limit + 1):
        states = network.decode(target[live], memory[live], sources[live])[:, -1]
        next_tokens = (network.project(states).float() + mask).argmax(-1)
        target = torch.nn.functional.pad(target, (0, 1), value=PAD_ID)
        target[live, -1] = next_tokens
        live = live[(next_tokens != EOS_ID) & (length < lengths[live] - 2 + 50)]
        if not len(live):
            break
    return [
        [token for token in row if token not in (PAD_ID, EOS_ID)] for row in target[:, 1:].tolist()
    ]
