"""What a run has done so far, beside its output: whoever gives the same command goes on from there.

One JSON object a line: what the run is, then each place that it has reached. The last whole line counts.
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
"""Of every journal; a file that begins otherwise is somebody's own."""


@dataclass(frozen=True, slots=True)
class Place:
    """How far a run has come."""

    file: int = 0
    """The number of the file that is being translated."""
    lines: int = 0
    """Of it, that are written."""
    size: int = 0
    """Bytes that they take."""
    untranslated: int = 0
    """Lines of all files that could not be translated."""


class Journal:
    """Of one run; held by one process at a time."""

    def __init__(self, path: Path, run: dict[str, Any]) -> None:
        """Begin a journal for `run`, or go on with it; `run` is plain JSON, its `input` first.

        One in which nothing was noted yet is begun anew, whatever run it was of.

        Raises:
            BulkError: it is that of another run, or no journal, or another process has it.
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
        """Note how far it has come; what leads there must be on the disk.

        Raises:
            BulkError: there is no room for it.
        """
        self._append(asdict(place))
        self.place = place

    def close(self) -> None:
        """Leave it to another process."""
        self._file.close()

    def remove(self) -> None:
        """The run is done."""
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
        whole, _, _ = content.rpartition(b"\n")
        self._file.truncate(len(whole) + 1 if whole else 0)  # the rest was cut short
        first, *places = whole.splitlines() or [b""]
        if not places:
            self._file.truncate(0)
            self._append(run)
            return
        begun = json.loads(first)
        for name in sorted(begun.keys() | run.keys()):
            if begun.get(name) != run.get(name):
                raise BulkError(
                    f"{self.path} is of another run, whose {name} was {begun.get(name)} and not "
                    f"{run.get(name)}: delete it and what was written, or name another output"
                )
        self.place = Place(**json.loads(places[-1]))

    def _append(self, content: dict[str, Any]) -> None:
        append(self._file, json.dumps(content).encode() + b"\n")
