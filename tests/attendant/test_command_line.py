"""`attendant COMMAND` passes its arguments to the command's module, and imports nothing else."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from attendant import __main__ as command_line
from attendant.__main__ import COMMANDS, main
from export import __main__ as export

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "attendant", *arguments], capture_output=True, text=True, timeout=60
    )


def test_the_installed_script_runs_this_module() -> None:
    module, _, function = PROJECT["project"]["scripts"]["attendant"].partition(":")
    assert getattr(import_module(module), function) is main


def test_every_package_is_installed_and_typed() -> None:
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    rooms = {command.module.partition(".")[0] for command in COMMANDS.values()}
    assert set(packages) == {"attendant", *rooms}
    dockerfile = (ROOT / "docker/Dockerfile").read_text("utf-8")
    for package in packages:
        assert (ROOT / package / "py.typed").exists()
        assert f"COPY {package} ./{package}\n" in dockerfile


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_gets_its_own_arguments(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: attendant {name} ")
    extra = COMMANDS[name].extra
    assert not extra or extra in PROJECT["project"]["optional-dependencies"]


@pytest.mark.parametrize("name", ["import", "convert"])
def test_the_export_module_offers_its_siblings(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        export.main([name, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: attendant {name} ")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], [], ["tranlsate", "--help"]])
def test_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    is_asked_for = arguments[:1] in (["--help"], ["-h"])
    assert main(arguments) == (0 if is_asked_for else 2)
    told = capsys.readouterr()
    text = told.out if is_asked_for else told.err
    listed = dict(re.findall(r"^  (\w+) +(.+)$", text, re.MULTILINE))
    assert {"serve", "translate", "export", "import", "convert", "inspect"} <= listed.keys()
    assert listed.keys() == COMMANDS.keys()
    assert listed["import"].endswith(" (extra import)")
    assert "extra" not in listed["inspect"]
    assert ("error: there is no command tranlsate\n" in text) == (arguments[:1] == ["tranlsate"])


def test_the_version_matches_the_project() -> None:
    assert run("--version").stdout == f"attendant {PROJECT['project']['version']}\n"


def test_keys_writes_an_entry() -> None:
    done = run("keys", "weblate", "--admin")
    assert done.returncode == 0
    entry = tomllib.loads(done.stdout)["weblate"]
    assert entry["admin"] is True
    assert len(entry["sha256"]) == 64


def test_inspect_describes_a_bundle(tiny_bundle: Path) -> None:
    assert "de-en, en-de" in run("inspect", str(tiny_bundle)).stdout


def test_serve_accepts_the_options_of_the_service() -> None:
    done = run("serve", "--port", "high")
    assert done.returncode == 2
    assert "--port, ATTENDANT_PORT = 'high'" in done.stderr


@pytest.mark.parametrize(
    ("name", "missing"),
    [("train", "torch"), ("export", "onnx"), ("import", "torch"), ("convert", "onnx")],
)
def test_a_missing_extra_is_reported_in_one_line(name: str, missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        f"from attendant.__main__ import main; sys.exit(main([{name!r}, '--help']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    extra = COMMANDS[name].extra
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith(
        f"error: attendant {name} needs the extra {extra}: "
        f"pip install -e '.[{extra}]' in a clone of Attendant ("
    )
    assert missing in line


def test_import_errors_of_other_commands_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(command_line, "import_module", missing)
    with pytest.raises(ModuleNotFoundError):
        main(["keys"])


def test_commands_of_the_service_do_not_load_training_libraries() -> None:
    code = (
        "import sys; from attendant.__main__ import COMMANDS; from importlib import import_module\n"
        "[import_module(one.module) for one in COMMANDS.values() if not one.extra]\n"
        "print([name for name in ('torch', 'onnx', 'model', 'export') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
