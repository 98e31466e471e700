"""`python -m tests.bench.memory`: translate sentences of 1 to 500 tokens under a hard limit on memory.

The engine runs in its own process, whose private memory the kernel limits (RLIMIT_DATA). An allocation beyond
the limit would fail a step and end this program with an error.
"""

import argparse
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from service.engine.cores import available_cores
from tests.bench.limit import Churner
from tests.bench.models import ROOT, ModelName, build
from tests.bench.systems import Remote

SECONDS_A_SAMPLE = 30
SETTLING_SECONDS = 120
"""The time after which memory is compared with that at the end."""


@dataclass
class CappedChurner(Churner):
    """An engine in a process with a limit on private memory."""

    cap_bytes: int = 0

    def __post_init__(self) -> None:
        """Set the limit before anything is loaded."""
        resource.setrlimit(resource.RLIMIT_DATA, (self.cap_bytes, self.cap_bytes))
        super().__post_init__()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.memory", description=__doc__)
    parser.add_argument("--model", choices=get_args(ModelName), default="default")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--cap-mib", type=int, default=1024)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "bench", help="for models")
    options = parser.parse_args()
    model = build(options.model, options.cache, sentences=64)
    samples = []
    with Remote(
        CappedChurner, model, "int8", available_cores(), cap_bytes=options.cap_mib * 2**20
    ) as churner:
        for number in range(1, round(options.minutes * 60 / SECONDS_A_SAMPLE) + 1):
            num_sentences = churner.call("churn", float(SECONDS_A_SAMPLE))
            resident = churner.call("resident_bytes") / 2**20
            samples.append(resident)
            print(
                f"{number * SECONDS_A_SAMPLE:4d} s: {num_sentences} sentences, {resident:.0f} MiB",
                flush=True,
            )
    settled = samples[min(len(samples), SETTLING_SECONDS // SECONDS_A_SAMPLE) - 1]
    print(
        f"from {SETTLING_SECONDS} s to the end: {settled:.0f} to {samples[-1]:.0f} MiB "
        f"({samples[-1] / settled - 1:+.1%}), {max(samples):.0f} at most; cap {options.cap_mib} MiB"
    )


if __name__ == "__main__":
    main()
