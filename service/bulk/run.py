"""A run: files are read, translated and written; one that was killed goes on where it was."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from service.bulk.errors import BulkError
from service.bulk.files import File, Wanted, files_of, fingerprint
from service.bulk.journal import Journal, Place
from service.bulk.progress import ProgressBar
from service.bulk.pump import Done, Translate, translated
from service.bulk.reader import Window, windows
from service.bulk.writer import Writer

CHECKPOINT_SECONDS = 2.0
"""Between two times at which what is translated is put on the disk."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is translated, and where it goes."""

    source: Path
    """A file or a folder."""
    out: Path
    wanted: Wanted

    @property
    def part(self) -> Path:
        """What the output is called until all of it is there."""
        return self.out.with_name(f"{self.out.name}.part")

    @property
    def state(self) -> Path:
        """The journal."""
        return self.out.with_name(f"{self.out.name}.state")


def run(job: Job, load: Callable[[], tuple[Translate, dict[str, Any]]]) -> int:
    """Translate all of it, or the rest; returns the exit status: 1 where a line could not be translated.

    Args:
        job: of which files.
        load: the model, once it is clear that the run can begin, and all that its translations depend on, as
            plain JSON: a run that was killed goes on with the same only.

    Raises:
        BulkError: the output is there already or of another run, or the input cannot be read.
        AttendantError, OSError: it could not be translated or written; what was written is kept.
    """
    if job.out.exists():
        raise BulkError(f"{job.out} exists already: delete it, or name another output")
    files, left_out = files_of(job.source, job.out, job.part, job.wanted)
    for path in left_out:
        print(f"{path} is left out: it is no .txt, .tsv or .jsonl", file=sys.stderr)
    if job.part.exists() and not job.state.exists():
        raise BulkError(
            f"{job.part} exists already, and no {job.state.name} says of which run: delete it, or name "
            "another output"
        )
    translate, options = load()
    header = {"input": fingerprint(files), **asdict(job.wanted), **options}
    with closing(Journal(job.state, header)) as journal:
        _check_part(files, journal)
        _translate(files, journal, translate)
        if job.out.exists():
            raise BulkError(f"{job.out} has come to exist meanwhile; the translation is {job.part}")
        job.part.rename(job.out)
        journal.remove()
        return 1 if journal.place.untranslated else 0


def _check_part(files: list[File], journal: Journal) -> None:
    """Refuse to go on behind what is not there.

    Raises:
        BulkError: less was kept than was written.
    """
    place = journal.place
    if place.file < len(files) and place.size:
        part = files[place.file].part
        size = part.stat().st_size if part.exists() else 0
        if size < place.size:
            raise BulkError(
                f"{part} has {size} bytes, and {place.size} were written: delete it and {journal.path} "
                "to begin anew"
            )


def _translate(files: list[File], journal: Journal, translate: Translate) -> None:
    layouts = [file.layout for file in files]
    before = [sum(file.size for file in files[:at]) for at in range(len(files))]
    bar = ProgressBar(sum(file.size for file in files))
    work = translated(_windows(files, journal.place), layouts, translate)
    with closing(bar), closing(work), closing(_Output(files, journal)) as output:
        for done in work:
            output.write(done)
            _tell(files[done.window.file].source, done.problems)
            position = before[done.window.file] + done.window.position
            bar.add(position, len(done.lines), done.sentences)
        output.finish()


def _windows(files: Sequence[File], begun: Place) -> Iterator[Window]:
    for at in range(begun.file, len(files)):
        yield from windows(files[at].source, at, begun.lines if at == begun.file else 0)


def _tell(path: Path, problems: dict[int, str]) -> None:
    for number, problem in problems.items():
        print(f"{path}, line {number} is not translated: {problem}", file=sys.stderr)


class _Output:
    """The files that are written, one after another, and the journal of that."""

    def __init__(self, files: Sequence[File], journal: Journal) -> None:
        self.files, self.journal, self.place = files, journal, journal.place
        self._writer: Writer | None = None
        self._noted_at = time.monotonic()

    def write(self, done: Done) -> None:
        """The next window."""
        writer = self._at(done.window.file)
        writer.add(done.lines)
        self.place = replace(
            self.place,
            lines=done.window.first - 1 + len(done.lines),
            untranslated=self.place.untranslated + len(done.problems),
        )
        if time.monotonic() >= self._noted_at + CHECKPOINT_SECONDS:
            self._note()

    def finish(self) -> None:
        """All is written; files without a line are made."""
        self._at(len(self.files) - 1)
        self._note()

    def close(self) -> None:
        """Stop where it is."""
        if self._writer is not None:
            self._writer.close()

    def _at(self, file: int) -> Writer:
        """What writes that file; those before it are finished."""
        while self._writer is None or self.place.file < file:
            if self._writer is not None:
                self._note()
                self._writer.close()
                self.place = replace(self.place, file=self.place.file + 1, lines=0, size=0)
            current = self.files[self.place.file]
            self._writer = Writer(current.part, self.place.size, current.suffix)
        return self._writer

    def _note(self) -> None:
        assert self._writer is not None
        self._writer.flush()
        self.place = replace(self.place, size=self._writer.size)
        self.journal.note(self.place)
        self._noted_at = time.monotonic()
