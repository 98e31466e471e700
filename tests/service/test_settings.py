"""Settings come from the environment, and a wrong one is told before anything runs."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from service.settings import Settings


def test_the_environment_sets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENDANT_PORT", "8123")
    monkeypatch.setenv("ATTENDANT_BUNDLE", "/models/x, /models/y")
    chosen = Settings()
    assert (chosen.port, chosen.bundle) == (8123, (Path("/models/x"), Path("/models/y")))
    with pytest.raises(ValidationError):
        chosen.port = 1  # type: ignore[misc]


def test_every_setting_says_what_it_does() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name


def run_service(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "service"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_wrong_setting_stops_the_start_and_is_named() -> None:
    done = run_service(ATTENDANT_PORT="high")
    assert done.returncode == 2
    assert "ATTENDANT_PORT = 'high': Input should be a valid integer" in done.stderr


def test_a_missing_bundle_stops_the_start_and_is_named(tmp_path: Path) -> None:
    done = run_service(ATTENDANT_BUNDLE=str(tmp_path / "none"))
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"error: {tmp_path / 'none'} is not a bundle: manifest.json cannot be read"
    )


def test_importing_the_service_leaves_training_libraries_out() -> None:
    code = (
        "import sys, service.app; "
        "print([name for name in ('torch', 'onnx', 'model', 'export') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
