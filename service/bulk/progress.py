"""A progress line: what is done, the speed and, if the total is known, the time left."""

import sys
import time
from collections.abc import Callable

from service.logs import print_line

BAR_CELLS = 20
SHOWN_SECONDS, LOGGED_SECONDS = 0.5, 10.0
"""Intervals between two lines on a terminal, where one replaces the other, and elsewhere."""


class Progress:
    """A progress line on standard error; if that is no terminal, a plain line now and then."""

    def __init__(
        self,
        total: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        is_shown: bool = True,
    ) -> None:
        """Show that nothing is done yet of `total` input bytes, if that is known.

        Nothing is ever shown unless `is_shown`, and nothing but on a terminal if the total is unknown.
        """
        self.total, self.clock = total, clock
        self.done = self.lines = self.sentences = 0
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self.is_shown = is_shown and sys.stderr is not None
        self.is_shown &= self._is_terminal or total is not None
        self._started = self._shown_at = clock()
        self._first: tuple[float, int] | None = (
            None  # time and bytes; an earlier run may have done much
        )
        if self.is_shown and self._is_terminal and total is not None:
            self._show()

    def begin(self) -> None:
        """Measure the speed from now on."""
        self._started = self.clock()

    def add(self, lines: int, sentences: int, done: int = 0) -> None:
        """Add translated lines and sentences; `done` is the number of input bytes done so far."""
        self.done = done
        self._first = self._first or (self.clock(), done)
        self.lines += lines
        self.sentences += sentences
        interval = SHOWN_SECONDS if self._is_terminal else LOGGED_SECONDS
        if self.is_shown and self.clock() >= self._shown_at + interval:
            self._show()

    def close(self) -> None:
        """On a terminal, show the final state, and end the line."""
        has_line = self.lines or self.sentences or self.total is not None
        if self.is_shown and self._is_terminal and has_line:
            self._show("\n")

    def line(self) -> str:
        """Return the progress line."""
        now = self.clock()
        rate = self.sentences / max(now - self._started, 1e-3)
        count = f"{self.lines:,} lines" if self.lines else f"{self.sentences:,} sentences"
        line = f"{count}, {rate:,.1f} sentences/s"
        if self.total is None:
            return line
        share = min(1.0, self.done / self.total) if self.total else 1.0
        line = f"[{'#' * int(share * BAR_CELLS):<{BAR_CELLS}}] {share:4.0%}  {line}"
        if self._first and self.done > self._first[1]:
            first_time, first_done = self._first
            bytes_left = max(0, self.total - self.done)
            seconds_left = bytes_left * (now - first_time) / (self.done - first_done)
            line += f", {_duration(seconds_left)} left"
        return line

    def _show(self, end: str = "") -> None:
        self._shown_at = self.clock()
        if self._is_terminal:
            print(f"\r{self.line()}\x1b[K", end=end, file=sys.stderr, flush=True)
        else:
            print_line(self.line())


def _duration(seconds: float) -> str:
    """Format a duration as h:mm:ss.

    >>> _duration(59.6), _duration(3_725)
    ('0:01:00', '1:02:05')
    """
    minutes, seconds_of_minute = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds_of_minute:02}"
