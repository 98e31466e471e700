"""Text files: errors name the line, and any line can be read by its number."""

from pathlib import Path

import numpy as np
import pytest

from model.data.text import (
    DataError,
    TextFile,
    find_corpora,
    iterate_lines,
    read_aligned,
    read_lines,
    written_whole,
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\n\nthree\n", r"train\.de:2: the line is empty; python -m model\.clean "),
        (b"one\n \t\n", r"train\.de:2: the line is empty"),
        (b"one\ntw\xff\n", r"train\.de:2: not UTF-8: invalid start byte at byte 2"),
        (b"", r"train\.de: is empty"),
        (None, r"train\.de: cannot be read: No such file"),
    ],
)
def test_invalid_lines_are_errors_that_name_the_line(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "train.de").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_lines(tmp_path / "train.de")


def test_lines_end_at_line_feeds_only_and_can_be_read_by_number(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes("a\u2028b\r\nc\x0cd\nÄ lást".encode())
    assert read_lines(path) == ["a\u2028b", "c\x0cd", "Ä lást"]
    starts = [start for _, start in iterate_lines(path)]
    text = TextFile(path, np.array([*starts, path.stat().st_size]))
    assert [text[number] for number in (2, 0, 1)] == ["Ä lást", "a\u2028b", "c\x0cd"]


def test_files_of_different_lengths_are_refused(tmp_path: Path) -> None:
    (tmp_path / "train.de").write_text("eins\nzwei\n")
    (tmp_path / "train.en").write_text("one\n")
    with pytest.raises(DataError, match=r"train\.en: has 1 lines, but .*train\.de has 2"):
        read_aligned(tmp_path, "train", ("de", "en"))


def test_corpora_are_found_by_their_names(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in (
        "train.de",
        "train.en",
        "train.news.v2.de",
        "train.news.v2.fr",
        "train.x.de",
        "y.de",
    ):
        (tmp_path / name).write_text("x\n")
    found = find_corpora(tmp_path, ("de", "en", "fr"))
    assert {name: sorted(files) for name, files in found.items()} == {
        "": ["de", "en"],
        "news.v2": ["de", "fr"],
    }
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / 'train.x.de'}: has no file for another language and is ignored"
    ]
    with pytest.raises(DataError, match=r"no training text; train\.it and train\.es are needed"):
        find_corpora(tmp_path, ("it", "es"))


def test_files_are_replaced_only_once_they_are_complete(tmp_path: Path) -> None:
    targets = [tmp_path / "train.de", tmp_path / "train.en", tmp_path / "train.fr"]
    for target in targets:
        target.write_text("old\n")
    with pytest.raises(UnicodeEncodeError), written_whole(targets) as files:
        files[0].write("half\n\ud800")
    assert [target.read_text() for target in targets] == ["old\n"] * 3
    with written_whole(targets) as files:
        files[0].write("eins\n")
        files[1].write("a\r\u2028b\n")
        assert targets[0].read_text() == "old\n"
    assert targets[0].read_bytes() == b"eins\n"
    assert targets[1].read_bytes() == "a\r\u2028b\n".encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.de", "train.en"]
