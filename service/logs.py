"""Logging: one line per event, with the id of its request, and never with a client's text.

A thread writes the lines, so that a slow or stuck reader of the log cannot block the service.
"""

import json
import logging
import os
import re
import select
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import lru_cache
from types import TracebackType

from service.threads import start_daemon

STANDARD_ERROR = 2
MAX_WAITING_LINES = 10_000
"""While so many lines wait to be written, new ones are dropped and counted."""
GATHER_SECONDS = 0.05
"""Time for which the thread waits for more lines, to write them together."""
FLUSH_SECONDS = 1.0
"""Maximum delay of the process's end for lines that are not written yet."""
WARNING_SECONDS = 10.0
"""Minimum time between two warnings of a `CountedWarning`."""

request_id: ContextVar[str] = ContextVar("request_id", default="-")
"""Id of the current request."""


logger = logging.getLogger(__name__)

_BREAKING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029"  # control characters, line and paragraph separators
    "\u202a-\u202e\u2066-\u2069"  # bidirectional controls, which reorder a line on the screen
    "\ud800-\udfff]"  # unpaired surrogates, which cannot be encoded
)


def one_line(text: str) -> str:
    """Escape all characters that end a line, move the cursor or cannot be written."""
    if text.isprintable():  # true if there are none of these, and ten times as fast
        return text
    return _BREAKING.sub(lambda match: ascii(match[0])[1:-1], text)


class CountedWarning:
    """Counts events that may be frequent, and warns of them now and then."""

    def __init__(self, log: logging.Logger, message: str, limit: int) -> None:
        """Warn with `message`, which contains `limit` and the number of events so far."""
        self._log, self._message, self._limit = log, message, limit
        self.num_events = 0
        self._warned = float("-inf")

    def add(self) -> None:
        """Count an event, and warn unless it was done recently."""
        self.num_events += 1
        if time.monotonic() >= self._warned + WARNING_SECONDS:
            self._warned = time.monotonic()
            self._log.warning(self._message, self._limit, self.num_events)


class _WithRequestId(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


class _Text(logging.Formatter):
    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002
        return f"{_second(int(record.created))},{int(record.msecs):03d}"

    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record))

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        # indented, so that no line of a traceback looks like an event
        lines = super().formatException(ei).split("\n")
        return "\n".join(f"  {one_line(line)}" for line in lines)


@lru_cache(1)
def _second(seconds: int) -> str:
    """Format a second of local time; cached, as many lines have the same one."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "request_id": request_id.get(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)  # in ASCII, which escapes all that `one_line` does


class LogWriter(logging.Handler):
    """A logging handler with its own thread, which writes the lines to a file descriptor."""

    def __init__(self, file: int) -> None:
        """Start the thread."""
        super().__init__()
        self._file = file
        self._lines: list[str] = []
        self._num_lost = 0
        self._is_writing = self._is_closed = False
        self._changed = threading.Condition()
        start_daemon("log", self._write_on)

    def emit(self, record: logging.LogRecord) -> None:
        """Format a record and pass it to the thread."""
        try:
            line = self.format(record)
        except Exception:  # as the standard library's handlers do
            self.handleError(record)
        else:
            self.add(line)

    def add(self, line: str) -> None:
        """Pass a line to the thread."""
        with self._changed:
            if len(self._lines) < MAX_WAITING_LINES:
                self._lines.append(line)
            else:
                self._num_lost += 1
            if len(self._lines) == 1:
                self._changed.notify_all()

    def flush(self) -> None:
        """Wait until all lines are written, at most `FLUSH_SECONDS`."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._lines or self._is_writing), FLUSH_SECONDS)

    def close(self) -> None:
        """End the thread once all lines are written."""
        super().close()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _write_on(self) -> None:
        is_open = True
        while is_open:
            # too little memory for some lines, or a full disk, must not end the thread
            with suppress(Exception):
                is_open = self._write_next()

    def _write_next(self) -> bool:
        """Wait for lines, and write them; return whether more may come."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._is_closed)
            if not self._lines:
                return False
            self._is_writing = True
        time.sleep(GATHER_SECONDS)
        with self._changed:
            lines, self._lines = self._lines, []
            num_lost, self._num_lost = self._num_lost, 0
        num_unwritten = len(lines) + num_lost
        try:
            self._write("".join(f"{line}\n" for line in [*lines, *self._loss_warning(num_lost)]))
            num_unwritten = 0
        finally:
            with self._changed:
                self._num_lost += num_unwritten
                self._is_writing = False
                self._changed.notify_all()
        return True

    def _loss_warning(self, num_lost: int) -> Iterator[str]:
        if num_lost:
            message = "%d lines of this log are lost: they could not be written"
            record = logger.makeRecord(
                logger.name, logging.WARNING, __file__, 0, message, (num_lost,), None
            )
            self.filter(record)
            yield self.format(record)

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        while data:
            try:
                data = data[os.write(self._file, data) :]
            except BlockingIOError:  # a process that shares the file has made it non-blocking
                select.select([], [self._file], [])


def configure(level: str, form: str) -> None:
    """Log to standard error from `level` on, as "text" or "json"; called once, at startup."""
    if sys.stderr is None:  # closed, and its descriptor may belong to another file by now
        logging.basicConfig(handlers=[logging.NullHandler()], force=True)
        return
    handler = LogWriter(STANDARD_ERROR)
    handler.addFilter(_WithRequestId())
    text = "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"
    handler.setFormatter(_Json() if form == "json" else _Text(text))
    # neither format uses threads or processes, whose names take a third of the time
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def print_line(line: str) -> None:
    """Write a line without a log prefix to standard error, after the lines logged so far."""
    writers = [
        handler for handler in logging.getLogger().handlers if isinstance(handler, LogWriter)
    ]
    for writer in writers:
        writer.add(line)
    if not writers and sys.stderr is not None:
        sys.stderr.write(f"{line}\n")
