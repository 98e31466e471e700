"""A run reads, translates and writes files; a run that was killed is resumed where it stopped."""

import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from service.bulk.errors import BulkError
from service.bulk.files import File, Wanted, files_of, fingerprint
from service.bulk.journal import Journal, Place
from service.bulk.progress import Progress
from service.bulk.pump import Translate, TranslatedWindow, translated
from service.bulk.reader import Window, windows
from service.bulk.writer import Writer
from service.logs import one_line, print_line

CHECKPOINT_SECONDS = 2.0
"""Interval at which translations are written to disk."""


@dataclass(frozen=True, slots=True)
class Job:
    """Input, output and options of a run."""

    source: Path
    """A file or a folder."""
    out: Path
    wanted: Wanted

    @property
    def part(self) -> Path:
        """The name of the output until it is complete."""
        return self.out.with_name(f"{self.out.name}.part")

    @property
    def state(self) -> Path:
        """The name of the journal."""
        return self.out.with_name(f"{self.out.name}.state")


def run(job: Job, load: Callable[[], tuple[Translate, dict[str, Any]]]) -> int:
    """Start or resume a run.

    Args:
        job: input, output and options.
        load: loads the model; called once the files have been checked. Returns the translating function, and
            plain JSON with all options that affect translations: a run is only resumed with the same ones.

    Returns:
        The exit status: 0, or 1 if a line could not be translated.

    Raises:
        BulkError: the output exists already or belongs to another run, or the input cannot be read.
        AttendantError, OSError: translating or writing failed; everything written before is kept.
    """
    if os.path.lexists(job.out):
        raise BulkError(f"{job.out} exists already: delete it, or name another output")
    files, left_out = files_of(job.source, job.out, job.part, job.wanted)
    for path, reason in left_out.items():
        print_line(f"{one_line(str(path))} is skipped: {reason}")
    if job.part.exists() and not job.state.exists():
        raise BulkError(
            f"{job.part} exists already, but {job.state.name} is missing, so the run cannot be resumed: "
            "delete it, or name another output"
        )
    with ExitStack() as stack:
        progress = stack.enter_context(closing(Progress(sum(file.size for file in files))))
        translate, options = load()
        header = {"input": fingerprint(files), **asdict(job.wanted), **options}
        journal = stack.enter_context(closing(Journal(job.state, header)))
        _check_part(files, journal)
        progress.begin()
        _translate(files, journal, translate, progress)
        if os.path.lexists(job.out):
            raise BulkError(f"{job.out} was created during the run; the translation is {job.part}")
        job.part.rename(job.out)
        journal.remove()
        return 1 if journal.place.untranslated else 0


def _check_part(files: list[File], journal: Journal) -> None:
    """Check that the partial output has all files, and as many bytes, as the journal recorded.

    Raises:
        BulkError: it has fewer.
    """
    place = journal.place
    for file in files[: place.file]:
        if not file.part.exists():
            raise BulkError(
                f"{file.part} was written, but is missing: delete the rest and {journal.path} to start "
                "again"
            )
    if place.file < len(files) and place.size:
        part = files[place.file].part
        size = part.stat().st_size if part.exists() else 0
        if size < place.size:
            raise BulkError(
                f"{part} has {size} bytes, but {place.size} were written: delete it and {journal.path} "
                "to start again"
            )


def _translate(
    files: list[File], journal: Journal, translate: Translate, progress: Progress
) -> None:
    layouts = [file.layout for file in files]
    bytes_before = [sum(file.size for file in files[:index]) for index in range(len(files))]
    work = translated(_windows(files, journal.place), layouts, translate)
    with closing(work), closing(_Output(files, journal)) as output:
        for result in work:
            output.write(result)
            _report(files[result.window.file].source, result.problems)
            position = bytes_before[result.window.file] + result.window.position
            progress.add(len(result.lines), result.sentences, position)
        output.finish()


def _windows(files: Sequence[File], start: Place) -> Generator[Window]:
    for index in range(start.file, len(files)):
        yield from windows(files[index].source, index, start.lines if index == start.file else 0)


def _report(path: Path, problems: dict[int, str]) -> None:
    for number, problem in problems.items():
        print_line(one_line(f"{path}, line {number} is not fully translated: {problem}"))


class _Output:
    """Writes the output files one after another, and records the progress in the journal."""

    def __init__(self, files: Sequence[File], journal: Journal) -> None:
        self.files, self.journal, self.place = files, journal, journal.place
        self._writer: Writer | None = None
        self._saved_at = time.monotonic()

    def write(self, result: TranslatedWindow) -> None:
        """Write the next window."""
        writer = self._writer_of(result.window.file)
        writer.add(result.lines)
        self.place = replace(
            self.place,
            lines=result.window.first - 1 + len(result.lines),
            untranslated=self.place.untranslated + len(result.problems),
        )
        if time.monotonic() >= self._saved_at + CHECKPOINT_SECONDS:
            self._save()

    def finish(self) -> None:
        """Write everything to disk, and create the output of empty files."""
        self._writer_of(len(self.files) - 1)
        self._save()

    def close(self) -> None:
        """Close the current file without saving."""
        if self._writer is not None:
            self._writer.close()

    def _writer_of(self, file: int) -> Writer:
        """Finish the files before `file`, and return its writer."""
        while self._writer is None or self.place.file < file:
            if self._writer is not None:
                self._save()
                self._writer.close()
                self.place = replace(self.place, file=self.place.file + 1, lines=0, size=0)
            current = self.files[self.place.file]
            self._writer = Writer(current.part, self.place.size, current.suffix)
        return self._writer

    def _save(self) -> None:
        """Write to disk what was added, then the position."""
        assert self._writer is not None
        self._writer.flush()
        self.place = replace(self.place, size=self._writer.size)
        self.journal.note(self.place)
        self._saved_at = time.monotonic()
