"""The decoder's graph: several steps of beam search for a ragged batch in one run.

All beams of a sentence share one append-only self-attention cache; each step appends one entry per beam.
An additive ancestor mask marks the entries on each beam's own path, so the caches are never reordered.
Several sentences (a group) may share one row of the cache, and one row of the sources. Combining long and
short sentences needs less padding than a row for each, and attention computes fewer, larger products. Masks
keep the sentences apart. The logits stay inside the graph: it returns only a few candidates per sentence.

Shapes: B sentences, K beams, G groups of B / G sentences each, Q = K B / G queries of a group (its sentences'
beams, one sentence after another), L cache entries of a group, C rows of sources (one per group or one per
sentence), S source positions of a row, H heads, D head dim, t steps done, V vocabulary.

in:  steps i64 []            maximum number of steps; no row may grow past its limit in them
     stop_after i64 []       end early once this many sentences have found their hypotheses
     banned i64 [N, 3]       group, query and token of each token that must not be decoded in this run
     ids i64 [B, K]          last token of each beam
     totals f32 [B, K]       log-probability of each beam so far; DEAD where there is no beam
     position i64 [B, 1]     tokens decoded so far
     finished i64 [B, 1]     hypotheses finished so far
     best f32 [B, 1]         the best of their scores, divided by the length penalty
     beam_size i64 [B, 1]    each sentence's own, at most K
     length_penalty f32 [B, 1]  each sentence's own exponent alpha
     narrow i64 [B, 1]       1 if each finished hypothesis reduces the beam by one; only in graphs built with
                             `narrowing`
     likely bool [B, 1]      true: the sentence is done once no live beam is ahead of `best`; in any case, it
                             is done once as many hypotheses have finished as it has beams
     ancestors f32 [G, Q, L] 0 where the entry is on the beam's path, MASKED elsewhere
     row i64 [G, L], entry i64 [G, L]   position of each entry in the previous run's caches: this gather
                             retires, compacts, admits and regroups sentences
     source_row i64 [C, S], source_entry i64 [C, S]   position of each source position in cross_keys and
                             cross_values
     cross_keys.N, cross_values.N  [B', H, S', D] from the encoder, fp16 unless the graph is fp32
     source_bias f32 [B, S]  0 at each sentence's own positions in its row of C, MASKED elsewhere
     past_keys.N, past_values.N    [G', H, L', D] from the previous run
     An SSRU has the following inputs in place of row, entry, past_keys and past_values; of ancestors, it uses
     only the shape:
     cell i64 [B, K]         index of each beam's state among the B' K' states of the previous run
     past_cells.N            [B', K', d] from the previous run
out: next_ids, next_totals [B, K], next_finished, next_best [B, 1], next_ancestors [G, Q, L + Q t]
     keys.N, values.N [G, H, L + Q t, D]; an SSRU has cells.N [B, K, d] instead of these and next_ancestors
     scores f32, tokens i64, parents i64 [t, B, 2K]   each step's best candidates, best first
"""

from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from export import recurrence
from export.decoder_layer import decoder_layer
from export.encoder import final_norm, positions_of
from export.graph import GraphBuilder, tensor, to_model
from export.selection import group_size, log_probs, select
from model.config import ModelConfig
from service.engine.types import MASKED


def build_decoder(
    builder: GraphBuilder,
    body: GraphBuilder,
    config: ModelConfig,
    suppressed: tuple[int, ...],
    *,
    narrowing: bool = False,
) -> onnx.ModelProto:
    """Build the graph.

    Args:
        builder: collects the outer graph.
        body: collects one step, with the weights; must have its own prefix.
        config: the network's configuration.
        suppressed: tokens that get no probability, so that they are never produced.
        narrowing: whether the graph has the input `narrow`.
    """
    b = builder
    b.epsilon = body.epsilon = config.layer_norm_epsilon
    layers = range(config.num_decoder_layers)
    pairs = [f"{part}.{index}" for index in layers for part in ("keys", "values")]
    is_recurrent = config.decoder_cell == "ssru"
    caches = [f"cells.{index}" for index in layers] if is_recurrent else pairs
    compacted = {f"past_{name}": f"compacted_{name}" for name in caches}
    memory = {f"cross_{name}": f"memory_{name}" for name in pairs}
    if not is_recurrent:
        _gather(b, compacted, "row", "entry", config)
    _gather(b, memory, "source_row", "source_entry", config)
    _define_loop_constants(b, config, narrowing)
    state = ["ids", "totals", "finished", "best"]
    if is_recurrent:
        recurrence.gather_states(b, compacted, config)
    else:
        state.append("ancestors")
    loop_outputs = [f"loop_{name}" for name in (*state, *caches, "scores", "tokens", "parents")]
    node = helper.make_node(
        "Loop",
        ["steps", b.constant(True, np.bool_), *state, *compacted.values()],
        loop_outputs,
        body=_body(body, config, caches, suppressed, narrowing),
    )
    node.name = "steps"
    b.nodes.append(node)
    inputs, outputs = _signature(b, config, caches, pairs, narrowing)
    return to_model(b.finish("decoder", inputs, outputs))


def _define_loop_constants(b: GraphBuilder, config: ModelConfig, narrowing: bool) -> None:
    """Compute outside the loop what every step uses: counts, shapes, ranks, bans, encodings, masks."""
    b.named("beams", "Shape", "ids", start=1, end=2)
    b.named("candidates", "Mul", "beams", b.constant([2]))
    queries = b.op("Shape", "ancestors", start=1, end=2)
    by_sentence, by_group = b.op("Shape", "ids"), b.op("Shape", "ancestors", start=0, end=2)
    sources = b.op("Shape", "source_row", start=0, end=1)
    group, d_head = group_size(config.vocab_size), config.d_head
    for name, shape, suffix in (
        ("grouped", by_group, [config.d_model]),
        ("sources_heads", sources, [-1, config.num_heads, d_head]),
        ("sentences_vocabulary", by_sentence, [-1, group]),
        ("groups_parents", by_group, [1]),
    ):
        b.named(name, "Concat", shape, b.constant(suffix), axis=0)
    for ranks, count in (("finishing_ranks", "candidates"), ("live_ranks", "beams")):
        all_ranks = b.op("Range", b.constant(0), b.op("Squeeze", count), b.constant(1))
        # [B, 2K] and [B, K]: within the row's own beam
        b.named(ranks, "Less", all_ranks, "beam_size")
        if narrowing:
            b.named(f"{ranks}.numbers", "Identity", all_ranks)
    count = b.op("Shape", "banned", start=0, end=1)
    b.named("banned_logits", "Expand", b.constant([-np.inf], np.float32), count)
    b.named("any_banned", "Cast", b.op("Squeeze", count), to=TensorProto.BOOL)
    # index of each sentence's first beam in its group, [B, 1]
    batch = b.op("Squeeze", b.op("Shape", "ids", start=0, end=1))
    first_beams = b.op("Mul", b.op("Range", b.constant(0), batch, b.constant(1)), "beams")
    b.named("first_query", "Unsqueeze", b.op("Mod", first_beams, queries), b.constant([1]))
    _define_step_tables(b, config)
    if config.decoder_cell == "attention":
        square = b.op("ConstantOfShape", b.op("Concat", queries, queries, axis=0))
        own_entries = b.op("EyeLike", square, dtype=TensorProto.FLOAT)
        own_entries = b.op(
            "Mul",
            b.op("Sub", own_entries, b.constant(1.0, np.float32)),
            b.constant(-MASKED, np.float32),
        )
        # [G, Q, Q]: 0 on the diagonal, MASKED off it
        b.named("own_entries", "Expand", own_entries, b.op("Concat", by_group, queries, axis=0))
    one_entry, source_length = b.constant([1]), b.op("Shape", "source_row", start=1, end=2)
    bias = b.op("Unsqueeze", b.to_float("source_bias"), one_entry)
    bias = b.op("Expand", bias, b.op("Concat", one_entry, "beams", one_entry, axis=0))  # [B, K, S]
    shape = b.op("Concat", sources, one_entry, b.constant([-1]), source_length, axis=0)
    b.named("cross_bias", "Reshape", bias, shape)  # [C, 1, K B / C, S]


def _define_step_tables(b: GraphBuilder, config: ModelConfig) -> None:
    """Compute all steps' position encodings [steps, B, 1, d] and length penalties [steps, B, 1].

    The penalty is ((5 + length) / 6)^alpha (Wu et al., 2016, equation 14).
    """
    step = b.op("Range", b.constant(0), "steps", b.constant(1))
    position = b.op("Add", b.op("Unsqueeze", step, b.constant([1, 2])), "position")
    sines = positions_of(b, config, "target").astype(b.float_dtype)
    b.named("encodings", "Gather", b.initializer("positions", sines), position)
    length = b.op("Cast", position, to=TensorProto.FLOAT)  # before this step
    base = b.op(
        "Mul", b.op("Add", length, b.constant(6, np.float32)), b.constant(1 / 6, np.float32)
    )
    b.named("penalties", "Pow", base, "length_penalty")


class _State(NamedTuple):
    """The layers' state that one run passes to the next: cache entries of self-attention, or SSRU states."""

    places: list[onnx.ValueInfoProto]
    """Inputs: the position of each entry or beam in the previous run's state."""
    past: list[onnx.ValueInfoProto]
    """Inputs: the previous run's state."""
    outputs: dict[str, onnx.ValueInfoProto]
    """By the names of the Loop's results."""


def _signature(
    b: GraphBuilder, config: ModelConfig, caches: list[str], memory: list[str], narrowing: bool
) -> tuple[list[onnx.ValueInfoProto], dict[str, onnx.ValueInfoProto]]:
    """Return the graph's inputs, and its outputs by the names of the Loop's results."""
    state = _state(b, config, caches)
    outputs = {
        "loop_ids": tensor("next_ids", "i64", ["B", "K"]),
        "loop_totals": tensor("next_totals", "f32", ["B", "K"]),
        "loop_finished": tensor("next_finished", "i64", ["B", 1]),
        "loop_best": tensor("next_best", "f32", ["B", 1]),
        **state.outputs,
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
        *([tensor("narrow", "i64", ["B", 1])] if narrowing else []),
        tensor("likely", "bool", ["B", 1]),
        tensor("ancestors", "f32", ["G", "Q", "L"]),
        *state.places,
        tensor("source_row", "i64", ["C", "S"]),
        tensor("source_entry", "i64", ["C", "S"]),
        tensor("source_bias", "f32", ["B", "S"]),
        *state.past,
        *(
            tensor(
                f"cross_{name}",
                b.stored_kind,
                ["sources", config.num_heads, "source_L", config.d_head],
            )
            for name in memory
        ),
    ]
    return inputs, outputs


def _state(b: GraphBuilder, config: ModelConfig, caches: list[str]) -> _State:
    """Describe the state's inputs and outputs."""
    kind, heads, width = b.float_kind, config.num_heads, config.d_model
    if config.decoder_cell == "ssru":
        shape = b.op("Concat", b.op("Shape", "ids"), b.constant([width]), axis=0)
        states = {
            b.op("Reshape", f"loop_{name}", shape): tensor(name, kind, ["B", "K", width])
            for name in caches
        }
        past = [tensor(f"past_{name}", kind, ["past_B", "past_K", width]) for name in caches]
        return _State([tensor("cell", "i64", ["B", "K"])], past, states)
    d_head = config.d_head
    entries = {
        f"loop_{name}": tensor(name, kind, ["G", heads, "next_L", d_head]) for name in caches
    }
    past = [tensor(f"past_{name}", kind, ["past_G", heads, "past_L", d_head]) for name in caches]
    ancestors = {"loop_ancestors": tensor("next_ancestors", "f32", ["G", "Q", "next_L"])}
    entry_inputs = [tensor("row", "i64", ["G", "L"]), tensor("entry", "i64", ["G", "L"])]
    return _State(entry_inputs, past, ancestors | entries)


def _gather(
    b: GraphBuilder, caches: dict[str, str], row: str, entry: str, config: ModelConfig
) -> None:
    """Gather caches [G', H, L', D] -> [G, H, L, D]: out[g, h, l] = cache[row[g, l], h, entry[g, l]].

    `caches` maps the names of the caches to the names of the results.
    """
    past_length, axis = b.op("Shape", next(iter(caches)), start=2, end=3), b.constant([1])
    heads = b.constant(np.arange(config.num_heads)[None, :, None])
    entry_index = b.op("Mul", b.op("Unsqueeze", row, axis), b.constant([config.num_heads]))
    entry_index = b.op("Mul", b.op("Add", entry_index, heads), past_length)
    entry_index = b.op("Add", entry_index, b.op("Unsqueeze", entry, axis))  # [G, H, L]
    flat_shape = b.constant([-1, config.d_head])
    for cache, name in caches.items():
        b.named(name, "Gather", b.op("Reshape", cache, flat_shape), entry_index)


def _body(
    b: GraphBuilder,
    config: ModelConfig,
    caches: list[str],
    suppressed: tuple[int, ...],
    narrowing: bool,
) -> onnx.GraphProto:
    """Build the Loop's body, one step of every beam; its own names start with `b.prefix`."""
    p, is_recurrent = b.prefix, config.decoder_cell == "ssru"
    new_caches: dict[str, str] = {}
    mask = attention_mask = ""
    if not is_recurrent:
        mask = b.op("Concat", f"{p}ancestors", "own_entries", axis=2)  # [G, Q, L + Q]
        attention_mask = b.op("Unsqueeze", b.to_float(mask), b.constant([1]))
    x = _embedded(b, config)
    for index in range(config.num_decoder_layers):
        x = decoder_layer(b, x, index, attention_mask, new_caches, config)
    x = final_norm(b, x, "decoder_norm", config)
    beam_values = new_caches if is_recurrent else {"ancestors": mask}
    scored = log_probs(b, x, config, suppressed)
    selected = select(b, scored, beam_values, narrowing=narrowing)

    outputs = {
        selected["go_on"]: tensor(f"{p}next_go_on", "bool", []),
        selected["ids"]: tensor(f"{p}next_ids", "i64", ["B", "K"]),
        selected["totals"]: tensor(f"{p}next_totals", "f32", ["B", "K"]),
        selected["finished"]: tensor(f"{p}next_finished", "i64", ["B", 1]),
        selected["best"]: tensor(f"{p}next_best", "f32", ["B", 1]),
    }
    if not is_recurrent:
        outputs[selected["ancestors"]] = tensor(f"{p}next_ancestors", "f32", None)
    for name in caches:
        result = {**new_caches, **selected}[name]
        outputs[result] = tensor(f"{p}next_{name}", b.float_kind, None)
    outputs[selected["scores"]] = tensor(f"{p}scores", "f32", None)
    outputs[selected["tokens"]] = tensor(f"{p}tokens", "i64", None)
    outputs[selected["parents"]] = tensor(f"{p}parents", "i64", None)
    inputs = [
        tensor(f"{p}iteration", "i64", []),
        tensor(f"{p}go_on", "bool", []),
        tensor(f"{p}ids", "i64", ["B", "K"]),
        tensor(f"{p}totals", "f32", ["B", "K"]),
        tensor(f"{p}finished", "i64", ["B", 1]),
        tensor(f"{p}best", "f32", ["B", 1]),
        *([] if is_recurrent else [tensor(f"{p}ancestors", "f32", None)]),
        *(tensor(f"{p}{name}", b.float_kind, None) for name in caches),
    ]
    return b.finish("step", inputs, outputs)


def _embedded(b: GraphBuilder, config: ModelConfig) -> str:
    """Embed the beams' last tokens and add their position encodings: [G, Q, d]."""
    table, name = b.weights["embedding.weight"], f"{b.prefix}embedding.weight.scaled"
    embedded = b.embed(f"{b.prefix}ids", table, name, config.embedding_scale)
    x = b.op("Add", embedded, b.op("Gather", "encodings", f"{b.prefix}iteration", axis=0))
    return str(b.op("Reshape", x, "grouped"))
