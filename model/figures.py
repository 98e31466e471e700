"""Figures of a training report, as SVG or PNG to embed in a page."""

import base64
from collections.abc import Mapping, Sequence
from io import BytesIO, StringIO
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from model.transformer import sinusoids

matplotlib.use("Agg")
COLOURS = ("#2563a8", "#c2571a", "#3c8d5a", "#8a4fa3")
INK, GRID = "#333333", "#d9d9d9"
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "svg.hashsalt": "attendant",  # the same figure gives the same bytes
}
Reports = Sequence[Mapping[str, Any]]


def loss_and_rate(reports: Reports) -> str:
    """Plot training and validation loss by step, with the learning rate below, as SVG."""
    training = [report for report in reports if report["kind"] == "train"]
    validation = [report for report in reports if report["kind"] == "validation"]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.2, 4.6), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        steps = [report["step"] for report in training]
        losses = np.array([report["nll"] for report in training])
        top.plot(steps, losses, color=COLOURS[0], alpha=0.25, linewidth=1)
        top.plot(steps, _smoothed(losses), color=COLOURS[0], label="training")
        top.plot(
            [report["step"] for report in validation],
            [report["nll"] for report in validation],
            color=COLOURS[1],
            marker="o",
            markersize=4,
            label="validation",
        )
        top.set_ylabel("loss (nats per token)")
        top.legend(frameon=False)
        rates = [report["learning_rate"] for report in training]
        bottom.plot(steps, rates, color=INK, linewidth=1.2)
        bottom.set(xlabel="step", ylabel="learning rate", ylim=(0, None))
        return as_svg(figure)


def _smoothed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a moving mean over a twentieth of the values."""
    if not len(values):
        return values
    width = max(1, len(values) // 20)
    padded = np.pad(values, (width // 2, width - 1 - width // 2), mode="edge")
    return np.convolve(padded, np.ones(width) / width, mode="valid")


def bleu_by_step(reports: Reports) -> str:
    """Plot greedy BLEU on held-out text at every validation, as SVG."""
    validation = [report for report in reports if report["kind"] == "validation"]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.2, 3), layout="constrained")
        axes = figure.subplots()
        for index, direction in enumerate(validation[0]["bleu"] if validation else ()):
            points = [(report["step"], report["bleu"][direction]) for report in validation]
            axes.plot(
                *zip(*points, strict=True), color=COLOURS[index % 4], marker="o", label=direction
            )
            axes.annotate(
                f"{points[-1][1]:.1f}", points[-1], xytext=(6, -3), textcoords="offset points"
            )
        axes.set(xlabel="step", ylabel="BLEU", ylim=(0, None))
        if validation:
            axes.legend(frameon=False, loc="lower right")
        else:
            axes.text(0.5, 0.5, "not validated yet", ha="center", transform=axes.transAxes)
        return as_svg(figure)


def bleu_by_length(
    scores: Mapping[str, Sequence[float | None]], counts: Sequence[int], labels: Sequence[str]
) -> str:
    """Plot BLEU by source length as bars for every direction, as SVG; a score of None has no bar."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.2, 3), layout="constrained")
        axes = figure.subplots()
        width = 0.8 / max(1, len(scores))
        for index, (direction, values) in enumerate(scores.items()):
            x = np.arange(len(labels)) + (index - (len(scores) - 1) / 2) * width
            heights = [value or 0.0 for value in values]
            bars = axes.bar(x, heights, width * 0.92, color=COLOURS[index % 4], label=direction)
            axes.bar_label(bars, [f"{h:.0f}" if h else "" for h in heights], fontsize=8, padding=1)
        tick_labels = [f"{label}\nn = {count}" for label, count in zip(labels, counts, strict=True)]
        axes.set_xticks(np.arange(len(labels)), tick_labels)
        axes.grid(visible=False, axis="x")
        axes.set(xlabel="words of the source", ylabel="BLEU")
        axes.legend(frameon=False)
        return as_svg(figure)


def positions(d_model: int, length: int = 100) -> str:
    """Plot the positional encodings (section 3.5) and their cosine similarities, as PNG."""
    table = sinusoids(length, d_model).numpy()
    with matplotlib.rc_context({**STYLE, "axes.grid": False}):
        figure = Figure(figsize=(9.4, 3.4), layout="constrained", dpi=130)
        left, right = figure.subplots(1, 2, width_ratios=(2, 1))
        by_kind = np.concatenate((table[:, ::2], table[:, 1::2]), axis=1)
        image = left.imshow(by_kind, aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1)
        left.axvline(d_model / 2 - 0.5, color=INK, linewidth=0.8)
        left.set(
            xlabel="even dimensions (sines), then odd ones (cosines)",
            ylabel="position",
            title="encoding of each position",
        )
        figure.colorbar(image, ax=left, pad=0.01)
        similarity = right.imshow(
            table @ table.T / (d_model / 2), cmap="viridis", vmin=-0.2, vmax=1
        )
        right.set(xlabel="position", ylabel="position", title="cosine of two positions")
        figure.colorbar(similarity, ax=right, pad=0.02)
        return _png(figure)


def attention_widths(widths: Mapping[str, Sequence[float]]) -> str:
    """Plot how many positions each head attends to, with a row per layer and a column per head, as SVG."""
    table = np.array(list(widths.values()))
    with matplotlib.rc_context({**STYLE, "axes.grid": False}):
        size = (1.6 + 0.55 * table.shape[1], 0.7 + 0.27 * table.shape[0])
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        axes.imshow(table, cmap="Blues", vmin=1, vmax=max(8.0, table.max()), aspect="auto")
        for (row, column), width in np.ndenumerate(table):
            is_dark = width > table.max() / 2
            axes.text(
                column, row, f"{width:.1f}", ha="center", va="center", color="w" if is_dark else INK
            )
        axes.set_xticks(range(table.shape[1]), [str(head + 1) for head in range(table.shape[1])])
        axes.set_yticks(range(table.shape[0]), list(widths))
        axes.set(xlabel="head")
        axes.tick_params(length=0)
        return as_svg(figure)


def attention(
    weights: NDArray[np.float32], queries: Sequence[str], keys: Sequence[str], title: str
) -> str:
    """Plot the attention weights [H, T, S] of each head and their mean, labelled with the pieces, as PNG."""
    maps = [("mean of the heads", weights.mean(axis=0))]
    maps += [(f"head {index + 1}", head) for index, head in enumerate(weights)]
    side = max(2.0, 0.19 * max(len(queries), len(keys)))
    columns = min(len(maps), 5)
    rows = -(-len(maps) // columns)
    with matplotlib.rc_context({**STYLE, "axes.grid": False, "font.size": 7}):
        figure = Figure(
            figsize=(side * columns + 1, side * rows + 0.6), layout="constrained", dpi=130
        )
        grid = figure.subplots(rows, columns, squeeze=False).flatten()
        for axes, (name, map_of_head) in zip(grid, maps, strict=False):
            _map(axes, map_of_head, queries, keys, name)
        for axes in grid[len(maps) :]:
            axes.set_visible(False)
        figure.suptitle(title, fontsize=9)
        return _png(figure)


def _map(
    axes: Axes,
    weights: NDArray[np.float32],
    queries: Sequence[str],
    keys: Sequence[str],
    title: str,
) -> None:
    axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(keys)), keys, rotation=90)
    axes.set_yticks(range(len(queries)), queries)
    axes.set_title(title, fontsize=8)
    axes.tick_params(length=0)


def as_svg(figure: Figure) -> str:
    """Return a figure as an SVG element without anything that differs between runs."""
    buffer = StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()[buffer.getvalue().index("<svg") :]


def _png(figure: Figure) -> str:
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return (
        f'<img alt="" src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}">'
    )
