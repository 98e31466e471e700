"""Logs: one line per event, with the id of its request; never with a text.

A thread writes them: whoever reads them may be slow or stuck, and the service goes on.
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
from contextvars import ContextVar
from functools import lru_cache
from types import TracebackType

STANDARD_ERROR = 2
MAX_WAITING_LINES = 10_000
"""To be written; those that come while so many wait are lost, and counted."""
GATHER_SECONDS = 0.05
"""For which the thread waits for more lines, to write them together."""
FLUSH_SECONDS = 1.0
"""For which the process may end later, so that all lines are written."""

request_id: ContextVar[str] = ContextVar("request_id", default="-")
"""Of the request that is being served."""


logger = logging.getLogger(__name__)

_BREAKING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029"  # control characters, line and paragraph separators
    "\u202a-\u202e\u2066-\u2069"  # directions, which show a line in another order
    "\ud800-\udfff]"  # lone surrogates, which no encoding has
)


def one_line(text: str) -> str:
    """A text in which nothing ends a line, moves the cursor or cannot be written, but its escape."""
    if text.isprintable():  # which nothing of this is, and is told in a tenth of the time
        return text
    return _BREAKING.sub(lambda found: ascii(found[0])[1:-1], text)


class _WithRequestId(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


@lru_cache(1)
def _second(seconds: int) -> str:
    """A second of local time as text lines have it: many lines are of the same one."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


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
        # indented, so that no line of an exception's text looks like an event
        lines = super().formatException(ei).split("\n")
        return "\n".join(f"  {one_line(line)}" for line in lines)


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
        return json.dumps(line)  # in ASCII: what else ends a line, or cannot be written, is escaped


class LogWriter(logging.Handler):
    """Has a thread of its own write the lines to a file, by its descriptor."""

    def __init__(self, file: int) -> None:
        """Start the thread."""
        super().__init__()
        self._file = file
        self._lines: list[str] = []
        self._num_lost = 0
        self._is_writing = self._is_closed = False
        self._changed = threading.Condition()
        threading.Thread(target=self._write_on, name="log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Leave a line to the thread."""
        try:
            line = self.format(record)
        except Exception:  # as all handlers of the standard library do
            self.handleError(record)
        else:
            self.add(line)

    def add(self, line: str) -> None:
        """Leave a line to the thread, as it is."""
        with self._changed:
            if len(self._lines) < MAX_WAITING_LINES:
                self._lines.append(line)
            else:
                self._num_lost += 1
            if len(self._lines) == 1:
                self._changed.notify_all()

    def flush(self) -> None:
        """Wait until all lines are written, but not for long."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._lines or self._is_writing), FLUSH_SECONDS)

    def close(self) -> None:
        """End the thread, once it has nothing more to write."""
        super().close()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _write_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines or self._is_closed)
                if not self._lines:
                    return
                self._is_writing = True
            time.sleep(GATHER_SECONDS)
            with self._changed:
                lines, self._lines = self._lines, []
                num_lost, self._num_lost = self._num_lost, 0
            self._write("".join(f"{line}\n" for line in [*lines, *self._told(num_lost)]))
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()

    def _told(self, num_lost: int) -> Iterator[str]:
        if num_lost:
            message = "%d lines of this log are lost: it was not read"
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
            except BlockingIOError:  # another process has made it so, for all that share it
                select.select([], [self._file], [])
            except OSError:  # whoever read it has gone, and nobody is left to tell
                return


def _is_news(record: logging.LogRecord) -> bool:
    """Not that a client sent what is no HTTP: uvicorn says so each time, and anybody can repeat it."""
    return record.msg != "Invalid HTTP request received."


def configure(level: str, form: str) -> None:
    """Log to standard error from `level` on, as "text" or "json"; called once, by `__main__`."""
    if sys.stderr is None:  # closed; its descriptor may be another file's by now
        logging.basicConfig(handlers=[logging.NullHandler()], force=True)
        return
    handler = LogWriter(STANDARD_ERROR)
    handler.addFilter(_WithRequestId())
    text = "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"
    handler.setFormatter(_Json() if form == "json" else _Text(text))
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    # neither form names threads or processes, which takes a third of a line's time
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def tell(line: str) -> None:
    """Write a line that is no event to standard error, behind what has been logged."""
    writers = [one for one in logging.getLogger().handlers if isinstance(one, LogWriter)]
    for writer in writers:
        writer.add(line)
    if not writers and sys.stderr is not None:
        sys.stderr.write(f"{line}\n")
