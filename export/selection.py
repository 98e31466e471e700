"""The end of a decoder's step: from its states to each sentence's candidates and the surviving beams.

`decoder.py` explains the shapes, and the names of values from outside the step.
"""

import math
from functools import partial

import numpy as np
from onnx import TensorProto

from export.graph import GraphBuilder, tensor
from model.config import ModelConfig
from model.tokenizer import EOS_ID
from service.engine.types import DEAD


def log_probs(b: GraphBuilder, x: str, config: ModelConfig, suppressed: tuple[int, ...]) -> str:
    """Turn states [G, Q, d] into float32 log-probabilities [G, Q, V]; V is padded to whole groups.

    Padding, suppressed and banned tokens are excluded from the softmax. The network's forbidden tokens are
    excluded after it, so their share is not redistributed. Most runs ban nothing; for them, a branch without
    ScatterND avoids a copy of all logits.
    """
    vocab_size = config.vocab_size
    padding = -vocab_size % group_size(vocab_size)
    absent = [*suppressed, *range(vocab_size, vocab_size + padding)]
    bias = np.zeros(vocab_size + padding, dtype=b.float_dtype)
    if config.projection_bias:
        bias[:vocab_size] = b.weights["projection_bias"]
    bias[absent] = -np.inf
    name = "projection.weight" if config.embeddings == "separate" else "embedding.weight"
    stored_bias = b.initializer("projection.bias", bias)
    logits = b.matmul(x, b.weights[name], name, "projection", stored_bias, absent=absent)
    if b.precision == "fp16":
        logits = b.op("Cast", logits, to=TensorProto.FLOAT)
    branches = {}
    for name in ("banned", "free"):
        branch, allowed = GraphBuilder(b.precision, b.weights, prefix=f"{b.prefix}{name}."), logits
        if name == "banned":
            allowed = branch.op("ScatterND", logits, "banned", "banned_logits")
        result = branch.op("LogSoftmax", allowed, axis=-1)
        described = tensor(f"{branch.prefix}log_probs", "f32", None)
        branches[name] = branch.finish(name, [], {result: described})
    chosen = b.op("If", "any_banned", then_branch=branches["banned"], else_branch=branches["free"])
    return _without(b, str(chosen), config.forbidden_ids, vocab_size + padding)


def _without(b: GraphBuilder, log_probs: str, forbidden: tuple[int, ...], width: int) -> str:
    """Exclude tokens from log-probabilities [..., width] without redistributing their share."""
    if not forbidden:
        return log_probs
    mask = np.zeros(width, np.float32)
    mask[list(forbidden)] = -np.inf
    return str(b.op("Add", log_probs, b.initializer("forbidden", mask)))


def group_size(vocab_size: int) -> int:
    """Return the number of tokens in a group: about the number of groups, rounded to whole cache lines."""
    return 16 * max(1, round(math.sqrt(vocab_size) / 16))


def select(
    b: GraphBuilder, scored: str, beam_values: dict[str, str], *, narrowing: bool = False
) -> dict[str, str]:
    """Choose the candidates and the surviving beams from log-probabilities [G, Q, V].

    Values in `beam_values` [G, Q, ...] follow the surviving beams. With `narrowing`, the input `narrow` says
    for which sentences each finished hypothesis reduces the beam by one.
    """
    p = b.prefix
    scores, tokens, parents = _candidates(b, scored)

    ends = b.op("Equal", tokens, b.constant(EOS_ID))
    narrowed = partial(_narrowed, b) if narrowing else lambda ranks, _: ranks
    finishing = b.op("And", ends, narrowed("finishing_ranks", f"{p}finished"))
    counted = b.op("Cast", finishing, to=TensorProto.INT64)
    num_new = b.op("ReduceSum", counted, b.constant([1]), keepdims=1)
    finished = b.op("Add", f"{p}finished", num_new)

    dead = b.constant(DEAD, np.float32)
    alive = b.op("Where", ends, dead, scores)
    next_totals, survivors = b.op("TopK", alive, "beams", axis=-1, outputs=2)  # [B, K]
    next_totals = b.op("Where", narrowed("live_ranks", finished), next_totals, dead)
    next_parents = b.op("GatherElements", parents, survivors, axis=1)
    parent_queries = b.op("Add", next_parents, "first_query")
    best, is_ahead = _best(b, scores, finishing, next_totals)
    has_enough = b.op("GreaterOrEqual", finished, "beam_size")
    is_done = b.op("Or", has_enough, b.op("And", "likely", is_ahead))
    is_done = b.op("Cast", is_done, to=TensorProto.INT64)
    return {
        "scores": scores,
        "tokens": tokens,
        "parents": parents,
        "ids": b.op("GatherElements", tokens, survivors, axis=1),
        "totals": next_totals,
        "finished": finished,
        "best": best,
        **_carry(b, beam_values, b.op("Reshape", parent_queries, "groups_parents")),
        "go_on": b.op("Less", b.op("ReduceSum", is_done, keepdims=0), "stop_after"),
    }


def _candidates(b: GraphBuilder, scored: str) -> tuple[str, str, str]:
    """Find the 2K best continuations of each sentence: scores, tokens, parents, [B, 2K] each, best first.

    They lie in the 2K groups of the vocabulary with the best maxima, so only these groups are sorted.
    """
    size, flat = group_size(len(b.weights["embedding.weight"])), b.constant([0, -1])
    groups = b.op("Reshape", scored, "sentences_vocabulary")  # [B, K, V / size, size]
    totals = b.op("Unsqueeze", f"{b.prefix}totals", b.constant([2]))  # [B, K, 1]
    maxima = b.op("Add", b.op("ReduceMax", groups, b.constant([-1]), keepdims=0), totals)
    per_beam = b.constant(-(-len(b.weights["embedding.weight"]) // size))
    _, group_indices = b.op("TopK", b.op("Reshape", maxima, flat), "candidates", axis=-1, outputs=2)
    parents = b.op("Div", group_indices, per_beam)  # [B, 2K]
    index = b.op("Unsqueeze", group_indices, b.constant([2]))
    grouped = b.op("Reshape", groups, b.constant([0, -1, size]))  # [B, K V / size, size]
    best = b.op("GatherND", grouped, index, batch_dims=1)  # [B, 2K, size]
    carried_totals = b.op("GatherElements", f"{b.prefix}totals", parents, axis=1)
    sums = b.op("Add", best, b.op("Unsqueeze", carried_totals, b.constant([2])))
    scores, ranks = b.op("TopK", b.op("Reshape", sums, flat), "candidates", axis=-1, outputs=2)
    group = b.op("Div", ranks, b.constant(size))
    group_indices = b.op("GatherElements", group_indices, group, axis=1)
    first_token = b.op("Mul", b.op("Mod", group_indices, per_beam), b.constant(size))
    tokens = b.op("Add", first_token, b.op("Mod", ranks, b.constant(size)))
    return scores, tokens, b.op("Div", group_indices, per_beam)


def _narrowed(b: GraphBuilder, ranks: str, finished: str) -> str:
    """Mark the ranks within each sentence's beam, less its finished hypotheses if it narrows: [B, ranks]."""
    beams = b.op("Sub", "beam_size", b.op("Mul", finished, "narrow"))
    return str(b.op("Less", f"{ranks}.numbers", beams))


def _carry(b: GraphBuilder, beam_values: dict[str, str], origins: str) -> dict[str, str]:
    """Gather each beam's values from the query that it continues."""
    return {
        name: b.op("GatherND", value, origins, batch_dims=1) for name, value in beam_values.items()
    }


def _best(b: GraphBuilder, scores: str, finishing: str, live: str) -> tuple[str, str]:
    """Return each sentence's best finished score, and whether no live beam is ahead of it; [B, 1] each."""
    penalty = b.op("Gather", "penalties", f"{b.prefix}iteration", axis=0)  # [B, 1]
    ended = b.op("Where", finishing, b.op("Div", scores, penalty), b.constant(DEAD, np.float32))
    best_new = b.op("ReduceMax", ended, b.constant([1]), keepdims=1)
    best = b.op("Max", f"{b.prefix}best", best_new)
    leader = b.op(
        "Div", b.op("Slice", live, b.constant([0]), b.constant([1]), b.constant([1])), penalty
    )
    return best, b.op("GreaterOrEqual", best, leader)
