"""The progress of a run, in a file beside its output, from which the same command resumes it.

Each line is a JSON object. The first one identifies the run, the others are the positions that it reached.
The last complete line counts.
"""

import fcntl
import json
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from service.bulk.disk import append
from service.bulk.errors import BulkError

_BEGINNING = b'{"input": '
"""The first bytes of every journal; a file that begins otherwise is not overwritten."""


@dataclass(frozen=True, slots=True)
class Place:
    """The position that a run has reached."""

    file: int = 0
    """Index of the file that is being translated."""
    lines: int = 0
    """Lines of this file that are written."""
    size: int = 0
    """Bytes of these lines in the output."""
    untranslated: int = 0
    """Lines of all files that could not be translated."""


class Journal:
    """The journal of one run, locked by one process at a time."""

    def __init__(self, path: Path, run: dict[str, Any]) -> None:
        """Start a journal for `run`, or resume it; `run` is plain JSON that begins with `input`.

        A journal without positions is started again, whatever run it belongs to.

        Raises:
            BulkError: it belongs to another run, is not a journal, or is locked by another process.
            OSError: it cannot be written.
        """
        self.path, self.place = path, Place()
        self._file = FileIO(path, "a+")
        try:
            self._lock()
            self._read(run)
        except BaseException:
            self._file.close()
            raise

    def note(self, place: Place) -> None:
        """Record the position. Everything up to it must already be on disk.

        Raises:
            BulkError: the disk is full, or fails.
        """
        self._append(asdict(place))
        self.place = place

    def close(self) -> None:
        """Close and unlock the journal."""
        self._file.close()

    def remove(self) -> None:
        """Delete the journal of a completed run."""
        self.path.unlink()
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BulkError(f"{self.path} is in use: the same command is running") from None

    def _read(self, run: dict[str, Any]) -> None:
        self._file.seek(0)
        content = self._file.read()
        if not (content.startswith(_BEGINNING) or _BEGINNING.startswith(content)):
            raise BulkError(
                f"{self.path} is not the state of a run: move it, or name another output"
            )
        complete_lines, _, _ = content.rpartition(b"\n")
        # the rest is an incomplete line
        self._file.truncate(len(complete_lines) + 1 if complete_lines else 0)
        first, *places = complete_lines.splitlines() or [b""]
        if not places:
            self._file.truncate(0)
            self._append(run)
            return
        try:
            started, place = json.loads(first), Place(**json.loads(places[-1]))
        except (ValueError, TypeError):  # not JSON, or no place
            raise BulkError(
                f"{self.path} is damaged: delete it and what was written, or name another output"
            ) from None
        for name in sorted(started.keys() | run.keys()):
            if started.get(name) != run.get(name):
                raise BulkError(
                    f"{self.path} belongs to another run, in which {name} was {started.get(name)}, not "
                    f"{run.get(name)}: delete it and what was written, or name another output"
                )
        self.place = place

    def _append(self, content: dict[str, Any]) -> None:
        append(self._file, json.dumps(content).encode() + b"\n")
