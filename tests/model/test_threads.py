"""How PyTorch's threads wait for one another, which is settled before torch is loaded."""

import os
import subprocess
import sys

import pytest

CODE = "import os, sys, model; print('torch' in sys.modules, os.environ['OMP_WAIT_POLICY'])"


@pytest.mark.parametrize(
    ("given", "policy"), [({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active")]
)
def test_threads_that_wait_leave_the_core_to_others(given: dict[str, str], policy: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=environment | given,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", policy]
