"""Signals at every moment of a process: before anything is imported, in its first second, and at its end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import httpx
import pytest

from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import serving
from tests.waiting import wait_until

pytest.importorskip("resource", reason="needs a POSIX system")


def heeds(pid: int, number: int) -> bool:
    """Whether a process ignores or catches a signal, which by default would end it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":\t", 1) for line in lines)
    mask = int(fields["SigIgn"], 16) | int(fields["SigCgt"], 16)
    return bool(mask >> (number - 1) & 1)


@cache
def have_files_in_memory() -> None:
    """Those of the service, once."""
    with serving(TINY_BUNDLE) as server:
        assert httpx.get(f"{server.url}/health", timeout=60).status_code == 200


@contextmanager
def starting() -> Iterator[subprocess.Popen[str]]:
    """A service that has just begun to start: the interpreter is up, the service is not yet."""
    have_files_in_memory()
    environment = {**os.environ, "ATTENDANT_BUNDLE": str(TINY_BUNDLE), "ATTENDANT_PORT": "0"}
    process = subprocess.Popen(
        [sys.executable, "-m", "service"], env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(lambda: all(heeds(process.pid, one) for one in (signal.SIGHUP, signal.SIGTERM)))
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_sighup_in_the_first_second_is_ignored() -> None:
    with starting() as process:
        for _ in range(20):
            process.send_signal(signal.SIGHUP)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.wait(60)


HELD = """
import sys
from pathlib import Path

def hold(*_):
    Path({pipe!r}).read_bytes()

class Holding:
    def find_spec(self, name, *_):
        if name in {modules}:
            hold()

{script}
"""
IMPORTING = """
sys.meta_path.insert(0, Holding())
from {package}.__main__ import main
sys.exit(main({arguments}))
"""
LOADING = """
from service import __main__, process
process.bundle.load = hold
sys.exit(__main__.main([]))
"""
STARTS = {
    "python -m service": IMPORTING.format(package="service", arguments=[]),
    "attendant serve": IMPORTING.format(package="attendant", arguments=["serve"]),
    "with its bundle": LOADING,
}
HEAVY = ("dataclasses", "importlib.metadata", "numpy", "pydantic", "service.process")
"""Modules that take long to import, or import others that do."""


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_handled_before_slow_imports(start: str, number: int, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    modules = HEAVY if STARTS[start] != LOADING else ()
    script = HELD.format(pipe=str(pipe), modules=modules, script=STARTS[start])
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    written: list[int] = []
    try:
        wait_until(lambda: has_reader(pipe, written) or process.poll() is not None)
        process.send_signal(signal.SIGHUP)
        # more than once: a signal that comes just before a blocking read is handled only after it
        wait_until(lambda: _has_ended(process, number))
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (0 if number == signal.SIGTERM else 130, "")
    finally:
        process.kill()
        process.wait()
        for end in written:
            os.close(end)


def _has_ended(process: "subprocess.Popen[str]", number: int) -> bool:
    """Send a signal; return whether the process has ended."""
    process.send_signal(number)
    return process.poll() is not None


def has_reader(pipe: Path, written: list[int]) -> bool:
    """Whether somebody waits for what is written there; `written` takes the open end."""
    with suppress(OSError):
        written.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    return bool(written)


ENDING = """
import atexit, os, sys
from functools import partial
from service import __main__
from service.api.server import Server

Server.run = lambda self: setattr(self, "started", True)

class Late:
    def __init__(self, stop):
        self.__class__.__del__ = lambda _: stop()

stop = partial(os.kill, os.getpid(), {number})
atexit.register(stop)
sys.late = Late(stop)  # deleted as one of the last, with its module
sys.exit(__main__.main({arguments}))
"""


@pytest.mark.parametrize(
    ("number", "arguments", "status"),
    [(signal.SIGTERM, [], 0), (signal.SIGINT, ["--port", "x"], 2)],
)
def test_signals_during_exit_do_not_change_the_status(
    number: int, arguments: list[str], status: int
) -> None:
    environment = {**os.environ, "ATTENDANT_BUNDLE": str(TINY_BUNDLE)}
    script = ENDING.format(number=int(number), arguments=arguments)
    process = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert process.returncode == status
    assert "Traceback" not in process.stderr
    assert "ignored" not in process.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_stop_signal_in_the_first_second_ends_the_process() -> None:
    with starting() as process:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.9)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "Traceback" not in said


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_service_without_standard_streams_stops_cleanly() -> None:
    environment = {**os.environ, "ATTENDANT_BUNDLE": str(TINY_BUNDLE), "ATTENDANT_PORT": "0"}
    command = ["sh", "-c", 'exec "$0" -m service <&- >&-', sys.executable]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("is ready" in line for line in process.stderr)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, "Assertion" in said) == (0, False)
