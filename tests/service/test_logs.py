"""Log lines: whatever is in a value, an event stays one line, and is written."""

import json
import logging
import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from service import logs

ENDING = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What ends a line for some reader; all that `str.splitlines` does."""
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


def written(capfd: pytest.CaptureFixture[str]) -> str:
    """What is on standard error."""
    logs.flush()
    return capfd.readouterr().err


@pytest.mark.parametrize("value", VALUES, ids=["bundle", "method", "path", "text"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_value_breaks_a_line(form: str, value: str, capfd: pytest.CaptureFixture[str]) -> None:
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
def test_an_exceptions_text_looks_like_no_event(
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
    """Where standard error is read, and where it is written."""
    reading, writing = os.pipe()
    monkeypatch.setattr(logs, "STANDARD_ERROR", writing)
    return reading, writing


def test_nobody_waits_for_a_reader_that_is_stuck_and_lost_lines_are_counted(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = pipe
    monkeypatch.setattr(logs, "MAX_WAITING_LINES", 3)
    monkeypatch.setattr(logs, "FLUSH_SECONDS", 0.01)
    logs.configure("info", "text")
    for number in range(20):
        logging.getLogger("service.test").info("line %d %s", number, "x" * 100_000)
        logs.flush()  # which gives up: a pipe holds less than a line of these
    with ThreadPoolExecutor(1) as reader, open(reading, "rb") as stream:
        reads = reader.submit(stream.read)
        monkeypatch.setattr(logs, "FLUSH_SECONDS", 60)
        logs.flush()
        os.close(writing)
        found = reads.result()
    lost = [int(number) for number in re.findall(rb"(\d+) lines of this log are lost", found)]
    assert sum(lost) > 0
    assert found.count(b"service.test") + sum(lost) == 20


def test_a_reader_that_has_gone_is_no_error(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    os.close(reading)
    logs.configure("info", "text")
    for _ in range(3):
        logging.getLogger("service.test").info("nobody reads this")
        logs.flush()
    os.close(writing)
