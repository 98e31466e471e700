"""Marian's native int8 build as a side of the benchmark, in its own interpreter."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tests.bench import marian_worker
from tests.bench.models import ROOT

PYTHON = ROOT / "build" / "marian" / "bin" / "python"
"""The interpreter of `python3.10 -m venv build/marian`."""


class Marian:
    """One worker with a student's model; a context manager."""

    def __init__(self, python: Path, source: Path) -> None:
        """Load the files that `write_student` wrote to `source`. The process inherits this thread's cores."""
        model, vocabulary = source / "model.bin", source / "vocab.spm"
        self._process = subprocess.Popen(
            [python, str(marian_worker.__file__), model, vocabulary],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()

    def translate(self, texts: Sequence[str]) -> tuple[float, list[list[str]]]:
        """Translate all texts at once; return the seconds taken and the words of each translation."""
        seconds, translations, _ = self._ask(texts, None)
        return seconds, [text.split() for text in translations]

    def arrive(self, texts: Sequence[str], times: Sequence[float]) -> tuple[list[float], float]:
        """Send each text at its time; return the latencies and the seconds until the last was translated."""
        seconds, _, latencies = self._ask(texts, times)
        return latencies, seconds

    def _ask(self, *question: Any) -> Any:
        assert self._process.stdin is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        return json.loads(self._read())

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"Marian ended with status {self._process.wait()}")
        return line

    def __enter__(self) -> Self:
        """Return the worker."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
