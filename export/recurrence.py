"""The SSRU in graphs: one step for the decoder, or all steps of a whole translation for the scorer.

Its state is one vector per layer and beam, so it does not grow with the steps.

Shapes: B sentences, K beams, G groups and Q queries as in `decoder.py`; N targets of T tokens.
"""

from export.graph import GraphBuilder, tensor
from model.config import ModelConfig


def step(b: GraphBuilder, x: str, cell: str, module: str) -> tuple[str, str]:
    """Compute one step for x and the state `cell`, [G, Q, d] each; return the output and the new state."""
    forget, added = _parts(b, x, module)
    cell = b.op("Add", b.op("Mul", forget, cell), added)
    return b.op("Relu", cell), cell


def every_step(b: GraphBuilder, x: str, module: str, config: ModelConfig) -> str:
    """Compute the outputs for all positions of x [N, T, d] in order, starting with a state of zeros."""
    forget, added = _parts(b, x, module)
    body = GraphBuilder(b.precision, b.weights, prefix=f"{module}.step.")
    p, kind = body.prefix, b.float_kind
    cell = body.op("Add", body.op("Mul", f"{p}forget", f"{p}cell"), f"{p}added")
    names = {cell: f"{p}next", body.op("Identity", cell): f"{p}seen"}
    outputs = {result: tensor(name, kind, None) for result, name in names.items()}
    inputs = [tensor(f"{p}{name}", kind, None) for name in ("cell", "forget", "added")]
    count = b.op("Shape", x, start=0, end=1)
    shape = b.op("Concat", count, b.constant([config.d_model]), axis=0)
    _, cells = b.op(
        "Scan",
        b.to_float(b.op("ConstantOfShape", shape)),
        forget,
        added,
        body=body.finish("recurrence", inputs, outputs),
        num_scan_inputs=2,
        scan_input_axes=[1, 1],
        scan_output_axes=[1],
        outputs=2,
    )
    return str(b.op("Relu", cells))


def gather_states(b: GraphBuilder, states: dict[str, str], config: ModelConfig) -> None:
    """Gather states [B', K', d] -> [G, Q, d] by `cell` [B, K]; new sentences get zeros.

    `states` maps the names of the previous run's states to the names of the results.
    """
    has_begun = b.op("Greater", "position", b.constant(0))  # [B, 1]
    has_begun = b.op("Unsqueeze", has_begun, b.constant([2]))
    zeros, flat = b.constant(0, b.float_dtype), b.constant([-1, config.d_model])
    for past, name in states.items():
        gathered = b.op("Gather", b.op("Reshape", past, flat), "cell")  # [B, K, d]
        b.named(name, "Reshape", b.op("Where", has_begun, gathered, zeros), "grouped")


def _parts(b: GraphBuilder, x: str, module: str) -> tuple[str, str]:
    """Return the forget gate and the values to add to the state."""
    candidate, gate = b.each_linear(x, f"{module}.w", f"{module}.w_f")
    forget = b.op("Sigmoid", gate)
    return forget, b.op("Mul", b.op("Sub", b.constant(1, b.float_dtype), forget), candidate)
