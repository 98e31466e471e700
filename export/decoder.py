"""The decoder's graph: several steps of beam search for a ragged batch in one run.

All beams of a sentence share one append-only self-attention cache; each step appends one entry a beam.
An additive ancestor mask says which entries lie on a beam's own path, so that no cache is ever reordered.
The vocabulary never leaves the graph: what comes out is a handful of candidates a sentence.

Shapes: B sentences, K beams, L cache entries, S source positions, H heads, D head dim, t steps
done, V vocabulary.

in:  steps i64 []            how many steps at most; no row may grow past its limit in them
     stop_after i64 []       end early when so many sentences have found their hypotheses
     banned i64 [N, 3]       rows, beams and tokens that may not be decoded in this run
     ids i64 [B, K]          last token of each beam
     totals f32 [B, K]       its log-probability so far; DEAD where there is no beam
     position i64 [B, 1]     tokens decoded so far
     finished i64 [B, 1]     hypotheses finished so far
     best f32 [B, 1]         score over length penalty of the best of them
     beam_size i64 [B, 1]    each sentence's own, at most K
     length_penalty f32 [B, 1]  likewise, the alpha of it
     likely bool [B, 1]      whether it has found what it wants once no live beam is ahead of `best`;
                             else once as many hypotheses have finished as it has beams
     ancestors f32 [B, K, L] 0 where the entry is on the beam's path, MASKED elsewhere
     row i64 [B], entry i64 [B, L]   where in the previous run's caches each row and entry is: retiring,
                             compacting and admitting are this one gather
     source_bias f32 [B, S]  0 at tokens, MASKED at padding
     past_keys.N, past_values.N    [B', H, L', D] of the previous run
     cross_keys.N, cross_values.N  [B, H, S, D] of the encoder
out: next_ids, next_totals [B, K], next_finished, next_best [B, 1], next_ancestors [B, K, L + K t]
     keys.N, values.N [B, H, L + K t, D]
     scores f32, tokens i64, parents i64 [t, B, 2K]   each step's best candidates, best first
"""

import functools
import math

import numpy as np
import onnx
from onnx import TensorProto, helper

from export.encoder import feed_forward
from export.graph import MASKED, GraphBuilder, tensor, to_model
from model.config import ModelConfig
from model.tokenizer import EOS_ID
from model.transformer import sinusoids

DEAD = -1e9
"""Log-probability of a beam that does not exist; below every real one."""


def build_decoder(
    builder: GraphBuilder, body: GraphBuilder, config: ModelConfig, suppressed: tuple[int, ...]
) -> onnx.ModelProto:
    """Build the graph; `body` gathers the step, the weights among it, and needs a prefix of its own.

    `suppressed` tokens are never produced: they get no probability.
    """
    b = builder
    layers = range(config.num_decoder_layers)
    caches = [f"{part}.{index}" for index in layers for part in ("keys", "values")]
    compacted = _gather_caches(b, [f"past_{name}" for name in caches], config)
    _name_constants_of_all_steps(b)
    state = ["ids", "totals", "position", "finished", "best", "ancestors"]
    loop_outputs = [f"loop_{name}" for name in (*state, *caches, "scores", "tokens", "parents")]
    node = helper.make_node(
        "Loop",
        ["steps", b.constant(True, np.bool_), *state, *compacted],
        loop_outputs,
        body=_body(body, config, caches, suppressed),
    )
    node.name = "steps"
    b.nodes.append(node)
    inputs, outputs = _signature(b, config, caches)
    return to_model(b.finish("decoder", inputs, outputs))


def _name_constants_of_all_steps(b: GraphBuilder) -> None:
    """What stays the same in every step, seen by the body from outside: counts, ranks, bans and two masks."""
    b.named("beams", "Shape", "ids", start=1, end=2)
    b.named("candidates", "Mul", "beams", b.constant([2]))
    for ranks, count in (("finishing_ranks", "candidates"), ("live_ranks", "beams")):
        every = b.op("Range", b.constant(0), b.op("Squeeze", count), b.constant(1))
        b.named(ranks, "Less", every, "beam_size")  # [B, 2K] and [B, K]: within the row's own beam
    square = b.op("ConstantOfShape", b.op("Concat", "beams", "beams", axis=0))
    b.named(
        "banned_logits",
        "Expand",
        b.constant([-np.inf], np.float32),
        b.op("Shape", "banned", start=0, end=1),
    )
    b.named("any_banned", "Greater", b.op("Size", "banned"), b.constant(0))
    own = b.op("EyeLike", square, dtype=TensorProto.FLOAT)
    own = b.op(
        "Mul", b.op("Sub", own, b.constant(1.0, np.float32)), b.constant(-MASKED, np.float32)
    )
    batch = b.op("Shape", "ids", start=0, end=1)
    # [B, K, K]: 0 on the diagonal, MASKED off it
    b.named("own_entries", "Expand", own, b.op("Concat", batch, "beams", "beams", axis=0))
    bias = b.op("Unsqueeze", b.to_float("source_bias"), b.constant([1, 2]))
    one = b.constant([1])
    b.named(
        "cross_bias", "Expand", bias, b.op("Concat", one, one, "beams", one, axis=0)
    )  # [B, 1, K, S]


def _signature(
    b: GraphBuilder, config: ModelConfig, caches: list[str]
) -> tuple[list[onnx.ValueInfoProto], dict[str, onnx.ValueInfoProto]]:
    """The inputs, and the Loop's results with what they are called outside."""
    heads, width = config.num_heads, config.d_head
    outputs = {
        "loop_ids": tensor("next_ids", "i64", ["B", "K"]),
        "loop_totals": tensor("next_totals", "f32", ["B", "K"]),
        "loop_finished": tensor("next_finished", "i64", ["B", 1]),
        "loop_best": tensor("next_best", "f32", ["B", 1]),
        "loop_ancestors": tensor("next_ancestors", "f32", ["B", "K", "next_L"]),
        **{
            f"loop_{name}": tensor(name, b.float_kind, ["B", heads, "next_L", width])
            for name in caches
        },
        "loop_scores": tensor("scores", "f32", ["t", "B", "candidates"]),
        "loop_tokens": tensor("tokens", "i64", ["t", "B", "candidates"]),
        "loop_parents": tensor("parents", "i64", ["t", "B", "candidates"]),
    }
    inputs = [
        tensor("steps", "i64", []),
        tensor("stop_after", "i64", []),
        tensor("banned", "i64", ["N", 3]),
        tensor("ids", "i64", ["B", "K"]),
        tensor("totals", "f32", ["B", "K"]),
        tensor("position", "i64", ["B", 1]),
        tensor("finished", "i64", ["B", 1]),
        tensor("best", "f32", ["B", 1]),
        tensor("beam_size", "i64", ["B", 1]),
        tensor("length_penalty", "f32", ["B", 1]),
        tensor("likely", "bool", ["B", 1]),
        tensor("ancestors", "f32", ["B", "K", "L"]),
        tensor("row", "i64", ["B"]),
        tensor("entry", "i64", ["B", "L"]),
        tensor("source_bias", "f32", ["B", "S"]),
        *(
            tensor(f"past_{name}", b.float_kind, ["past_B", heads, "past_L", width])
            for name in caches
        ),
        *(tensor(f"cross_{name}", b.float_kind, ["B", heads, "S", width]) for name in caches),
    ]
    return inputs, outputs


def _gather_caches(b: GraphBuilder, caches: list[str], config: ModelConfig) -> list[str]:
    """[B', H, L', D] -> [B, H, L, D]: out[b, h, l] = cache[row[b], h, entry[b, l]], one Gather a cache."""
    heads = config.num_heads
    past_length = b.op("Shape", caches[0], start=2, end=3)
    head = b.constant(np.arange(heads)[None, :, None])
    place = b.op("Mul", b.op("Unsqueeze", "row", b.constant([1, 2])), b.constant([heads]))
    place = b.op("Mul", b.op("Add", place, head), past_length)
    place = b.op("Add", place, b.op("Unsqueeze", "entry", b.constant([1])))  # [B, H, L]
    flat_shape = b.constant([-1, config.d_head])
    return [b.op("Gather", b.op("Reshape", cache, flat_shape), place) for cache in caches]


def _body(
    b: GraphBuilder, config: ModelConfig, caches: list[str], suppressed: tuple[int, ...]
) -> onnx.GraphProto:
    """One step of every beam; names that start with `b.prefix` are the body's own."""
    p = b.prefix
    new_caches: dict[str, str] = {}
    mask = b.op("Concat", f"{p}ancestors", "own_entries", axis=2)  # [B, K, L + K]
    attention_mask = b.op("Unsqueeze", b.to_float(mask), b.constant([1]))
    table = b.weights["embedding.weight"]
    positions = sinusoids(config.max_positions, config.d_model).numpy().astype(b.float_dtype)
    x = b.op(
        "Add",
        b.embed(f"{p}ids", table * math.sqrt(config.d_model), f"{p}embedding.weight.scaled"),
        b.op("Gather", b.initializer(f"{p}positions", positions), f"{p}position"),
    )
    for index in range(config.num_decoder_layers):
        x = _layer(b, x, index, attention_mask, new_caches, config)
    if config.norm == "pre":
        x = b.layer_norm(x, "decoder_norm")
    logits = _project(b, x, config, suppressed)
    chosen = _select(b, _log_probs(b, logits), mask)

    outputs = {
        chosen["go_on"]: tensor(f"{p}next_go_on", "bool", []),
        chosen["ids"]: tensor(f"{p}next_ids", "i64", ["B", "K"]),
        chosen["totals"]: tensor(f"{p}next_totals", "f32", ["B", "K"]),
        chosen["position"]: tensor(f"{p}next_position", "i64", ["B", 1]),
        chosen["finished"]: tensor(f"{p}next_finished", "i64", ["B", 1]),
        chosen["best"]: tensor(f"{p}next_best", "f32", ["B", 1]),
        chosen["ancestors"]: tensor(f"{p}next_ancestors", "f32", None),
    }
    for name in caches:
        outputs[new_caches[name]] = tensor(f"{p}next_{name}", b.float_kind, None)
    outputs[chosen["scores"]] = tensor(f"{p}scores", "f32", None)
    outputs[chosen["tokens"]] = tensor(f"{p}tokens", "i64", None)
    outputs[chosen["parents"]] = tensor(f"{p}parents", "i64", None)
    inputs = [
        tensor(f"{p}iteration", "i64", []),
        tensor(f"{p}go_on", "bool", []),
        tensor(f"{p}ids", "i64", ["B", "K"]),
        tensor(f"{p}totals", "f32", ["B", "K"]),
        tensor(f"{p}position", "i64", ["B", 1]),
        tensor(f"{p}finished", "i64", ["B", 1]),
        tensor(f"{p}best", "f32", ["B", 1]),
        tensor(f"{p}ancestors", "f32", None),
        *(tensor(f"{p}{name}", b.float_kind, None) for name in caches),
    ]
    return b.finish("step", inputs, outputs)


def _layer(
    b: GraphBuilder, x: str, index: int, mask: str, new_caches: dict[str, str], config: ModelConfig
) -> str:
    """One decoder layer, [B, K, d] -> [B, K, d]; adds its grown caches to `new_caches`."""
    layer, pre_norm = f"decoder.{index}", config.norm == "pre"
    scale = float(np.float32(config.d_head**-0.5))

    def self_attention(x: str) -> str:
        module = f"{layer}.self_attention"
        qkv = b.linears(x, f"{module}.w_q", f"{module}.w_k", f"{module}.w_v")
        q, k, v = b.split_heads(qkv, config.d_head, parts=3)
        keys = b.op("Concat", f"{b.prefix}keys.{index}", k, axis=2)
        values = b.op("Concat", f"{b.prefix}values.{index}", v, axis=2)
        new_caches[f"keys.{index}"], new_caches[f"values.{index}"] = keys, values
        context = b.merge_heads(b.op("Attention", q, keys, values, mask, scale=scale))
        return b.linear(context, f"{module}.w_o")

    def cross_attention(x: str) -> str:
        [q] = b.split_heads(b.linear(x, f"{layer}.cross_attention.w_q"), config.d_head)
        memory = (f"cross_keys.{index}", f"cross_values.{index}", "cross_bias")
        context = b.merge_heads(b.op("Attention", q, *memory, scale=scale))
        return b.linear(context, f"{layer}.cross_attention.w_o")

    x = b.residual(x, f"{layer}.norm_1", pre_norm, self_attention)
    x = b.residual(x, f"{layer}.norm_2", pre_norm, cross_attention)
    feeding = functools.partial(feed_forward, b, layer=layer, config=config)
    return b.residual(x, f"{layer}.norm_3", pre_norm, feeding)


def _project(b: GraphBuilder, x: str, config: ModelConfig, suppressed: tuple[int, ...]) -> str:
    """States [B, K, d] to float32 logits [B, K, V]; V is padded to whole groups with columns of -inf."""
    vocab_size = config.vocab_size
    padding = -vocab_size % group_size(vocab_size)
    bias = np.zeros(vocab_size + padding, dtype=b.float_dtype)
    bias[[*suppressed, *range(vocab_size, vocab_size + padding)]] = -np.inf
    name = "projection.weight" if config.embeddings == "separate" else "embedding.weight"
    stored_bias = b.initializer("projection.bias", bias)
    columns = np.pad(b.weights[name], ((0, padding), (0, 0)))
    logits = b.matmul(x, columns, name, "projection", stored_bias)
    return logits if b.precision != "fp16" else str(b.op("Cast", logits, to=TensorProto.FLOAT))


def _log_probs(b: GraphBuilder, logits: str) -> str:
    """LogSoftmax of logits [B, K, V]; only where tokens are banned, a copy of them is made without those."""
    constrained = GraphBuilder(b.precision, b.weights, prefix=f"{b.prefix}constrained.")
    allowed = constrained.op("ScatterND", logits, "banned", "banned_logits")
    constrained.op("LogSoftmax", allowed, axis=-1)
    free = GraphBuilder(b.precision, b.weights, prefix=f"{b.prefix}free.")
    free.op("LogSoftmax", logits, axis=-1)
    return b.when("any_banned", constrained, free)


def _candidates(b: GraphBuilder, log_probs: str) -> tuple[str, str, str]:
    """The 2K best continuations of a sentence's beams: scores, tokens and parents, [B, 2K] each, best first.

    They lie within the 2K groups of the vocabulary whose maxima are the best, so that only those are sorted.
    """
    size, flat = group_size(len(b.weights["embedding.weight"])), b.constant([0, -1])
    groups = b.op("Reshape", log_probs, b.constant([0, 0, -1, size]))  # [B, K, V / size, size]
    totals = b.op("Unsqueeze", f"{b.prefix}totals", b.constant([2]))  # [B, K, 1]
    maxima = b.op("Add", b.op("ReduceMax", groups, b.constant([-1]), keepdims=0), totals)
    per_beam = b.constant(-(-len(b.weights["embedding.weight"]) // size))
    _, chosen = b.op("TopK", b.op("Reshape", maxima, flat), "candidates", axis=-1, outputs=2)
    parents = b.op("Div", chosen, per_beam)  # [B, 2K]
    index = b.op("Unsqueeze", chosen, b.constant([2]))
    every = b.op("Reshape", groups, b.constant([0, -1, size]))  # [B, K V / size, size]
    best = b.op("GatherND", every, index, batch_dims=1)  # [B, 2K, size]
    carried = b.op("GatherElements", f"{b.prefix}totals", parents, axis=1)
    sums = b.op("Add", best, b.op("Unsqueeze", carried, b.constant([2])))
    scores, place = b.op("TopK", b.op("Reshape", sums, flat), "candidates", axis=-1, outputs=2)
    group = b.op("Div", place, b.constant(size))
    chosen = b.op("GatherElements", chosen, group, axis=1)
    first = b.op("Mul", b.op("Mod", chosen, per_beam), b.constant(size))
    tokens = b.op("Add", first, b.op("Mod", place, b.constant(size)))
    return scores, tokens, b.op("Div", chosen, per_beam)


def group_size(vocab_size: int) -> int:
    """Tokens in a group: about as many as there are groups, in whole cache lines."""
    return 16 * max(1, round(math.sqrt(vocab_size) / 16))


def _select(b: GraphBuilder, log_probs: str, mask: str) -> dict[str, str]:
    """From log-probabilities [B, K, V] to the candidates and the beams that go on."""
    p = b.prefix
    scores, tokens, parents = _candidates(b, log_probs)

    ends = b.op("Equal", tokens, b.constant(EOS_ID))
    finishing = b.op("And", ends, "finishing_ranks")
    counted = b.op("Cast", finishing, to=TensorProto.INT64)
    newly = b.op("ReduceSum", counted, b.constant([1]), keepdims=1)
    finished = b.op("Add", f"{p}finished", newly)
    position = b.op("Add", f"{p}position", b.constant([1]))

    dead = b.constant(DEAD, np.float32)
    alive = b.op("Where", ends, dead, scores)
    next_totals, survivors = b.op("TopK", alive, "beams", axis=-1, outputs=2)  # [B, K]
    next_totals = b.op("Where", "live_ranks", next_totals, dead)
    next_parents = b.op("GatherElements", parents, survivors, axis=1)
    best, is_ahead = _best(b, position, scores, finishing, next_totals)
    enough = b.op("GreaterOrEqual", finished, "beam_size")
    done = b.op("Or", enough, b.op("And", "likely", is_ahead))
    done = b.op("Cast", done, to=TensorProto.INT64)
    return {
        "scores": scores,
        "tokens": tokens,
        "parents": parents,
        "ids": b.op("GatherElements", tokens, survivors, axis=1),
        "totals": next_totals,
        "position": position,
        "finished": finished,
        "best": best,
        "ancestors": b.op(
            "GatherND", mask, b.op("Unsqueeze", next_parents, b.constant([2])), batch_dims=1
        ),
        "go_on": b.op("Less", b.op("ReduceSum", done, keepdims=0), "stop_after"),
    }


def _best(
    b: GraphBuilder, position: str, scores: str, finishing: str, live: str
) -> tuple[str, str]:
    """The best score of any finished hypothesis, and whether no live beam is ahead of it; [B, 1] each.

    Scores are over the length penalty ((5 + length) / 6)^alpha of Wu et al. (2016), equation 14.
    """
    length = b.op("Cast", position, to=TensorProto.FLOAT)
    base = b.op(
        "Add", b.op("Mul", length, b.constant(1 / 6, np.float32)), b.constant(5 / 6, np.float32)
    )
    penalty = b.op("Pow", base, "length_penalty")  # [B, 1]
    ended = b.op("Where", finishing, b.op("Div", scores, penalty), b.constant(DEAD, np.float32))
    newly = b.op("ReduceMax", ended, b.constant([1]), keepdims=1)
    best = b.op("Max", f"{b.prefix}best", newly)
    leader = b.op(
        "Div", b.op("Slice", live, b.constant([0]), b.constant([1]), b.constant([1])), penalty
    )
    return best, b.op("GreaterOrEqual", best, leader)
