"""What the parser of Markdown would take too long for: short rows of tables, and deeply nested lines."""

import pytest

from service.text.markup import markdown, plain
from service.text.run import Run


def cells(text: str) -> list[str]:
    return [piece.text for piece in plain.parse(text) if isinstance(piece, Run)]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "| Art | Ort |\n|--|--|\n| Hund |\n| Maus | Feld |",
            ["Art", "Ort", "Hund", "Maus", "Feld"],
        ),
        ("Art | Ort\n-|-\nHund | Hof\n", ["Art", "Ort", "Hund", "Hof"]),
        ("Ja\n\n" * 50 + "|A|B|C|D|\n|-|-|-|-|\n|E|F|G|H|", ["Ja"] * 50 + list("ABCDEFGH")),
    ],
)
def test_short_lines_and_missing_cells_do_not_matter(text: str, left: list[str]) -> None:
    assert cells(text) == left
    assert any(atom.kind == "block" for atom in markdown.atoms(text))


@pytest.mark.parametrize("row", ["2\n", "2\r", "2\r\n", "\u00a0\n", "> 2\n", "|\n"])
@pytest.mark.parametrize("columns", [10, 250])
def test_there_are_not_many_more_atoms_than_characters(columns: int, row: str) -> None:
    text = "|1" * columns + "\n" + "|-" * columns + "\n" + row * 500
    assert len(list(markdown.atoms(text))) <= 4 * len(text)


@pytest.mark.parametrize("begin", [">", "- ", "1. ", "> - "])
@pytest.mark.parametrize("line", ["b\n", "|\r", "> b\n"])
def test_deeply_nested_lines_are_plain_text_unless_they_are_few(begin: str, line: str) -> None:
    few, many = (begin * 2_000 + "a\n" + line * times for times in (20, 2_000))
    assert any(atom.kind == "block" for atom in markdown.atoms(few))
    assert list(markdown.atoms(many)) == []
    assert "".join(cells(many)) == many


def test_nested_lines_of_usual_texts_are_read() -> None:
    text = "> > - a\n> >   - b\n" * 1_000
    assert cells(text) == ["a", "b"] * 1_000
