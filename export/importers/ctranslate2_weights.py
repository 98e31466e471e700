"""Conversion of CTranslate2's TransformerSpec to a network's configuration and parameters."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from export.importers.ctranslate2_variables import Variables
from export.importers.imported import Side, SourceError
from export.importers.tables import tables_of
from export.importers.tensors import Tensors
from model.network_config import ModelConfig
from model.tokenizer import BOS_ID

ACTIVATIONS = {0: "relu", 1: "gelu_tanh", 2: "silu", 3: "gelu", 4: "gelu_sigmoid"}
HEADS_BY_NAME = {"TransformerBase": 8, "TransformerBig": 16}
"""Number of heads in old files, which do not store it: implied by the specification's name."""
MIN_POSITIONS, MAX_POSITIONS = 64, 1024
MAX_LAYERS = 100
UNSUPPORTED = {
    "relative_position": "positions relative to one another",
    "relative_asymmetric_position": "positions relative to one another",
    "relative_attention": "positions relative to one another",
    "rotary": "rotary positions",
    "alibi": "attention with linear biases",
    "layernorm_embedding": "a norm of the embeddings",
    "linear_0_noact": "gated feed-forward layers",
    "num_heads_kv": "heads that share keys and values",
    "multi_query_attention": "heads that share keys and values",
    "sliding_window": "attention to the last tokens alone",
    "project_in": "projections around the decoder",
    "project_out": "projections around the decoder",
    "embeddings_1": "several embeddings of a source token",
    "weight_zero": "weights with a zero point",
}
"""Unsupported variants, by a part of the names of their variables."""
SUPPORTED = "stored and sinusoidal positions, LayerNorm, plain attention and feed-forward layers"
READ_SCALARS = {
    *("num_heads", "pre_norm", "activation", "scale_embeddings", "multiply_by_sqrt_depth"),
    *("start_from_zero_embedding", "queries_scale"),
    *("with_source_bos", "with_source_eos", "with_target_bos", "user_decoder_start_tokens"),
}
OTHER_SCALARS = {"alignment_layer", "alignment_heads", "embeddings_merge"}
"""Scalars that do not affect translations."""
SELF = {
    "self_attention/linear_0": tuple(f"self_attention.w_{part}" for part in "qkv"),
    "self_attention/linear_1": ("self_attention.w_o",),
    "ffn/linear_0": ("feed_forward.w_1",),
    "ffn/linear_1": ("feed_forward.w_2",),
}
CROSS = {
    "attention/linear_0": ("cross_attention.w_q",),
    "attention/linear_1": ("cross_attention.w_k", "cross_attention.w_v"),
    "attention/linear_2": ("cross_attention.w_o",),
}
"""By CTranslate2's name, the modules whose rows it stacks in one matrix."""
LINEARS = {"encoder": SELF, "decoder": SELF | CROSS}
NORMS = {
    "encoder": ("self_attention", "ffn"),
    "decoder": ("self_attention", "attention", "ffn"),
}
POSITIONS = {"encoder": "source_positions.table", "decoder": "target_positions.table"}


def check_supported(variables: Variables) -> None:
    """Check that the network has no unsupported parts.

    Raises:
        SourceError: a variable or scalar is not supported.
    """
    scalars = {name: value for name, value in variables.scalars.items() if value}
    for name in (*variables, *scalars):
        for unsupported, feature in UNSUPPORTED.items():
            if unsupported in name:
                raise SourceError(
                    f"{variables.path}: {name}: {feature} are not supported, only {SUPPORTED}"
                )
    for name, value in scalars.items():
        if name.rpartition("/")[2] not in READ_SCALARS | OTHER_SCALARS:
            raise SourceError(f"{variables.path}: {name} = {value:g} is not supported, only 0")


def read_network(
    variables: Variables, sides: tuple[Side, Side], sizes: tuple[int, int], epsilon: float
) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Return the network's configuration and parameters; `sizes` are the vocabularies' sizes.

    Raises:
        SourceError: the network is not supported, or a variable is missing, unused or has a wrong shape.
    """
    check_supported(variables)
    tensors = Tensors(variables.path, variables)
    d_ff, d_model = variables.shape("encoder/layer_0/ffn/linear_0/weight")
    embeddings, weights = _tables(variables, tensors, sides, sizes, d_model)
    is_stored, positions = _positions(variables, tensors, d_model)
    config = ModelConfig(
        vocab_size=len(sides[1].arrangement.order),
        d_model=d_model,
        d_ff=d_ff,
        num_heads=_num_heads(variables, d_model),
        num_encoder_layers=_num_layers(variables, "encoder"),
        num_decoder_layers=_num_layers(variables, "decoder"),
        dropout=0.0,
        norm="pre" if _common_setting(variables, "pre_norm", 1) else "post",
        activation=_activation(variables),
        layer_norm_epsilon=epsilon,
        embeddings=embeddings,
        max_positions=min(MAX_POSITIONS, *map(len, positions.values()))
        if is_stored
        else MAX_POSITIONS,
        positions="stored" if is_stored else "sinusoids",
        position_layout="halves",
        position_exponent="inclusive",
        position_offset=1,
        scaled_embeddings=_is_scaled(variables, d_model),
        projection_bias=True,
    )
    weights |= {name: table[: config.max_positions] for name, table in positions.items()}
    for stack, count in (
        ("encoder", config.num_encoder_layers),
        ("decoder", config.num_decoder_layers),
    ):
        for layer in range(count):
            weights |= dict(_layer(tensors, stack, layer, config))
        if config.norm == "pre":
            weights |= dict(_norm(tensors, f"{stack}/layer_norm", f"{stack}_norm", d_model))
    tensors.check_all_taken()
    return config, weights


def _tables(
    variables: Variables,
    tensors: Tensors,
    sides: tuple[Side, Side],
    sizes: tuple[int, int],
    width: int,
) -> tuple[Any, dict[str, Tensor]]:
    """Return the kind of `embeddings`, and the tables and the projection's bias in the bundle's order."""
    numbered_name = "encoder/embeddings_0/weight"
    name = numbered_name if numbered_name in variables else "encoder/embeddings/weight"
    source_table = tensors.take(name, sizes[0], width)
    target_table = tensors.take("decoder/embeddings/weight", sizes[1], width)
    output = tensors.take("decoder/projection/weight", sizes[1], width)
    embeddings, weights = tables_of(sides, source_table, target_table, output)
    if variables.scalars.get("decoder/start_from_zero_embedding"):
        weights["embedding.weight"][BOS_ID] = 0
    bias = "decoder/projection/bias"
    stored_bias = tensors.take(bias, sizes[1]) if bias in variables else torch.zeros(sizes[1])
    weights["projection_bias"] = sides[1].arrangement.bias(stored_bias)
    return embeddings, weights


def _positions(
    variables: Variables, tensors: Tensors, width: int
) -> tuple[bool, dict[str, Tensor]]:
    """Return whether position encodings are stored, and the tables of both sides if they are."""
    names = {stack: f"{stack}/position_encodings/encodings" for stack in POSITIONS}
    stored_names = [name for name in names.values() if name in variables]
    if len(stored_names) == 1:
        raise SourceError(
            f"{variables.path}: has {stored_names[0]}, but not that of the other side"
        )
    if not stored_names:
        return False, {}
    tables = {}
    for stack, name in names.items():
        rows = variables.shape(name)[0]
        if rows < MIN_POSITIONS:
            raise SourceError(
                f"{variables.path}: {name} has {rows} positions; supported: at least {MIN_POSITIONS}"
            )
        tables[POSITIONS[stack]] = tensors.take(name, rows, width)
    return True, tables


def _common_setting(variables: Variables, key: str, default: float) -> float:
    """Return a setting of both stacks, stored for each of them or for both.

    Raises:
        SourceError: the stacks differ.
    """
    scalars = variables.scalars
    common_value = scalars.get(key, default)
    encoder, decoder = (
        scalars.get(f"{stack}/{key}", common_value) for stack in ("encoder", "decoder")
    )
    if encoder != decoder:
        raise SourceError(
            f"{variables.path}: decoder/{key} = {decoder:g}; supported: the encoder's, {encoder:g}"
        )
    return encoder


def _num_heads(variables: Variables, d_model: int) -> int:
    default = HEADS_BY_NAME.get(variables.specification, 8)
    heads = round(_common_setting(variables, "num_heads", default))
    if heads < 1 or d_model % (2 * heads):
        raise SourceError(
            f"{variables.path}: num_heads = {heads}; supported: divisors of half of {d_model}, the width"
        )
    expected = (d_model // heads) ** -0.5
    for name, value in variables.scalars.items():
        if name.endswith("/queries_scale") and not math.isclose(value, expected, rel_tol=1e-3):
            raise SourceError(f"{variables.path}: {name} = {value:g}; supported: {expected:g}")
    return heads


def _activation(variables: Variables) -> Any:
    activation = _common_setting(variables, "activation", 0)
    if activation not in ACTIVATIONS:
        names = ", ".join(f"{number} ({name})" for number, name in ACTIVATIONS.items())
        raise SourceError(f"{variables.path}: activation = {activation:g}; supported: {names}")
    return ACTIVATIONS[round(activation)]


def _is_scaled(variables: Variables, d_model: int) -> bool:
    """Check whether embeddings are multiplied by sqrt(d_model).

    Raises:
        SourceError: they are multiplied by something else.
    """
    scalars, root, factors = variables.scalars, math.sqrt(d_model), []
    for stack in ("encoder", "decoder"):
        names = f"{stack}/scale_embeddings", f"{stack}/embeddings/multiply_by_sqrt_depth"
        name = next((name for name in names if name in scalars), None)
        value = root if name is None else scalars[name]
        if name is not None and variables.is_flag(name):
            value = root if value else 1.0
        factors.append(value)
    for factor in (root, 1.0):
        if all(math.isclose(value, factor, rel_tol=1e-3) for value in factors):
            return factor == root
    raise SourceError(
        f"{variables.path}: scale_embeddings = {factors[0]:g} in the encoder, {factors[1]:g} in the decoder; "
        f"supported: 1 or {root:g} in both"
    )


def _num_layers(variables: Variables, stack: str) -> int:
    for count in range(MAX_LAYERS + 1):
        if f"{stack}/layer_{count}/ffn/linear_0/weight" not in variables:
            return count
    raise SourceError(f"{variables.path}: has more than {MAX_LAYERS} layers in its {stack}")


def _layer(
    tensors: Tensors, stack: str, layer: int, config: ModelConfig
) -> Iterator[tuple[str, Tensor]]:
    theirs, ours = f"{stack}/layer_{layer}", f"{stack}.{layer}"
    for name, modules in LINEARS[stack].items():
        rows = config.d_ff if name == "ffn/linear_0" else config.d_model
        columns = config.d_ff if name == "ffn/linear_1" else config.d_model
        stacked_rows = rows * len(modules)
        weight = tensors.take(f"{theirs}/{name}/weight", stacked_rows, columns)
        bias = torch.zeros(stacked_rows)
        if f"{theirs}/{name}/bias" in tensors:
            bias = tensors.take(f"{theirs}/{name}/bias", stacked_rows)
        for index, module in enumerate(modules):
            module_rows = slice(index * rows, (index + 1) * rows)
            yield f"{ours}.{module}.weight", weight[module_rows]
            yield f"{ours}.{module}.bias", bias[module_rows]
    for number, name in enumerate(NORMS[stack], start=1):
        yield from _norm(
            tensors, f"{theirs}/{name}/layer_norm", f"{ours}.norm_{number}", config.d_model
        )


def _norm(tensors: Tensors, theirs: str, ours: str, width: int) -> Iterator[tuple[str, Tensor]]:
    yield f"{ours}.weight", tensors.take(f"{theirs}/gamma", width)
    yield f"{ours}.bias", tensors.take(f"{theirs}/beta", width)
