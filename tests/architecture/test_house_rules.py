"""Rules of the project's code: allowed imports, and maximum lengths of files and functions."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for package in ("attendant", "service", "model", "export")
    for path in (ROOT / package).rglob("*.py")
)


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


def test_test_files_are_short() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "tests").rglob("*.py")
    }
    assert {path: length for path, length in lengths.items() if length > 350} == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_are_short(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 350
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            assert length <= 50, f"{path.name}: {node.name} has {length} lines"
