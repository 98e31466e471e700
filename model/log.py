"""The log of a training run: mean losses and scores in `log.jsonl` and, on request, in TensorBoard."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

FILE_NAME = "log.jsonl"


class Window:
    """Sums since the last report. They stay on the device until then, so that no step waits for them."""

    def __init__(self) -> None:
        """Start the time and set all sums to 0."""
        self.smoothed: Tensor | float = 0.0
        self.nll: Tensor | float = 0.0
        self.tokens = 0
        self.started = time.perf_counter()

    def add(self, smoothed: Tensor, nll: Tensor) -> None:
        """Add the loss sums of one batch."""
        self.smoothed, self.nll = self.smoothed + smoothed, self.nll + nll

    def sums(self) -> list[float]:
        """Return this process's smoothed loss, NLL and target tokens."""
        return [float(value) for value in (self.smoothed, self.nll, self.tokens)]

    @property
    def seconds(self) -> float:
        """Seconds since the window began."""
        return time.perf_counter() - self.started


class RunLog:
    """Appends a line to `RUN/log.jsonl` for every report. A resumed run continues the same file."""

    def __init__(self, run: Path, tensorboard: bool = False) -> None:
        """Open the log; with `tensorboard`, also write the same values to `RUN/tensorboard/`.

        Raises:
            ModuleNotFoundError: the package tensorboard is not installed.
        """
        self.path = run / FILE_NAME
        self._board: Any = None
        if tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(run / "tensorboard")

    def write(self, kind: str, step: int, **values: Any) -> None:
        """Write one report; `kind` is `train` or `validation`."""
        line = {"kind": kind, "step": step, "time": time.time(), **values}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        if self._board is not None:
            for name, value in _flat(values).items():
                self._board.add_scalar(f"{kind}/{name}", value, step)
            self._board.flush()


def _flat(values: Mapping[str, Any]) -> dict[str, float]:
    """Flatten nested mappings to numbers by name; those of a nested mapping become `mapping/name`."""
    flat: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}/{inner_name}": number for inner_name, number in _flat(value).items()}
        else:
            flat[name] = value
    return flat


def read(run: Path) -> list[dict[str, Any]]:
    """Return the reports of a run by step. If a resumed run repeated a step, the later report counts."""
    reports = {}
    for line in (run / FILE_NAME).read_text(encoding="utf-8").splitlines():
        try:
            report = json.loads(line)
        except ValueError:
            continue  # cut off when the run was killed
        reports[report["kind"], report["step"]] = report
    return sorted(reports.values(), key=lambda report: report["step"])
