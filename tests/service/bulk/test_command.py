"""`attendant translate FILE --out OUT` when killed, out of disk space, on a terminal, and misused."""

import os
import pty
import signal
import subprocess
import sys
import time
from io import FileIO
from pathlib import Path

import pytest

from service import Translator
from service.bulk.disk import append
from service.bulk.errors import BulkError
from service.translate import main
from tests import toy
from tests.conftest import TINY_BUNDLE

SMALL_STEPS = """
import signal, sys
from service.bulk import reader, run
signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests' parent may ignore it
reader.WINDOW_LINES, run.CHECKPOINT_SECONDS = 16, 0
from attendant.__main__ import main
sys.exit(main())
"""
"""Runs the command with windows of 16 lines, so that little text is enough."""
OPTIONS = ["--bundle", str(TINY_BUNDLE), "--precision", "fp32", "--source", "de", "--target", "en"]
GERMAN = [sentence for sentence, _ in toy.sentences()]


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-c", SMALL_STEPS, "translate", *map(str, arguments), *OPTIONS]


def killed_after(checkpoints: int, arguments: list[str], state: Path) -> None:
    """Run until the journal has this many more lines, then send SIGKILL."""
    before = state.read_text().count("\n") if state.exists() else 0
    with subprocess.Popen(arguments, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 120
        while not state.exists() or state.read_text().count("\n") < before + checkpoints:
            assert process.poll() is None, "it is done, or failed"
            assert time.monotonic() < end
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)


@pytest.mark.slow
def test_a_run_that_is_killed_twice_gives_the_same_output(tmp_path: Path) -> None:
    lines = [*GERMAN, "", "42"]
    source, out, state = (tmp_path / name for name in ("in.txt", "out.txt.gz", "out.txt.gz.state"))
    source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    arguments = command(source, "--out", out)
    killed_after(5, arguments, state)
    killed_after(6, arguments, state)
    assert 11 <= state.read_text().count("\n") < len(lines) / 16
    assert subprocess.run(arguments, timeout=120).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt.gz"]
    written = subprocess.run(["gunzip", "-c", out], capture_output=True, check=True).stdout.decode()
    with Translator.load(TINY_BUNDLE, device="cpu", precision="fp32") as translator:
        expected = {line: translator.translate(line, "de", "en").text for line in set(lines)}
    assert written.splitlines() == [expected[line] for line in lines]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_a_full_disk_is_reported() -> None:
    with FileIO("/dev/full", "w") as full, pytest.raises(BulkError) as told:
        append(full, b"text")
    problem, remedy = str(told.value).split("; ")
    assert problem == "/dev/full: No space left on device"
    assert remedy == "once this is fixed, run the same command again to continue"


def test_progress_on_a_terminal_with_standard_output_closed(tmp_path: Path) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"{line}\n" for line in GERMAN[:40]), encoding="utf-8")
    terminal, side = pty.openpty()
    try:
        closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command(source, "--out", out)]
        done = subprocess.run(closed, stderr=side, timeout=120)
        shown = os.read(terminal, 10_000).decode()
    finally:
        os.close(side)
        os.close(terminal)
    assert done.returncode == 0
    assert out.read_text().count("\n") == 40
    assert "100%  40 lines, " in shown
    assert " sentences/s" in shown


def test_an_interrupt_keeps_finished_lines(tmp_path: Path) -> None:
    source, state = tmp_path / "in.txt", tmp_path / "out.txt.state"
    source.write_text("".join(f"{line}\n" for line in GERMAN), encoding="utf-8")
    arguments = command(source, "--out", tmp_path / "out.txt")
    with subprocess.Popen(arguments, stderr=subprocess.PIPE) as process:
        while not state.exists() or state.read_text().count("\n") < 3:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert told.decode().strip() == "stopped: the same command continues"
    assert state.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["{in}", "--column", "2"], "--column is for translating line by line, which needs --out"),
        (["--out", "{out}"], "--out needs a FILE, or a folder"),
        (["{in}", "--out", "{out}", "--column", "0"], "--column must be at least 1, but is 0"),
        (["{in}", "--out", "{in}"], "in.txt exists already: delete it, or name another output"),
        (["{none}", "--out", "{out}"], "{none}: No such file or directory"),
        (["nowhere", "--out", "{out}"], "nowhere: No such file or directory"),
        (["{pipe}", "--out", "{out}"], "{pipe} is neither a file nor a folder"),
        (["{folder}"], "is a folder: --out OUT translates it line by line"),
        (["{in}", "--out", "{out}"], "line 2 is not UTF-8: byte 1 is 0xff"),
        (["{in}", "--out", "{out}", "--target", "fr"], "fr is not supported"),
    ],
)
def test_errors_are_reported(
    tmp_path: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_bytes(b"Hund\n\xff\n")
    names = {"folder": tmp_path} | {
        name: tmp_path / f"{name}.txt" for name in ("in", "out", "none", "pipe")
    }
    os.mkfifo(names["pipe"])
    arguments = [*OPTIONS, *(option.format(**names) for option in options)]
    try:
        status = main(arguments)
    except SystemExit as error:
        status = int(str(error.code))
    assert status in (1, 2)
    assert said.format(**names) in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "out.txt").exists()
