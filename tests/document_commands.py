"""Checks that commands in documents exist, with their options."""

import re
import shlex
import tomllib
from collections.abc import Callable

from attendant.__main__ import COMMANDS
from service.settings import Settings
from tests.documents import ROOT, read

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FOREIGN = {
    "apt",
    "cat",
    "cd",
    "cp",
    "docker",
    "git",
    "gunzip",
    "hf",
    "kill",
    "kubectl",
    "mkdir",
    "paste",
    "printf",
    "serve",
    "torchrun",
}
"""External programs, whose options are not checked."""


def check_command(words: list[str]) -> None:
    """Fail unless the command is one of this project or a known external program."""
    while words and re.match(r"[A-Za-z_]+=", words[0]):  # an environment variable for this command
        words = words[1:]
    if not words:
        return
    program, *rest = words
    checks: dict[str, Callable[[list[str]], None]] = {
        "make": _check_make,
        "python": _check_python,
        "pip": _check_pip,
        "attendant": _check_attendant,
        "torchrun": lambda rest: _check_python(rest[rest.index("-m") :]),
        ".": lambda rest: None,
    }
    if program == "curl":  # tested by sending the request
        return
    if program in checks:
        checks[program](rest)
    assert program in checks or program in FOREIGN, f"unknown program: {program}"
    for file in re.findall(r"\bdocker/[\w./]+", " ".join(rest)):
        assert (ROOT / file).exists(), file


def _check_make(words: list[str]) -> None:
    targets = [word for word in words if "=" not in word]
    makefile = read(ROOT / "Makefile")
    modules = {
        "serve": "service",
        "train": "model.train",
        "report": "model.report",
        "export": "export",
    }
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for name, _, value in (word.partition("=") for word in words if "=" in word):
        assert re.search(rf"\$\((if )?{name}\b", makefile), name
        if name == "ARGS" and targets[0] in modules:
            _check_python(["-m", modules[targets[0]], *shlex.split(value)])


def _check_attendant(words: list[str]) -> None:
    _check_python(["-m", COMMANDS[words[0]].module, *words[1:]])


def _check_python(words: list[str]) -> None:
    module = words[words.index("-m") + 1]
    if module == "venv":
        return
    path = ROOT / module.replace(".", "/")
    assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
    files = (
        path.rglob("*.py")
        if path.is_dir()
        else [
            path.with_suffix(".py"),
            *path.parent.glob("d*.py"),
            *path.parent.glob("*/command.py"),
        ]
    )
    source = "".join(read(file) for file in files)
    for option in (word.partition("=")[0] for word in words if word.startswith("--")):
        field = option.removeprefix("--").replace("-", "_")
        is_known = f'"{option}"' in source or (
            module == "service" and field in Settings.model_fields
        )
        assert is_known or option == "--help", f"{module} has no {option}"


def _check_pip(words: list[str]) -> None:
    for extra in re.findall(r"\[([a-z,]+)\]", " ".join(words)):
        assert set(extra.split(",")) <= PROJECT["project"]["optional-dependencies"].keys(), extra
