"""Settings come from the environment and from options, and a wrong one is told before anything runs."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from service.settings import Settings, misspelt


def test_the_environment_sets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENDANT_PORT", "8123")
    monkeypatch.setenv("ATTENDANT_BUNDLE", "/models/x, /models/y")
    chosen = Settings()
    assert (chosen.port, chosen.bundle) == (8123, (Path("/models/x"), Path("/models/y")))
    with pytest.raises(ValidationError):
        chosen.port = 1  # type: ignore[misc]


def test_options_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENDANT_PORT", "8123")
    monkeypatch.setenv("ATTENDANT_MAX_BEAM_SIZE", "5")
    options = ["--port", "9000", "--bundle", "/models/x,/models/y", "--no-docs", "--key-required"]
    chosen = Settings.from_command_line([*options, "--api-keys", "keys.toml"])
    assert (chosen.port, chosen.max_beam_size) == (9000, 5)
    assert chosen.bundle == (Path("/models/x"), Path("/models/y"))
    assert (chosen.docs, chosen.key_required, chosen.api_keys) == (False, True, Path("keys.toml"))


def test_what_looks_like_a_setting_and_is_none_is_told() -> None:
    by_kubernetes = {"ATTENDANT_SERVICE_HOST": "", "ATTENDANT_PORT_8000_TCP": "", "PATH": ""}
    assert misspelt({"ATTENDANT_PORT": "", **by_kubernetes}) == []
    assert misspelt({"ATTENDANT_PROT": "", "ATTENDANT_XYZ": "", **by_kubernetes}) == [
        "ATTENDANT_PROT is no setting, and changes nothing; did you mean ATTENDANT_PORT?",
        "ATTENDANT_XYZ is no setting, and changes nothing",
    ]


def test_every_setting_says_what_it_does() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name


def run_service(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "service", *options],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_wrong_setting_stops_the_start_and_is_named() -> None:
    done = run_service(ATTENDANT_PORT="high")
    assert done.returncode == 2
    assert "--port, ATTENDANT_PORT = 'high': Input should be a valid integer" in done.stderr
    assert run_service("--port", "high").stderr == done.stderr


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        (["--prot", "1"], {}, "unrecognized arguments: --prot 1"),
        (["--key-required"], {}, "error: --key-required, ATTENDANT_KEY_REQUIRED needs"),
        ([], {"ATTENDANT_PORT": "tcp://10.0.0.1:8000"}, "enableServiceLinks: false"),
    ],
)
def test_what_cannot_be_taken_stops_the_start(
    options: list[str], environment: dict[str, str], said: str
) -> None:
    done = run_service(*options, **environment)
    assert done.returncode == 2
    assert said in done.stderr


def test_help_names_every_option() -> None:
    done = run_service("--help")
    assert done.returncode == 0
    for name in Settings.model_fields:
        assert f"--{name.replace('_', '-')}" in done.stdout


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
