"""Segments and their translations in a memory, and the table that they are read from."""

from pathlib import Path

import pytest

from service.errors import BundleError
from service.text.languages import profile
from service.text.memory import EMPTY, Entry, Memory

ENTRIES = [
    Entry("cheers", "prost"),
    Entry("Monday", "Montag"),
    Entry("street", "Straße"),
    Entry("don't worry", "keine Sorge"),
    Entry("e.g.", "z. B."),
    Entry("OK", "okay"),
    Entry("health", "Gesundheit"),
    Entry("health?", "¿Gesundheit?"),
    Entry("cheers", "hoch"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cheers", "prost"),
        ("Cheers", "Prost"),
        ("CHEERS", "PROST"),
        ("Cheers!", "Prost!"),
        ("cheers…", "prost…"),
        ("(Cheers!!)", "(Prost!!)"),
        ("Cheers, Tom", None),
        ("cheer", None),
        ("monday", "Montag"),
        ("MONDAY:", "MONTAG:"),
        ("Street", "Straße"),
        ("STREET", "STRASSE"),
        ("don’t  worry.", "keine Sorge."),
        ("Don't\u00a0worry", "Keine Sorge"),
        ("e.g.", "z. B."),
        ("E.g.", "Z. B."),
        ("e. g.", None),
        ("OK", "Okay"),
        ("ok", "okay"),
        ("health!", "Gesundheit!"),
        ("health?", "¿Gesundheit?"),  # as written
        ("cheers" + 30 * "!", None),
        ("!", None),
        ("", None),
    ],
)
def test_a_segment_is_found_but_for_case_and_marks(text: str, expected: str | None) -> None:
    assert Memory(ENTRIES, profile("de")).find(text) == expected


def test_an_empty_memory_knows_nothing() -> None:
    assert [EMPTY.find(text) for text in ("", ".", "a")] == [None, None, None]


def test_a_table_is_read_in_both_directions_unless_a_line_says_one(tmp_path: Path) -> None:
    path = tmp_path / "memory.tsv"
    rows = ["de\ten\tfr", "prost\tcheers\tsanté", "zum Wohl\tcheers\tsanté\ten", "ciao\tbye\tsalut"]
    path.write_text("\ufeff" + "\r\n".join(rows) + "\r\n", encoding="utf-8")

    def found(source: str, target: str, *texts: str) -> list[str | None]:
        memory = Memory.read(path, source, target)
        return [memory.find(text) for text in texts]

    assert found("de", "en", "Prost!", "zum Wohl", "Ciao") == ["Cheers!", "cheers", "Bye"]
    assert found("en", "de", "cheers", "bye") == ["prost", "ciao"]
    assert found("de", "fr", "prost", "zum Wohl") == ["santé", None]
    assert found("fr", "en", "Santé !", "salut") == ["Cheers !", "bye"]
    assert found("en", "es", "cheers") == found("es", "en", "prost") == [None]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "line 1 must name two languages or more"),
        ("de\n", "line 1 must name two languages or more"),
        ("de\tde\nA\tB\n", "line 1 has a language twice: de de"),
        ("de\ten\nA\n", r"line 2 must have 2 cells with words, .* but has \['A'\]"),
        ("de\ten\nA\t \n", "line 2 must have 2 cells with words"),
        ("de\ten\nA\t!\n", "line 2 must have 2 cells with words"),
        ("de\ten\nA\tB\ten\nA\tB\tfr\n", "line 3 must have 2 cells with words"),
        ("de\ten\nA\tB\ten\tde\n", "line 2 must have 2 cells with words"),
    ],
)
def test_an_invalid_table_is_refused(tmp_path: Path, table: str, message: str) -> None:
    path = tmp_path / "memory.tsv"
    path.write_text(table, encoding="utf-8")
    with pytest.raises(BundleError, match=message):
        Memory.read(path, "en", "es")
