"""Rules of the project's code: allowed imports, and patterns that mean what they say."""

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import regex

ROOT = Path(__file__).parents[2]


def test_import_contracts() -> None:
    lint_imports = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([lint_imports], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


def test_only_the_runner_imports_onnx_runtime() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [
        one
        for one in project["tool"]["importlinter"]["contracts"]
        if one.get("forbidden_modules") == ["onnxruntime"]
    ]
    modules = {f"service.engine.{path.stem}" for path in (ROOT / "service/engine").glob("*.py")}
    modules -= {"service.engine.__init__", "service.engine.runner"}
    assert modules <= set(contract["source_modules"])


def test_no_pattern_takes_a_last_line_break_for_the_end_of_the_text() -> None:
    r"""In `re` and `regex`, `$` also matches before a last line feed; `\Z` does not."""
    kinds = re.Pattern, type(regex.compile(""))
    names = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / "service").rglob("*.py")]
    for name in names:
        if "on_ray" in name.parts:  # needs Ray
            continue
        module = importlib.import_module(".".join(name.parts))
        for variable, found in vars(module).items():
            if (
                isinstance(found, kinds)
                and isinstance(found.pattern, str)
                and not found.flags & re.M
            ):
                ends = re.search(r"(?<!\\)\$(?=\)|\||\Z)", found.pattern)
                assert ends is None, f"{module.__name__}.{variable}"
