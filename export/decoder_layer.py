"""One layer of the decoder's graph; `export.decoder` describes the inputs and outputs."""

import functools

import numpy as np

from export import recurrence
from export.encoder import feed_forward, queries_keys_values, residual
from export.graph import GraphBuilder
from model.config import ModelConfig


def decoder_layer(
    b: GraphBuilder, x: str, index: int, mask: str, new_caches: dict[str, str], config: ModelConfig
) -> str:
    """Build one decoder layer, [G, Q, d] -> [G, Q, d]; add the names of its new caches to `new_caches`."""
    layer, source = f"decoder.{index}", x
    scale = float(np.float32(config.d_head**-0.5))

    def self_attention(x: str) -> str:
        module = f"{layer}.self_attention"
        past = (f"{b.prefix}keys.{index}", f"{b.prefix}values.{index}")
        heads = config.num_heads
        context, keys, values = b.op(
            "Attention",
            *queries_keys_values(b, x, source, module, config),
            mask,
            *past,
            scale=scale,
            outputs=3,
            q_num_heads=heads,
            kv_num_heads=heads,
        )
        new_caches[f"keys.{index}"], new_caches[f"values.{index}"] = keys, values
        return b.linear(context, f"{module}.w_o")

    def cross_attention(x: str) -> str:
        q = b.op("Reshape", b.linear(x, f"{layer}.cross_attention.w_q"), "sources_heads")
        # cast in every step: memory is read at half the size, and attention reads from the CPU's cache
        memory = [b.from_stored(f"memory_{kind}.{index}") for kind in ("keys", "values")]
        q = b.op("Transpose", q, perm=[0, 2, 1, 3])
        context = b.op("Attention", q, *memory, "cross_bias", scale=scale)
        context = b.op("Reshape", b.op("Transpose", context, perm=[0, 2, 1, 3]), "grouped")
        return b.linear(context, f"{layer}.cross_attention.w_o")

    def recurrent(x: str) -> str:
        name = f"cells.{index}"
        output, new_caches[name] = recurrence.step(b, x, f"{b.prefix}{name}", f"{layer}.recurrence")
        return output

    history = recurrent if config.decoder_cell == "ssru" else self_attention
    x = residual(b, x, f"{layer}.norm_1", config, history)
    x = residual(b, x, f"{layer}.norm_2", config, cross_attention)
    feeding = functools.partial(feed_forward, b, layer=layer, config=config)
    return residual(b, x, f"{layer}.norm_3", config, feeding)
