"""`attendant translate`: standard input line by line, or a file as one document, to standard output.

The structure of a file (Markdown, subtitles, HTML) is kept; lines of standard input are independent. With
--out, a file or folder of any size is translated line by line. If that is interrupted, the same command
continues it.
"""

import argparse
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import get_args

from service.bulk.command import add_options, check_options, translate_files
from service.bulk.errors import BulkError
from service.bulk.progress import Progress
from service.bulk.pump import Translate, translated
from service.bulk.reader import Window, lines_of
from service.bulk.records import Lines
from service.engine.types import DeviceChoice
from service.errors import (
    AttendantError,
    MissingParameterError,
    UnsupportedLanguageError,
    quoted,
)
from service.logs import one_line, print_line
from service.models.bundle import DEFAULT_BUNDLE, PrecisionChoice
from service.python_api import Translator
from service.text.run import Format
from service.text.segmenter import Splitting
from service.translation.types import Done, Event

MAX_IN_FLIGHT = 64
"""Lines that are translated concurrently."""
MAX_DOCUMENT_BYTES = 1 << 23
"""Maximum size of a file that is translated as one document: its markup is read in one piece of work."""


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
            closing(Progress(is_shown=not sys.stdout.isatty())) as progress,
        ):
            names = ("source", "target", "format", "splitting", "beam_size")
            asked = {name: getattr(options, name) for name in names}
            if options.file is None:
                return _translate_lines(
                    lambda texts: translator.translate(texts, **asked), progress
                )
            events = translator.stream(_document(options.file), **asked)
            return _write_document(events, progress)
    except BrokenPipeError:
        # redirected, so that the interpreter's flush at exit does not fail, too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        if options.out is not None:
            print_line("\nstopped: the same command continues")
        return 130
    except (AttendantError, BulkError, OSError, ValueError) as error:
        print_line(one_line(f"error: {_explained(error, options.bundle)}"))
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
        "sentences: nowhere else; none: each text is one sentence (default all; for html, sentences). Line "
        "breaks within a sentence become spaces.",
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


def _translate_lines(translate: Translate, progress: Progress) -> int:
    """Write a line of output for each line of input; return the exit status."""
    status = 0
    # not sys.stdin, and never closed: both would wait for the lock of a reader that waits for a line
    file = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
    lines = lines_of("standard input", file)
    single = (Window(0, number, [line], 0) for number, line in enumerate(_decoded(lines), 1))
    work = translated(single, [Lines()], translate, requests=MAX_IN_FLIGHT, ahead=MAX_IN_FLIGHT)
    with closing(work):
        for done in work:
            for number, problem in done.problems.items():
                print_line(one_line(f"line {number} is not fully translated: {problem}"))
                status = 1
            _write("".join(done.lines))
            progress.add(len(done.lines), done.sentences)
    return status


def _write_document(events: Iterable[Event], progress: Progress) -> int:
    """Write the translation of a document; return the exit status."""
    status = 0
    for event in events:
        if isinstance(event, Done):
            _write(event.translations[0].text)
            continue
        progress.add(0, 1)
        if problem := event.translated.problem:
            print_line(one_line(f"{quoted(event.source)} is not fully translated: {problem}"))
            status = 1
    return status


def _decoded(lines: Iterable[bytes]) -> Iterator[str]:
    """Decode lines.

    Raises:
        ValueError: a line is not UTF-8; the message has its number.
    """
    for number, line in enumerate(lines, 1):
        yield _text(line, f"line {number}")


def _document(path: Path) -> str:
    """Read a file as it is, with its line breaks.

    Raises:
        ValueError: it is too large or not UTF-8.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        content = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise ValueError(
            f"{path} has more than {MAX_DOCUMENT_BYTES} bytes: --out OUT translates it line by line"
        )
    return _text(content, str(path))


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


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
