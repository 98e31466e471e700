"""Streams of `attendant` that are closed, full or no longer read, and other ends: one line, and a status."""

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from attendant import __main__ as command_line
from attendant.__main__ import main
from tests.conftest import TINY_BUNDLE

needs_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
PRINTING = [
    ["--help"],
    ["--version"],
    ["keys", "weblate"],
    ["keys", "--help"],
    ["serve", "--help"],
    ["inspect", str(TINY_BUNDLE)],
]


def run(
    arguments: list[str], redirection: str, program: tuple[str, ...] = ("-m", "attendant")
) -> subprocess.CompletedProcess[str]:
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, *program, *arguments]
    return subprocess.run(shell, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
@pytest.mark.parametrize(
    ("redirection", "reason"),
    [
        pytest.param(">/dev/full", "No space left on device", marks=needs_full_device),
        (">&-", "Bad file descriptor"),
    ],
)
def test_output_that_cannot_be_written_is_an_error(
    arguments: list[str], redirection: str, reason: str
) -> None:
    done = run(arguments, redirection)
    assert (done.returncode, done.stderr) == (1, f"error: standard output: {reason}\n")


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_output_that_nobody_reads_ends_a_command_quietly(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "attendant", *arguments],
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_error_is_not_printed_to_output_if_standard_error_is_closed() -> None:
    done = run(["inspect", "missing"], "2>&-")
    assert (done.returncode, done.stdout) == (1, "")


@needs_full_device
def test_an_error_that_cannot_be_printed_is_still_one() -> None:
    assert run(["inspect", "missing"], "2>/dev/full").returncode != 0


def test_no_key_is_made_that_cannot_be_shown() -> None:
    done = run(["keys", "weblate"], "2>&-")
    assert (done.returncode, done.stdout) == (1, "")


@needs_full_device
def test_the_entry_is_written_before_its_key_is_shown() -> None:
    done = run(["keys", "weblate"], "2>/dev/full")
    assert done.returncode != 0
    assert tomllib.loads(done.stdout).keys() == {"weblate"}


def test_files_do_not_take_the_places_of_closed_streams(tmp_path: Path) -> None:
    code = (
        "import sys; from attendant import __main__ as command_line\n"
        "command_line._call = lambda arguments: open(arguments[0], 'w').fileno()\n"
        "sys.exit(command_line.main())"
    )
    done = run([str(tmp_path / "file")], "<&- >&- 2>&-", ("-c", code))
    assert done.returncode > 2


def test_characters_that_standard_output_cannot_encode_are_escaped() -> None:
    code = (
        "from attendant import __main__ as command_line\n"
        "command_line._call = lambda arguments: print('M\\xfcller \\udcff')\n"
        "command_line.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("M\\xfcller \\udcff\n", "")


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (KeyboardInterrupt(), 130, ""),
        (MemoryError(), 1, "error: out of memory\n"),
        (
            RuntimeError("can't start new thread"),
            1,
            "error: can't start new thread: too little memory, or too many processes\n",
        ),
        (FileNotFoundError(2, "No such file", "a.txt"), 1, "error: a.txt: No such file\n"),
        (OSError("the power failed"), 1, "error: the power failed\n"),
    ],
    ids=repr,
)
def test_what_ends_a_command_is_told_in_one_line(
    error: BaseException,
    status: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(arguments: list[str]) -> int:
        raise error

    monkeypatch.setattr(command_line, "_call", fail)
    assert main([]) == status
    assert capsys.readouterr() == ("", told)


INTERRUPTED = """
import os, signal, sys, threading, time
from types import SimpleNamespace
from attendant import __main__ as command_line

def main(arguments):
    {body}

signal.signal(signal.SIGINT, signal.{handler})  # the tests' parent may ignore it
signal.signal(signal.SIGTERM, signal.SIG_DFL)  # likewise
command_line.import_module = lambda name: SimpleNamespace(main=main)
sys.argv[1:] = ["inspect"]
sys.exit(command_line.main())
"""
INTERRUPT = "os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.parametrize(
    "body",
    [
        INTERRUPT,
        f"threading.Thread(target=time.sleep, args=(3600,)).start(); {INTERRUPT}",
        # an extension module whose import is interrupted raises another error
        f"""
    try:
        {INTERRUPT}
    except KeyboardInterrupt:
        raise ImportError("initialization failed")""",
        # cleaning up takes too long for the user
        f"""
    try:
        {INTERRUPT}
    finally:
        {INTERRUPT}
        time.sleep(3600)""",
    ],
    ids=["by default", "with a thread", "another error", "twice"],
)
def test_an_interrupt_ends_a_command_at_once_and_quietly(body: str) -> None:
    code = INTERRUPTED.format(body=body, handler="default_int_handler")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "")


def test_sigterm_lets_a_command_clean_up_and_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "unfinished"
    body = f"""
    from pathlib import Path
    path = Path({str(path)!r})
    path.touch()
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(3600)
    finally:
        path.unlink()"""
    code = INTERRUPTED.format(body=body, handler="default_int_handler")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (143, "")
    assert not path.exists()


def test_an_interrupt_that_is_ignored_stays_so() -> None:
    code = INTERRUPTED.format(body=f"{INTERRUPT}; return 7", handler="SIG_IGN")
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 7


def test_an_interrupt_before_and_after_a_command_is_quiet() -> None:
    code = INTERRUPTED.format(body="return 0", handler="default_int_handler")
    at_import = code.replace("lambda name: ", f"lambda name: {INTERRUPT} or ")
    at_end = code.replace("sys.exit(command_line.main())", f"command_line.main(); {INTERRUPT}")
    for one in (at_import, at_end):
        done = subprocess.run([sys.executable, "-c", one], capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def test_the_message_of_a_missing_thread_is_python_s() -> None:
    code = (
        "import threading; from attendant import __main__ as command_line\n"
        "threading.stack_size(1 << 60)\n"
        "command_line._call = lambda arguments: threading.Thread(target=print).start()\n"
        "command_line.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (
        done.stderr == "error: can't start new thread: too little memory, or too many processes\n"
    )
