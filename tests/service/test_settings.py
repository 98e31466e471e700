"""Settings from the environment and from options; invalid ones are reported before anything starts."""

import logging
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import ValidationError
from uvicorn.middleware.proxy_headers import _TrustedHosts

from service.api.connections import Connections
from service.process import main
from service.settings import Settings, doubtful, misspelt


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENDANT_PORT", "8123")
    monkeypatch.setenv("ATTENDANT_BUNDLE", "/models/x, /models/y")
    chosen = Settings()
    assert (chosen.port, chosen.bundle) == (8123, (Path("/models/x"), Path("/models/y")))
    with pytest.raises(ValidationError):
        chosen.port = 1  # type: ignore[misc]


def test_empty_options_and_variables_count_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENDANT_HOST", "::1")
    empty = [f"--{name}=" for name in ("host", "bundle", "bundles", "api-keys", "cors-origins")]
    assert Settings.from_command_line(empty) == Settings()


def test_options_take_precedence_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENDANT_PORT", "8123")
    monkeypatch.setenv("ATTENDANT_MAX_BEAM_SIZE", "5")
    options = ["--port", "9000", "--bundle", "/models/x,/models/y", "--no-docs", "--key-required"]
    chosen = Settings.from_command_line([*options, "--api-keys", "keys.toml"])
    assert (chosen.port, chosen.max_beam_size) == (9000, 5)
    assert chosen.bundle == (Path("/models/x"), Path("/models/y"))
    assert (chosen.docs, chosen.key_required, chosen.api_keys) == (False, True, Path("keys.toml"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((value, True) for value in ("true", "True", "on", "1", "yes", "y", "t")),
        *((value, False) for value in ("false", "FALSE", "off", "0", "no", "n", "f")),
    ],
)
@pytest.mark.parametrize("name", ["rerank", "docs", "tracing"])
def test_booleans_accept_the_usual_spellings(
    name: str, value: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"ATTENDANT_{name.upper()}", value)
    assert getattr(Settings(), name) is expected


def test_an_invalid_boolean_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENDANT_RERANK", "maybe")
    with pytest.raises(ValidationError, match="should be a valid boolean"):
        Settings()


@pytest.mark.parametrize(
    ("given", "pivot"), [("off", ""), ("OFF", ""), ("Off", ""), ("en", "en"), ("pt-BR", "pt-BR")]
)
def test_a_pivot_is_a_code_or_off_in_any_case(
    given: str, pivot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTENDANT_PIVOT", given)
    assert Settings().pivot == pivot


def test_misspelt_variables_are_reported() -> None:
    by_kubernetes = {"ATTENDANT_SERVICE_HOST": "", "ATTENDANT_PORT_8000_TCP": "", "PATH": ""}
    assert misspelt({"ATTENDANT_PORT": "", **by_kubernetes}) == []
    assert misspelt({"ATTENDANT_PROT": "", "ATTENDANT_XYZ": "", **by_kubernetes}) == [
        "ATTENDANT_PROT is not a setting and has no effect; did you mean ATTENDANT_PORT?",
        "ATTENDANT_XYZ is not a setting and has no effect",
    ]


def test_variables_in_small_letters_change_nothing_and_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATTENDANT_PORT", "8123")
    monkeypatch.setenv("attendant_port", "9999")
    monkeypatch.setenv("Attendant_Rerank", "true")
    assert (Settings().port, Settings().rerank) == (8123, False)
    assert misspelt({"attendant_port": "", "Attendant_Rerank": "", "attendants": ""}) == [
        "Attendant_Rerank is not a setting and has no effect; did you mean ATTENDANT_RERANK?",
        "attendant_port is not a setting and has no effect; did you mean ATTENDANT_PORT?",
    ]


@pytest.mark.parametrize(
    ("given", "hosts"),
    [
        ("localhost", ("localhost",)),
        ("127.0.0.1, ::1", ("127.0.0.1", "::1")),
        ("::", ("::", "0.0.0.0")),
        ("0.0.0.0,::", ("0.0.0.0", "::")),
    ],
)
def test_a_host_is_one_address_or_several(
    given: str, hosts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTENDANT_HOST", given)
    assert Settings().host == hosts
    assert Settings.from_command_line(["--host", given]).host == hosts


def test_the_former_name_of_a_setting_is_reported_with_the_present_one() -> None:
    assert misspelt({"ATTENDANT_NUM_LOOPS": "2"}) == [
        "ATTENDANT_NUM_LOOPS is not a setting and has no effect; did you mean ATTENDANT_NUM_WORKERS?"
    ]


@pytest.mark.parametrize(
    "given", ["", "*", "10.0.0.1", "10.0.0.0/8, ::1,fd00::/8", "fe80::1%eth0", "172.16.0.0/12,"]
)
def test_trusted_proxies_are_normalised_for_uvicorn(given: str) -> None:
    trusted = _TrustedHosts(Settings(trusted_proxies=given).trusted_proxies)
    assert trusted.trusted_literals <= {""}
    assert trusted.always_trust == (given == "*")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("proxy", "proxy"),
        ("10.0.0.1,nginx.local", "nginx.local"),
        ("10.0.0.1/8", "10.0.0.1/8"),
        ("10.0.0.0/33", "10.0.0.0/33"),
        ("10.0.0.256", "10.0.0.256"),
        ("10.0.0.1 10.0.0.2", "10.0.0.1 10.0.0.2"),
        ("10.0.0.1,*", "*"),
    ],
)
def test_an_invalid_proxy_is_refused(given: str, named: str) -> None:
    with pytest.raises(ValidationError) as told:
        Settings(trusted_proxies=given)
    assert f"{named!r} is not an IP address, a network as in 10.0.0.0/8" in str(told.value)


def test_origins_must_have_the_form_that_browsers_send(monkeypatch: pytest.MonkeyPatch) -> None:
    origins = "https://a.example, http://localhost:8080,http://[::1]:3000,chrome-extension://abc,*"
    monkeypatch.setenv("ATTENDANT_CORS_ORIGINS", origins)
    assert len(Settings().cors_origins) == 5
    monkeypatch.setenv("ATTENDANT_CORS_ORIGINS", "none")
    assert Settings().cors_origins == ()
    for wrong in (
        "a.example",
        "https://a.example/",
        "https://a.example/page",
        "https://A.example",
        "https://user@a.example",
        "https://*.example",
        "null",
        "https://",
        "https://a.example:",
        "https://a.example:443",
        "http://a.example:80",
    ):
        monkeypatch.setenv("ATTENDANT_CORS_ORIGINS", f"https://b.example,{wrong}")
        with pytest.raises(ValidationError, match=re.escape(f"{wrong!r} is not an origin")):
            Settings()


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e309", "-1", "1e9"])
@pytest.mark.parametrize("name", ["DRAIN_SECONDS", "REQUEST_TIMEOUT_SECONDS"])
def test_times_are_finite_and_bounded(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"ATTENDANT_{name}", value)
    with pytest.raises(ValidationError) as told:
        Settings()
    assert told.value.errors()[0]["loc"] == (name.lower(),)


def test_every_number_has_a_lower_and_an_upper_bound() -> None:
    for name, field in Settings.model_fields.items():
        if field.annotation in (int, float):
            for beyond in (-1, 10**12):
                with pytest.raises(ValidationError, match=name):
                    Settings.model_validate({name: beyond})


def test_some_connections_are_always_reserved_for_health_checks() -> None:
    with pytest.raises(ValidationError, match="max_connections"):
        Settings(max_connections=3)
    connections = Connections(Settings(max_connections=4).max_connections)
    assert connections.busy_limit == 3


def test_a_drain_shorter_than_the_deadline_is_reported() -> None:
    assert doubtful(Settings()) == []
    assert doubtful(Settings(drain_seconds=5, request_timeout_seconds=5)) == []
    [line] = doubtful(Settings(drain_seconds=59.5))
    assert line.startswith(
        "ATTENDANT_DRAIN_SECONDS = 59.5 is shorter than ATTENDANT_REQUEST_TIMEOUT_SECONDS = 60"
    )


def test_settings_for_a_missing_folder_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_in_vain = {"preload": "all", "model_idle_seconds": 60, "max_memory_mb": 500}
    assert doubtful(Settings(**set_in_vain)) == [  # type: ignore[arg-type]
        "ATTENDANT_PRELOAD changes nothing without ATTENDANT_BUNDLES",
        "ATTENDANT_MAX_MEMORY_MB changes nothing without ATTENDANT_BUNDLES",
        "ATTENDANT_MODEL_IDLE_SECONDS changes nothing without ATTENDANT_BUNDLES",
    ]
    chosen = Settings(bundles=tmp_path, **set_in_vain)  # type: ignore[arg-type]
    assert doubtful(chosen) == []
    monkeypatch.setattr("service.settings.resident_bytes", lambda: None)
    assert doubtful(chosen) == [
        "ATTENDANT_MAX_MEMORY_MB changes nothing: this system does not tell as Linux does"
    ]


def test_every_setting_has_a_description() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name


def status(options: Sequence[str] = ()) -> int | str | None:
    """Return the exit status of a start that fails."""
    try:
        return main(options)
    except SystemExit as end:
        return end.code


def test_an_invalid_setting_ends_startup_with_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["--port", "high"]) == 2
    told = capsys.readouterr().err
    assert "--port, ATTENDANT_PORT = 'high': Input should be a valid integer" in told
    monkeypatch.setenv("ATTENDANT_PORT", "high")
    assert status() == 2
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        (["--prot", "1"], {}, "unrecognized arguments: --prot 1"),
        (["--host", "a" * 70], {}, "is no host name and no IP address"),
        (["--key-required"], {}, "error: --key-required, ATTENDANT_KEY_REQUIRED needs"),
        ([], {"ATTENDANT_PORT": "tcp://10.0.0.1:8000"}, "enableServiceLinks: false"),
    ],
)
def test_invalid_options_end_startup(
    options: list[str],
    environment: dict[str, str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert status(options) == 2
    assert said in capsys.readouterr().err


def test_help_is_readable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert status(["--help"]) == 0
    options = re.sub(r"\s+", " ", capsys.readouterr().out.split("options:")[1])
    for name, field in Settings.model_fields.items():
        assert f" --{name.replace('_', '-')}" in options
        assert (field.description or "") in options
    for line in (
        "--bundle PATH,... Folders of the models",
        "the first one serves it. (default: the bundled model)",
        "--bundles PATH Folder whose",
        "--device {auto,cpu,cuda} Where to run",
        "--stall-seconds SECONDS A model run",
        "--max-num-seqs N Maximum sentences",
        "--rerank, --no-rerank Whether",
        "ATTENDANT_API_KEYS. (default: false)",
        "none means no page of another origin. (default: *)",
        "keys are ignored. (default: none)",
        "the service does not start. (default: none)",
    ):
        assert line in options
    for code in ("tuple[", "PosixPath", "null", "None", "True", "False"):
        assert code not in options


def test_the_reason_for_a_failed_start_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text('["a\\n\\u001b[2J"]\nsha256 = "short"\n')
    assert status(["--api-keys", str(keys)]) == 1
    for handler in logging.getLogger().handlers:
        handler.flush()
    assert f"error: {keys}: a\\n\\x1b[2J.sha256: " in capfd.readouterr().err


def test_a_list_may_be_given_in_parts() -> None:
    options = ["--bundle", "x,y", "--bundle", "z", "--cors-origins", "https://a.example,*"]
    chosen = Settings.from_command_line(options)
    assert chosen.bundle == (Path("x"), Path("y"), Path("z"))
    assert chosen.cors_origins == ("https://a.example", "*")


def test_a_missing_bundle_ends_startup_with_its_name(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "service"],
        env={"ATTENDANT_BUNDLE": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"error: {tmp_path / 'none'} is not a bundle: manifest.json cannot be read"
    )


def test_importing_the_service_does_not_load_training_libraries() -> None:
    code = (
        "import sys, service.app; "
        "print([name for name in ('torch', 'onnx', 'model', 'export') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
