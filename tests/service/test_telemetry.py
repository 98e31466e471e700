"""Nothing is reported to others: ONNX Runtime leaves no trace of its telemetry."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TINY_BUNDLE

TRANSLATE = f"""
from service import Translator
with Translator.load({str(TINY_BUNDLE)!r}) as translator:
    print(translator.translate("Hund", target="en").text)
"""


@pytest.mark.parametrize("command", [["-c", TRANSLATE], ["-c", "import export.verify"]])
def test_onnx_runtime_reports_nothing(tmp_path: Path, command: list[str]) -> None:
    # these turn its telemetry off, too, or move its files; if it is on, it stores an id of the device at home
    off = ("ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS", "CI", "XDG_CACHE_HOME")
    kept = {name: value for name, value in os.environ.items() if name not in off}
    subprocess.run(
        [sys.executable, *command], env=kept | {"HOME": str(tmp_path)}, check=True, timeout=120
    )
    assert not list(tmp_path.rglob("*Microsoft*"))
