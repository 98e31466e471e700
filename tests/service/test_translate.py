"""`attendant translate` with lines of standard input, and with a file as one document."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from service import translate as translate_module
from service.translate import main
from tests.conftest import TINY_BUNDLE

OPTIONS = ["--bundle", str(TINY_BUNDLE)]
COMMAND = [sys.executable, "-m", "attendant", "translate", *OPTIONS]
TO_ENGLISH = ["--source", "de", "--target", "en"]
DOG, WOMAN = "Der alte Hund schläft.", "Die alte Frau wartet."
DOG_IN_ENGLISH, WOMAN_IN_ENGLISH = "The old dog sleeps.", "The old woman waits."
Command = Callable[..., tuple[int, str, str]]
"""Takes standard input and options; returns the exit status, standard output and standard error."""


@pytest.fixture
def translate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Command:
    """Run the command in this process."""

    def call(given: bytes, *options: str) -> tuple[int, str, str]:
        path = tmp_path / "standard input"
        path.write_bytes(given)
        with path.open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            status = main([*OPTIONS, *options])
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return call


def test_lines_are_translated_in_order(translate: Command) -> None:
    lines = [DOG, "", WOMAN, "42", f"  {DOG}\r", "\u2028"] * 40 + [WOMAN]
    english = [DOG_IN_ENGLISH, "", WOMAN_IN_ENGLISH, "42", f"  {DOG_IN_ENGLISH}\r", "\u2028"] * 40
    expected = "\n".join([*english, WOMAN_IN_ENGLISH])
    assert translate("\n".join(lines).encode(), *TO_ENGLISH) == (0, expected, "")


def test_a_line_is_translated_before_the_next_one_arrives() -> None:
    with subprocess.Popen(
        [*COMMAND, "--target", "en"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for german, english in ((DOG, DOG_IN_ENGLISH), (WOMAN, WOMAN_IN_ENGLISH)):
            process.stdin.write(f"{german}\n".encode())
            process.stdin.flush()
            assert process.stdout.readline().decode() == f"{english}\n"
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_file_is_translated_as_one_document(translate: Command, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(f"<p>{DOG}\r\n<!-- {DOG}\n--></p>\n".encode())
    _, out, _ = translate(b"", *TO_ENGLISH, "--format", "html", str(page))
    assert out == f"<p>{DOG_IN_ENGLISH}\r\n<!-- {DOG}\n--></p>\n"


def test_wrapped_lines_of_a_file_are_joined(translate: Command, tmp_path: Path) -> None:
    page, note = tmp_path / "page.html", tmp_path / "note.md"
    page.write_text("<p>Der alte Hund\nschläft.</p>\n", "utf-8")
    _, out, _ = translate(b"", *TO_ENGLISH, "--format", "html", str(page))
    assert out == f"<p>{DOG_IN_ENGLISH}</p>\n"
    note.write_text(f"Der alte Hund\nschläft.\n\n{WOMAN}\n", "utf-8")
    _, out, _ = translate(b"", *TO_ENGLISH, "--splitting", "paragraphs", str(note))
    assert out == f"{DOG_IN_ENGLISH}\n\n{WOMAN_IN_ENGLISH}\n"
    _, out, _ = translate(b"", *TO_ENGLISH, str(note))
    assert out.count("\n") == 4


def test_a_line_that_is_too_long_is_copied_and_reported(
    translate: Command,
) -> None:
    long = "Hund " * 500
    status, out, err = translate(f"{DOG}\n{long}\n{WOMAN}\n".encode(), *TO_ENGLISH)
    assert (status, out) == (1, f"{DOG_IN_ENGLISH}\n{long}\n{WOMAN_IN_ENGLISH}\n")
    [line] = err.splitlines()
    assert line.startswith("line 2 is not fully translated: Invalid request: a sentence of ")


def test_reports_are_no_part_of_the_translation_if_standard_error_is_closed(
    translate: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    long = "Hund " * 500
    assert translate(f"{DOG}\n{long}\n".encode(), *TO_ENGLISH)[:2] == (
        1,
        f"{DOG_IN_ENGLISH}\n{long}\n",
    )
    page = tmp_path / "page.txt"
    page.write_text(long, "utf-8")
    assert translate(b"", *TO_ENGLISH, str(page))[:2] == (1, "")


def test_branches_that_are_not_translated_are_reported(translate: Command, tmp_path: Path) -> None:
    left = "{n, plural, one {Hund} other {Mann}}"
    told = f'is not fully translated: the branches of "{left}" are not translated'
    page = tmp_path / "page.txt"
    page.write_text(f"{DOG}\nDer alte {left} #1 schläft.\n", "utf-8")
    status, out, err = translate(b"", *TO_ENGLISH, str(page))
    assert (status, len(err.splitlines())) == (1, 1)
    assert (left in out, told in err) == (True, True)
    status, out, err = translate(page.read_bytes(), *TO_ENGLISH)
    assert (status, out.splitlines()[0]) == (1, DOG_IN_ENGLISH)
    assert (left in out, f"line 2 {told}" in err) == (True, True)


@pytest.mark.parametrize(
    ("options", "given", "said"),
    [
        (
            ["--source", "de", "--target", "fr"],
            DOG.encode(),
            f"error: fr is not supported, only de, en; attendant inspect {TINY_BUNDLE} lists the languages",
        ),
        ([], DOG.encode(), "error: --target is missing; attendant inspect "),
        (
            TO_ENGLISH,
            b"\n\xff\n",
            "error: line 2 is not valid UTF-8: invalid start byte at byte 1",
        ),
        ([*TO_ENGLISH, "none.txt"], b"", "error: none.txt: No such file"),
        (
            [*TO_ENGLISH, "service/web/page.png"],
            b"",
            "error: service/web/page.png is not valid UTF-8: invalid start byte at byte 1",
        ),
        (["--bundle", "tests"], b"", "error: tests is not a bundle"),
    ],
)
def test_errors_are_one_line(
    translate: Command, options: list[str], given: bytes, said: str
) -> None:
    status, _, err = translate(given, *options)
    assert status == 1
    [line] = err.splitlines()
    assert line.startswith(said)


@pytest.mark.parametrize(
    ("redirection", "said"),
    [
        ("<&-", b"error: standard input is closed; name a file\n"),
        pytest.param(
            ">/dev/full",
            b"error: No space left on device\n",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it"),
        ),
    ],
)
def test_closed_streams_are_reported(redirection: str, said: bytes) -> None:
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", *COMMAND, *TO_ENGLISH]
    done = subprocess.run(shell, input=DOG.encode(), stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (1, said)


def test_an_endless_line_ends_the_command() -> None:
    with Path("/dev/zero").open("rb") as zeros:
        done = subprocess.run(
            [*COMMAND, *TO_ENGLISH], stdin=zeros, stderr=subprocess.PIPE, timeout=60
        )
    said = b"error: standard input, line 1 has more than 1048576 bytes, which is the limit\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_an_endless_file_ends_the_command(
    translate: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translate_module, "MAX_DOCUMENT_BYTES", 1000)
    _, _, err = translate(b"", *TO_ENGLISH, "/dev/zero")
    assert err == (
        "error: /dev/zero has more than 1000 bytes: --out OUT translates it line by line\n"
    )


def test_an_error_is_reported_before_further_lines_arrive() -> None:
    with subprocess.Popen(
        [*COMMAND, "--target", "fr"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(f"{DOG}\n".encode())
        process.stdin.flush()  # and left open
        assert process.wait(60) == 1
        assert process.stderr.read().startswith(b"error: fr is not supported, only ")


def test_a_closed_output_pipe_ends_the_command_quietly() -> None:
    with subprocess.Popen(
        [*COMMAND, *TO_ENGLISH],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, told = process.communicate(f"{DOG}\n".encode() * 100, timeout=30)
    assert (process.returncode, told) == (1, b"")


def test_progress_is_shown_on_a_terminal() -> None:
    terminal, side = pty.openpty()
    try:
        given = f"{DOG}\n{WOMAN}\n".encode()
        done = subprocess.run(
            [*COMMAND, *TO_ENGLISH], input=given, stdout=subprocess.PIPE, stderr=side, timeout=60
        )
        shown = os.read(terminal, 1000).decode()
    finally:
        os.close(side)
        os.close(terminal)
    assert done.stdout.decode() == f"{DOG_IN_ENGLISH}\n{WOMAN_IN_ENGLISH}\n"
    assert "\r2 lines, " in shown
    assert shown.endswith(" sentences/s\x1b[K\r\n")
