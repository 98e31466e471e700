"""Marian's native int8 build as a side of the benchmark, in an interpreter of its own."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tests.bench import marian_worker
from tests.bench.models import ROOT

PYTHON = ROOT / "build" / "marian" / "bin" / "python"
"""Where `python3.10 -m venv build/marian` puts it."""


class Marian:
    """One worker with a student's model; use it in a `with`."""

    def __init__(self, python: Path, source: Path) -> None:
        """Load the files that `write_student` left in `source`; the processor's cores are this thread's."""
        model, vocabulary = source / "model.bin", source / "vocab.spm"
        self._process = subprocess.Popen(
            [python, str(marian_worker.__file__), model, vocabulary],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()

    def translate(self, texts: Sequence[str]) -> tuple[float, list[list[str]]]:
        """All at once; the seconds it took, and the words of each translation."""
        seconds, found, _ = self._ask(texts, None)
        return seconds, [text.split() for text in found]

    def arrive(self, texts: Sequence[str], times: Sequence[float]) -> tuple[list[float], float]:
        """Each text at its time; latencies, and the seconds until the last was done."""
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
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
