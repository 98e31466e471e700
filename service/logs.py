"""Logs: one line per event, with the id of its request; never with a text."""

import json
import logging
import re
import time
from contextvars import ContextVar
from functools import lru_cache
from types import TracebackType

request_id: ContextVar[str] = ContextVar("request_id", default="-")
"""Of the request that is being served."""


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


def _is_news(record: logging.LogRecord) -> bool:
    """Not that a client sent what is no HTTP: uvicorn says so each time, and anybody can repeat it."""
    return record.msg != "Invalid HTTP request received."


def configure(level: str, form: str) -> None:
    """Log to standard error from `level` on, as "text" or "json"; called once, by `__main__`."""
    handler = logging.StreamHandler()
    handler.addFilter(_WithRequestId())
    text = "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"
    handler.setFormatter(_Json() if form == "json" else _Text(text))
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    # neither form names threads or processes, which takes a third of a line's time
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
