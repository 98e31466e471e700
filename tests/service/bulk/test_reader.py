"""Files with any compression are read in windows of lines; errors name the line."""

import gzip
from pathlib import Path

import pytest

from service.bulk import reader
from service.bulk.compression import compressor
from service.bulk.errors import BulkError
from service.bulk.reader import windows

SUFFIXES = ["", ".gz", ".zst"]


def written(folder: Path, suffix: str, *parts: bytes) -> Path:
    """Write parts that are compressed separately, as in a run that was resumed."""
    path = folder / f"some.txt{suffix}"
    path.write_bytes(b"".join(map(compressor(suffix), parts)))
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_windows_have_every_line_once(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "WINDOW_LINES", 4)
    lines = [f"{number} ü\n" for number in range(10)] + ["no end"]
    content = "".join(lines).encode()
    path = written(tmp_path, suffix, content[:20], content[20:])
    found = list(windows(path, file=3))
    assert [line for window in found for line in window.lines] == lines
    assert [(window.file, window.first) for window in found] == [(3, 1), (3, 5), (3, 9)]
    assert found[-1].position == path.stat().st_size
    assert [window.lines for window in windows(path, skip=9)] == [lines[9:]]
    assert list(windows(path, skip=11)) == []


def test_windows_of_long_lines_are_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "WINDOW_BYTES", 100)
    path = written(tmp_path, "", (b"x" * 49 + b"\n") * 5)
    assert [len(window.lines) for window in windows(path)] == [2, 2, 1]


def test_only_line_feeds_separate_lines(tmp_path: Path) -> None:
    line = "one\rtwo\u2028three\x0bfour\x85five\n"
    [window] = windows(written(tmp_path, "", line.encode()))
    assert window.lines == [line]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_lines_have_a_limit_even_in_small_files(tmp_path: Path, suffix: str) -> None:
    longest = b"x" * (reader.MAX_LINE_BYTES - 1) + b"\n"
    path = written(tmp_path, suffix, b"short\n" + longest + b"x" + longest)
    if suffix:
        assert path.stat().st_size < 20_000
    with pytest.raises(BulkError, match=r"some.txt.*, line 3 has more than 1048576 bytes"):
        list(windows(path))


def test_invalid_utf8_is_reported_with_its_place(tmp_path: Path) -> None:
    path = written(tmp_path, "", b"fine\nf\xc3\xbcr\nM\xfcnchen\n")
    with pytest.raises(BulkError, match="line 3 is not UTF-8: byte 2 is 0xfc"):
        list(windows(path))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_damaged_file_is_reported_with_the_place(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, suffix, b"one\ntwo\n", b"three\n" * 100)
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(BulkError, match="is damaged after line "):
        list(windows(path))
    path.write_bytes(b"not compressed")
    with pytest.raises(BulkError, match="is damaged after line 0: "):
        list(windows(path))


def test_a_file_that_has_become_shorter_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, "", b"one\n")
    with pytest.raises(BulkError, match="has 1 lines, but 2 were translated already"):
        list(windows(path, skip=2))


def test_compressed_output_can_be_read_by_other_tools(tmp_path: Path) -> None:
    path = written(tmp_path, ".gz", b"one\n", b"two\n")
    assert gzip.decompress(path.read_bytes()) == b"one\ntwo\n"


def test_the_first_windows_are_small_so_that_progress_is_seen_soon(tmp_path: Path) -> None:
    path = written(tmp_path, "", b"x\n" * 4000)
    assert [len(window.lines) for window in windows(path)] == [
        *(64, 128, 256, 512, 1024, 1024),
        992,
    ]
