"""What a run tells of itself: means of its losses to `log.jsonl`, and to TensorBoard where that is wanted."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

FILE_NAME = "log.jsonl"


class Window:
    """Sums since the last report; they stay on the device until then, so that no step waits for them."""

    def __init__(self) -> None:
        """Begin with nothing, now."""
        self.smoothed: Tensor | float = 0.0
        self.nll: Tensor | float = 0.0
        self.tokens = 0
        self.risk: Tensor | float = 0.0
        self.lists = 0
        self.started = time.perf_counter()

    def add(self, smoothed: Tensor, nll: Tensor) -> None:
        """What one batch contributes."""
        self.smoothed, self.nll = self.smoothed + smoothed, self.nll + nll

    def add_risk(self, risk: Tensor, lists: int) -> None:
        """What so many lists of candidates contribute."""
        self.risk, self.lists = self.risk + risk, self.lists + lists

    def sums(self) -> list[float]:
        """Smoothed loss, NLL and target tokens, risk and lists, of this process."""
        sums = (self.smoothed, self.nll, self.tokens, self.risk, self.lists)
        return [float(one) for one in sums]

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self.started


class RunLog:
    """Appends a line to `RUN/log.jsonl` for every report; a run that resumes goes on in the same file."""

    def __init__(self, run: Path, tensorboard: bool = False) -> None:
        """With `tensorboard`, the same values also go to `RUN/tensorboard/`.

        Raises:
            ModuleNotFoundError: the package tensorboard is not installed.
        """
        self.path = run / FILE_NAME
        self._board: Any = None
        if tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(run / "tensorboard")

    def write(self, kind: str, step: int, **values: Any) -> None:
        """One report; `kind` is `train` or `validation`."""
        line = {"kind": kind, "step": step, "time": time.time(), **values}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        if self._board is not None:
            for name, value in _flat(values).items():
                self._board.add_scalar(f"{kind}/{name}", value, step)
            self._board.flush()


def _flat(values: Mapping[str, Any]) -> dict[str, float]:
    """Numbers by name; those of a table as `table/name`."""
    flat: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}/{inner}": one for inner, one in _flat(value).items()}
        else:
            flat[name] = value
    return flat


def read(run: Path) -> list[dict[str, Any]]:
    """The reports of a run by step; where a resumed run went over a step again, the later report counts."""
    reports = {}
    for line in (run / FILE_NAME).read_text(encoding="utf-8").splitlines():
        try:
            report = json.loads(line)
        except ValueError:
            continue  # cut off where the run was killed
        reports[report["kind"], report["step"]] = report
    return sorted(reports.values(), key=lambda report: report["step"])
