"""Log lines: whatever is in a value, an event stays one line, and is written."""

import io
import json
import logging
import sys
from collections.abc import Iterator

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
def root_logger() -> Iterator[None]:
    """Leave the root logger as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def logged(form: str, monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """Log to a strict UTF-8 stream in place of standard error; gives its bytes."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, "utf-8", errors="strict", write_through=True, newline="")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(logging.Handler, "handleError", _fail)
    logs.configure("info", form)
    return written


def _fail(_handler: logging.Handler, record: logging.LogRecord) -> None:
    raise AssertionError(f"not written: {record.msg}")


@pytest.mark.parametrize("value", VALUES, ids=["bundle", "method", "path", "text"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_value_breaks_a_line(form: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = logged(form, monkeypatch)
    logging.getLogger("service.test").info("%s %s", value, "end", extra={"fields": {"m": value}})
    text = written.getvalue().decode()
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
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = logged("text", monkeypatch)
    try:
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError(value) from error
    except ValueError:
        logging.getLogger("service.test").exception("a step failed: %s", value)
    event, *lines = written.getvalue().decode().splitlines()
    assert "ERROR service.test [-] a step failed: " in event
    assert lines[0] == "  Traceback (most recent call last):"
    assert any(line.startswith("  ValueError: ") for line in lines)
    for line in lines:
        assert line.startswith("  ")
        assert line.isprintable()


def test_an_exception_is_one_line_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    written = logged("json", monkeypatch)
    try:
        raise ValueError(VALUES[0] + VALUES[3])
    except ValueError as error:
        logging.getLogger("service.test").error("unexpected error", exc_info=error)
    [line] = written.getvalue().decode("ascii").splitlines()
    assert json.loads(line)["exception"].endswith(f"ValueError: {VALUES[0] + VALUES[3]}")
