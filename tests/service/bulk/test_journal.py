"""A journal is read up to its last complete line; that of another run is refused."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from service.bulk.errors import BulkError
from service.bulk.journal import Journal, Place

RUN = {"input": "abc", "target": "en"}


def place_in(path: Path, run: dict[str, Any] = RUN, *then: Place) -> Place:
    """Open a journal, record more positions, and return the one that it had."""
    with closing(Journal(path, run)) as journal:
        found = journal.place
        for place in then:
            journal.note(place)
    return found


def test_the_last_complete_line_counts(tmp_path: Path) -> None:
    path = tmp_path / "out.state"
    assert place_in(path, RUN, Place(0, 3, 30, 1), Place(0, 7, 70, 1)) == Place()
    with path.open("ab") as file:
        file.write(b'{"file": 0, "li')  # the power failed
    assert place_in(path, RUN, Place(1, 2, 20, 1)) == Place(0, 7, 70, 1)
    assert place_in(path) == Place(1, 2, 20, 1)


def test_the_journal_of_another_run_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "out.state"
    place_in(path, RUN, Place(0, 1, 2, 0))
    with pytest.raises(BulkError, match="in which target was en, not fr"):
        place_in(path, {**RUN, "target": "fr"})
    assert place_in(path) == Place(0, 1, 2, 0)


def test_another_run_may_begin_if_nothing_was_written(tmp_path: Path) -> None:
    path, other = tmp_path / "out.state", {**RUN, "target": "fr"}
    place_in(path)
    assert place_in(path, other, Place(0, 1, 2, 0)) == Place()
    with pytest.raises(BulkError, match="in which target was fr, not en"):
        place_in(path)


@pytest.mark.parametrize("line", ["\0\0", "[1]", '{"file": 0, "line": 3}', "{"])
def test_a_damaged_journal_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "out.state"
    place_in(path, RUN, Place(0, 1, 2, 0))
    with path.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(BulkError, match=r"out\.state is damaged: delete it"):
        place_in(path)


@pytest.mark.parametrize("content", ["one line of a text", "a\nb\n", "{}\n", '{"in": 1}\n'])
def test_a_file_that_is_not_a_journal_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "out.state"
    path.write_text(content)
    with pytest.raises(BulkError, match="is not the state of a run"):
        place_in(path)
    assert path.read_text() == content


@pytest.mark.parametrize("content", ["", '{"inp', '{"input": "ab'])
def test_a_journal_with_a_truncated_first_line_is_restarted(tmp_path: Path, content: str) -> None:
    path = tmp_path / "out.state"
    path.write_text(content)
    assert place_in(path, RUN, Place(0, 1, 2, 0)) == Place()
    assert place_in(path) == Place(0, 1, 2, 0)


def test_two_processes_cannot_write_the_same_output(tmp_path: Path) -> None:
    path = tmp_path / "out.state"
    journal = Journal(path, RUN)
    with pytest.raises(BulkError, match="is in use: the same command is running"):
        place_in(path)
    journal.remove()
    assert not path.exists()
    assert place_in(path) == Place()
