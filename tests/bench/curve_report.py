"""Reports of the curve: `bench_curve.json`, a figure and tables."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from tests.bench.curve_points import BEAMS, OURS, PEER, Point
from tests.bench.measure import Row
from tests.bench.picture import quality_by_speed
from tests.bench.report import table
from tests.documents import renew

FILE = "bench_curve.json"
PICTURE = Path("tests", "bench", "curve.svg")
MARK = "curve"
RATE, BLEU = "sentences/s", "BLEU"


@dataclass
class Curve:
    """The measured points, and the bundled model's default options."""

    machine: str = ""
    command: str = ""
    lines: int = 0
    beam_size: int = 4
    """The default of the bundled model, like `stop_rule`."""
    stop_rule: str = "first"
    minutes: float = 0.0
    points: list[Row] = field(default_factory=list)
    """The fields of each Point, its sentences per second, and its BLEU."""

    @property
    def default(self) -> Point:
        """The service's default options."""
        return Point(OURS, "int8", self.beam_size, self.stop_rule)


def point_of(row: Row) -> Point:
    """Return the point of a row."""
    return Point(**{field.name: row[field.name] for field in fields(Point)})


def ahead(rows: Sequence[Row], point: Row) -> list[Row]:
    """Return rows of the same side that are faster or better, and not worse in either, the fastest first."""
    better = [
        row
        for row in rows
        if row["side"] == point["side"]
        and row[RATE] >= point[RATE]
        and row[BLEU] >= point[BLEU]
        and (row[RATE], row[BLEU]) != (point[RATE], point[BLEU])
    ]
    return sorted(better, key=lambda row: -row[RATE])


def overview(curve: Curve) -> str:
    """Return the figure, the default's point and a comparison with CTranslate2, for docs/performance.md."""
    if not curve.points:
        return table([])
    figures = {point_of(row): row for row in curve.points}
    default = figures[curve.default]
    better = "; ".join(map(_described, ahead(curve.points, default))) or "none"
    rows = []
    for beams in BEAMS:
        searches = {
            "Attendant": Point(OURS, "int8", beams, curve.stop_rule),
            "reranked": Point(OURS, "int8", beams, curve.stop_rule, rerank=True),
            "CTranslate2": Point(PEER, "int8", beams),
        }
        rows_by_name = {name: figures.get(point) for name, point in searches.items()}
        cells = {name: row and f"{row[RATE]}/s, {row[BLEU]}" for name, row in rows_by_name.items()}
        rows.append({"beams": beams} | {name: cell or "" for name, cell in cells.items()})
    return (
        f"Measured by `{curve.command}` on {curve.machine}; {curve.lines} lines.\n\n"
        "![BLEU by sentences a second, of Attendant and CTranslate2](../tests/bench/curve.svg)\n\n"
        f"The default is {curve.default}: {default[RATE]} sentences/s, BLEU {default[BLEU]}. "
        f"Of Attendant's other points, at least as fast and as good: {better}.\n\n"
        f"Sentences per second and BLEU in int8, stop rule `{curve.stop_rule}`:\n\n{table(rows)}"
    )


def _described(row: Row) -> str:
    return f"{point_of(row)} ({row[RATE]}/s, {row[BLEU]})"


def details(curve: Curve) -> str:
    """Return a table of all points, for the benchmark's own page."""
    if not curve.points:
        return table([])
    return (
        f"Measured by `{curve.command}` on {curve.machine}; {curve.lines} lines, "
        f"{curve.minutes} minutes.\n\n{table(curve.points)}"
    )


def write(curve: Curve, root: Path) -> None:
    """Write the figures and the documents."""
    text = json.dumps(asdict(curve), indent=2) + "\n"
    (root / FILE).write_text(text, encoding="utf-8")
    write_documents(curve, root)


def read(root: Path) -> Curve:
    """Read the latest figures, or return an empty curve if there are none."""
    path = root / FILE
    return Curve(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Curve()


def write_documents(curve: Curve, root: Path) -> None:
    """Update the figure and the tables."""
    if curve.points:
        (root / PICTURE).write_text(quality_by_speed(curve.points, curve.default), encoding="utf-8")
    for page, part in parts(curve).items():
        renew(root / page, MARK, part)


def parts(curve: Curve) -> dict[str, str]:
    """Return the generated part of each page."""
    return {"docs/performance.md": overview(curve), "tests/bench/README.md": details(curve)}
