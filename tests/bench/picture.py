"""Latency by load, as a picture."""

from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from model.figures import COLOURS, STYLE, as_svg
from tests.bench.measure import Row

SIDES = {
    "ours": ("Attendant", COLOURS[0]),
    "batcher": ("CTranslate2 behind a batcher", COLOURS[1]),
    "one a call": ("CTranslate2, one a call", COLOURS[2]),
}
MAX_LOAD = 1.2


def latency_by_load(online: Sequence[Row]) -> str:
    """Median and 95th percentile of each side by load, a panel a model, as SVG.

    Where more comes than can be served, latency says how long it was measured: such loads are left out.
    """
    online = [row for row in online if row["load"] <= MAX_LOAD]
    models = list(dict.fromkeys(row["model"] for row in online))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.4 * max(1, len(models)), 3.6), layout="constrained")
        for axes, model in zip(
            figure.subplots(1, len(models), squeeze=False)[0], models, strict=True
        ):
            _panel(axes, [row for row in online if row["model"] == model])
            axes.set_title(f"{model}, int8")
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=len(SIDES))
        return as_svg(figure)


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    for side, (label, colour) in SIDES.items():
        found = sorted((row for row in rows if row["side"] == side), key=lambda row: row["load"])
        loads = [100 * row["load"] for row in found]
        axes.plot(loads, [row["p50, ms"] for row in found], color=colour, marker="o", label=label)
        axes.plot(loads, [row["p95, ms"] for row in found], color=colour, linestyle=":")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(
        xlabel="load, % of CTranslate2's throughput with all at once",
        ylabel="ms until translated: p50 (line), p95 (dots)",
    )
