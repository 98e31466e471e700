"""What ends an import from outside, such as a full disk or a signal, is told in a line and leaves nothing."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from export.importers import conversion
from export.importers.__main__ import main
from export.importers.imported import Oracle
from tests.export.importers.ctranslate2_folders import write_folder as write_ctranslate2
from tests.export.importers.marian_folders import write_folder
from tests.waiting import wait_until

NO_MEMORY = "there is not enough memory to import it; end other programs, or import it on a machine"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "opus-mt-de-en"
    write_folder(folder)
    return folder


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), f"opus-mt-de-en: {NO_MEMORY}"),
        (
            RuntimeError(
                "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
                "you tried to allocate 311296 bytes. Error code 12 (Cannot allocate memory)"
            ),
            f"opus-mt-de-en: {NO_MEMORY}",
        ),
        (RuntimeError("std::bad_alloc"), f"opus-mt-de-en: {NO_MEMORY}"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), f"opus-mt-de-en: {NO_MEMORY}"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "bundle: No space left on device"),
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "weights.bin"),
            "weights.bin: No space left on device",
        ),
    ],
    ids=["python", "torch", "c++", "mmap", "disk", "disk, named"],
)
def test_a_lack_of_memory_or_room_is_told_in_one_line(
    folder: Path,
    error: Exception,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(conversion, "pairs_of", fail)
    assert main([str(folder), "--out", str(tmp_path / "bundle")]) == 1
    [line] = [one for one in capsys.readouterr().err.splitlines() if one.startswith("error: ")]
    assert message in line
    assert not list(tmp_path.iterdir())


def test_other_errors_are_faults_of_the_program(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(conversion, "pairs_of", fail)
    with pytest.raises(RuntimeError, match="a fault"):
        main([str(folder), "--out", str(tmp_path / "bundle")])


def test_what_the_library_itself_raises_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "opus-mt-de-en"
    write_ctranslate2(folder)

    def fail(*_: object) -> None:
        raise RuntimeError("No position encodings are defined for positions >= 8\nbut more")

    monkeypatch.setattr(Oracle, "log_probs", fail, raising=False)
    monkeypatch.setattr(Oracle, "__init__", _without_log_probs)
    assert main([str(folder), "--out", str(tmp_path / "bundle")]) == 1
    [line] = [one for one in capsys.readouterr().err.splitlines() if one.startswith("error: ")]
    assert "cannot run the model: No position encodings are defined for positions >= 8" in line


def _without_log_probs(oracle: Oracle, name: str, log_probs: Any, encode: Any = None) -> None:
    object.__setattr__(oracle, "name", name)
    object.__setattr__(oracle, "encode", encode)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_nothing_behind(folder: Path, number: int, tmp_path: Path) -> None:
    temporary, target = tmp_path / "temporary", tmp_path / "target"
    temporary.mkdir()
    target.mkdir()
    archive = shutil.make_archive(str(tmp_path / "opus-mt-de-en"), "zip", folder)
    process = subprocess.Popen(
        [sys.executable, "-m", "attendant", "import", archive, "--out", str(target / "bundle")],
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # the tests' parent may ignore it
    )
    try:
        wait_until(lambda: any(target.iterdir()) or process.poll() is not None, 300)
        assert list(target.iterdir())
        assert list(temporary.iterdir())
        process.send_signal(number)
        _, told = process.communicate(timeout=300)
    finally:
        process.kill()
    assert (process.returncode, list(target.iterdir())) == (128 + number, [])
    assert not list(temporary.iterdir())
    assert "Traceback" not in told
