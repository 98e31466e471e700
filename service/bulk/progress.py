"""A progress line on a terminal: what is done, the speed and, if the total is known, the time left."""

import sys
import time
from collections.abc import Callable

BAR_CELLS = 20
SHOWN_SECONDS = 0.5


class Progress:
    """A progress line on standard error, shown only if that is a terminal."""

    def __init__(
        self,
        total: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        is_shown: bool = True,
    ) -> None:
        """Start at zero of `total` input bytes, if that is known; show nothing unless `is_shown`."""
        self.total, self.clock = total, clock
        self.done = self.lines = self.sentences = 0
        self.is_shown = is_shown and sys.stderr is not None and sys.stderr.isatty()
        self._started = self._shown_at = clock()
        self._first: tuple[float, int] | None = (
            None  # time and bytes; an earlier run may have done much
        )

    def add(self, lines: int, sentences: int, done: int = 0) -> None:
        """Add translated lines and sentences; `done` is the number of input bytes done so far."""
        self.done = done
        self._first = self._first or (self.clock(), done)
        self.lines += lines
        self.sentences += sentences
        if self.is_shown and self.clock() >= self._shown_at + SHOWN_SECONDS:
            self._show()

    def close(self) -> None:
        """Show the final state, and end the line."""
        if self.is_shown and (self.lines or self.sentences):
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
        print(f"\r{self.line()}\x1b[K", end=end, file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    """Format a duration as h:mm:ss.

    >>> _duration(59.6), _duration(3_725)
    ('0:01:00', '1:02:05')
    """
    minutes, seconds_of_minute = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds_of_minute:02}"
