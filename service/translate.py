"""`attendant translate`: standard input line by line, or a file as one document, to standard output.

The structure of a file (Markdown, subtitles, HTML) is kept; lines of standard input are independent. With
--out, a file or folder of any size is translated line by line. If that is interrupted, the same command
continues it.
"""

import argparse
import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from queue import Queue
from typing import get_args

from service.bulk.command import add_options, check_options, translate_files
from service.bulk.errors import BulkError
from service.engine.types import DeviceChoice
from service.errors import (
    AttendantError,
    MissingParameterError,
    TextTooLongError,
    UnsupportedLanguageError,
)
from service.models.bundle import DEFAULT_BUNDLE, PrecisionChoice
from service.python_api import Translator
from service.text.run import Format
from service.text.segmenter import Splitting
from service.translation.types import Done, Translation

MAX_IN_FLIGHT = 64
"""Lines that are translated concurrently."""
PROGRESS_SECONDS = 0.2
Line = tuple[str, str]
"""A translated line and "", or the untranslated line and the reason."""


def main(arguments: Sequence[str]) -> int:
    """Translate; return the exit status."""
    options = _parse(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="")
    try:
        if options.out is not None:
            return translate_files(options)
        if sys.stdout is None:
            raise OSError("standard output is closed")
        if options.file is None and sys.stdin is None:
            raise OSError("standard input is closed; name a file")
        if options.file is not None and options.file.is_dir():
            raise IsADirectoryError(
                f"{options.file} is a folder: --out OUT translates it line by line"
            )
        with (
            Translator.load(
                options.bundle, device=options.device, precision=options.precision
            ) as translator,
            closing(_Progress()) as progress,
        ):
            names = ("source", "target", "format", "splitting", "beam_size")
            asked = {name: getattr(options, name) for name in names}
            if options.file is None:
                return _translate_lines(partial(translator.translate, **asked), progress)
            text = _text(options.file.read_bytes(), str(options.file))  # with its line breaks
            for event in translator.stream(text, **asked):
                if isinstance(event, Done):
                    _write(event.translations[0].text)
                else:
                    progress.add("sentences")
            return 0
    except BrokenPipeError:
        # redirected, so that the interpreter's flush at exit does not fail, too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        if options.out is not None:
            print("\nstopped: the same command continues", file=sys.stderr)
        return 130
    except (AttendantError, BulkError, OSError, ValueError) as error:
        print(f"error: {_explained(error, options.bundle)}", file=sys.stderr)
        return 1


def _explained(error: Exception, bundle: Path) -> str:
    """Return the error's message in terms of the command line."""
    languages = f"attendant inspect {bundle} lists the languages of the model"
    if isinstance(error, UnsupportedLanguageError):
        return f"{error}; {languages}"
    if isinstance(error, MissingParameterError):
        return f"--target is missing; {languages}"
    if isinstance(error, OSError) and error.strerror is not None:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror}"
    return str(error)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="attendant translate", description=__doc__)
    add = parser.add_argument
    add("file", type=Path, nargs="?", help="UTF-8 file; without it, lines of standard input")
    add(
        "--bundle",
        type=Path,
        default=DEFAULT_BUNDLE,
        help="the model's folder; default: the bundled model",
    )
    add("--source", metavar="CODE", help="source language; default: the only one, or detected")
    add("--target", metavar="CODE", help="target language; required if there are several")
    add(
        "--format",
        choices=get_args(Format),
        default="text",
        help="format of the input (default text)",
    )
    add(
        "--splitting",
        choices=get_args(Splitting),
        help="where sentences end, besides at their marks: all: at line breaks; paragraphs: at blank lines; "
        "sentences: nowhere else; none: each text is one sentence (default all; for html, sentences)",
    )
    add("--beam-size", type=int, metavar="N", help="number of beams; default: the bundle's")
    add("--device", choices=get_args(DeviceChoice), default="auto", help="device (default auto)")
    add(
        "--precision",
        choices=get_args(PrecisionChoice),
        default="auto",
        help="precision of the model (default auto)",
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    check_options(parser, options)
    return options


def _translate_lines(translate: "partial[Translation]", progress: "_Progress") -> int:
    """Write a line of output for each line of input; return the exit status."""
    status = 0
    # not sys.stdin, and never closed: both would wait for the lock of a reader that waits for a line
    lines = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
    results = _in_order(_decoded(lines), partial(_translated_line, translate))
    for number, (line, problem) in enumerate(results, 1):
        if problem:
            print(f"line {number} is not translated: {problem}", file=sys.stderr)
            status = 1
        _write(line)
        progress.add("lines")
    return status


def _decoded(lines: Iterable[bytes]) -> Iterator[str]:
    """Decode lines.

    Raises:
        ValueError: a line is not UTF-8; the message has its number.
    """
    for number, line in enumerate(lines, 1):
        yield _text(line, f"line {number}")


def _text(content: bytes, name: str) -> str:
    """Decode UTF-8.

    Raises:
        ValueError: `content` is not UTF-8; the message has its name and the place.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"{error.reason} at byte {error.start + 1}"
        raise ValueError(f"{name} is not valid UTF-8: {place}") from None


def _translated_line(translate: "partial[Translation]", line: str) -> Line:
    text = line.removesuffix("\n")
    try:
        return translate(text).text + line[len(text) :], ""
    except TextTooLongError as error:
        return line, str(error)


def _in_order(lines: Iterable[str], translate: Callable[[str], Line]) -> Iterator[Line]:
    """Translate lines concurrently, and yield each as early as possible, even while no new line arrives."""
    pending: Queue[Future[Line] | None] = Queue(MAX_IN_FLIGHT)
    threads, is_over = ThreadPoolExecutor(MAX_IN_FLIGHT), threading.Event()

    def read() -> None:
        try:
            for line in lines:
                pending.put(threads.submit(translate, line))
        except BaseException as error:  # any error must reach the consumer, which waits for a line
            if is_over.is_set():  # no consumer is left
                return
            failed: Future[Line] = Future()
            failed.set_exception(error)
            pending.put(failed)
        pending.put(None)

    # a daemon, as it may wait for a line that never comes, and must not delay the end of the program
    threading.Thread(target=read, name="reader", daemon=True).start()
    try:
        while (future := pending.get()) is not None:
            yield future.result()
    finally:
        is_over.set()
        threads.shutdown(wait=False, cancel_futures=True)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


class _Progress:
    """Shows progress on standard error if that is a terminal and standard output is not."""

    def __init__(self) -> None:
        self.is_shown = sys.stderr.isatty() and not sys.stdout.isatty()
        self.count, self.unit = 0, ""
        self.started = self.shown_at = time.monotonic()

    def add(self, unit: str) -> None:
        """Count one more unit, such as "lines"."""
        self.count, self.unit = self.count + 1, unit
        if self.is_shown and time.monotonic() >= self.shown_at + PROGRESS_SECONDS:
            self._show()

    def close(self) -> None:
        """Show the final count."""
        if self.is_shown:
            self._show("\n")

    def _show(self, end: str = "") -> None:
        self.shown_at = time.monotonic()
        rate = self.count / max(self.shown_at - self.started, 1e-3)
        text = f"\r{self.count} {self.unit}, {rate:.1f} a second"
        print(text, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
