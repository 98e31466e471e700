"""Log lines: an event is one line, whatever its values contain, and it is written."""

import json
import logging
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from service import logs

ENDING = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""The characters at which `str.splitlines` splits."""
VALUES = [
    f"de-en{ENDING}2026-01-01 00:00:00,000 INFO service.access [-] forged",
    "GET\x00\x1b[2J\x7f\x9b",
    "/translate\u202eetalsnart\u2066",
    "lone \ud800 surrogate \udcff",
]


@pytest.fixture(autouse=True)
def _no_line_may_be_impossible_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.Handler, "handleError", _fail)


def _fail(_handler: logging.Handler, record: logging.LogRecord) -> None:
    raise AssertionError(f"not written: {record.msg}")


def flush() -> None:
    for handler in logging.getLogger().handlers:
        handler.flush()


def written(capfd: pytest.CaptureFixture[str]) -> str:
    """Return what has been written to standard error."""
    flush()
    return capfd.readouterr().err


@pytest.mark.parametrize("value", VALUES, ids=["bundle", "method", "path", "text"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_values_cannot_break_a_line(
    form: str, value: str, capfd: pytest.CaptureFixture[str]
) -> None:
    logs.configure("info", form)
    logging.getLogger("service.test").info("%s %s", value, "end", extra={"fields": {"m": value}})
    text = written(capfd)
    assert text.endswith("\n")
    [line] = text.splitlines()
    assert all(character.isprintable() for character in line.replace("\x7f", ""))
    if form == "json":
        found = json.loads(line)
        assert (found["message"], found["m"]) == (f"{value} end", value)
    else:
        assert line.endswith(" end")


@pytest.mark.parametrize("value", VALUES)
def test_the_text_of_an_exception_cannot_look_like_an_event(
    value: str, capfd: pytest.CaptureFixture[str]
) -> None:
    logs.configure("info", "text")
    try:
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError(value) from error
    except ValueError:
        logging.getLogger("service.test").exception("a step failed: %s", value)
    event, *lines = written(capfd).splitlines()
    assert "ERROR service.test [-] a step failed: " in event
    assert lines[0] == "  Traceback (most recent call last):"
    assert any(line.startswith("  ValueError: ") for line in lines)
    for line in lines:
        assert line.startswith("  ")
        assert line.isprintable()


def test_an_exception_is_one_line_of_json(capfd: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "json")
    try:
        raise ValueError(VALUES[0] + VALUES[3])
    except ValueError as error:
        logging.getLogger("service.test").error("unexpected error", exc_info=error)
    [line] = written(capfd).splitlines()
    assert json.loads(line)["exception"].endswith(f"ValueError: {VALUES[0] + VALUES[3]}")


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """A pipe in the place of standard error: its reading and writing ends."""
    reading, writing = os.pipe()
    monkeypatch.setattr(logs, "STANDARD_ERROR", writing)
    return reading, writing


def test_a_stuck_reader_blocks_nothing_and_lost_lines_are_counted(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = pipe
    monkeypatch.setattr(logs, "MAX_WAITING_LINES", 3)
    monkeypatch.setattr(logs, "FLUSH_SECONDS", 0.01)
    logs.configure("info", "text")
    for number in range(20):
        logging.getLogger("service.test").info("line %d %s", number, "x" * 100_000)
        flush()  # which gives up: a pipe holds less than a line of these
    with ThreadPoolExecutor(1) as reader, open(reading, "rb") as stream:
        reads = reader.submit(stream.read)
        monkeypatch.setattr(logs, "FLUSH_SECONDS", 60)
        flush()
        os.close(writing)
        found = reads.result()
    lost = [int(number) for number in re.findall(rb"(\d+) lines of this log are lost", found)]
    assert sum(lost) > 0
    assert found.count(b"service.test") + sum(lost) == 20


def test_lines_follow_those_that_could_not_be_written(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = pipe
    logs.configure("info", "text")
    [writer] = [one for one in logging.getLogger().handlers if isinstance(one, logs.LogWriter)]
    write = writer._write

    def fail(_: str) -> None:
        monkeypatch.setattr(writer, "_write", write)
        raise MemoryError

    monkeypatch.setattr(writer, "_write", fail)
    for number in range(2):
        logging.getLogger("service.test").info("line %d", number)
        flush()
    os.close(writing)
    with open(reading, "rb") as stream:
        found = stream.read()
    assert b"line 1" in found
    assert b"line 0" not in found
    assert b"1 lines of this log are lost" in found


def test_lines_that_nobody_can_read_are_counted(pipe: tuple[int, int]) -> None:
    reading, writing = os.pipe()
    os.close(pipe[0])
    logs.configure("info", "text")
    [writer] = [one for one in logging.getLogger().handlers if isinstance(one, logs.LogWriter)]
    for number in range(3):
        logging.getLogger("service.test").info("line %d", number)
        flush()
        if number == 1:
            writer._file = writing
    os.close(pipe[1])
    os.close(writing)
    with open(reading, "rb") as stream:
        found = stream.read()
    assert b"line 2" in found
    assert b"2 lines of this log are lost: they could not be written" in found


def test_a_closed_pipe_is_ignored(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    os.close(reading)
    logs.configure("info", "text")
    for _ in range(3):
        logging.getLogger("service.test").info("nobody reads this")
        flush()
    os.close(writing)


def test_a_non_blocking_standard_error_loses_no_lines(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    os.set_blocking(writing, False)
    logs.configure("info", "text")
    for number in range(5):
        logging.getLogger("service.test").info("line %d %s", number, "x" * 50_000)
    with ThreadPoolExecutor(1) as reader, open(reading, "rb") as stream:
        reads = reader.submit(stream.read)
        flush()
        os.close(writing)
        lines = reads.result().splitlines()
    assert [line.split(b" line ")[1][:1] for line in lines] == [b"0", b"1", b"2", b"3", b"4"]
    assert all(line.endswith(b"x" * 50_000) for line in lines)


def test_a_closed_standard_error_is_not_written_to(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = pipe  # as if another file had got its descriptor
    monkeypatch.setattr(sys, "stderr", None)
    logs.configure("info", "text")
    logging.getLogger("service.test").error("for nobody")
    flush()
    os.close(writing)
    with open(reading, "rb") as stream:
        assert stream.read() == b""


def test_printed_lines_follow_logged_ones(capfd: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "text")
    logging.getLogger("service.test").info("first")
    logs.print_line("error: then this")
    first, second = written(capfd).splitlines()
    assert first.endswith("first")
    assert second == "error: then this"
