"""Cells with images or other elements without text."""

import pytest

from service.text.markup import plain
from service.text.run import Run


@pytest.mark.parametrize("blanks", ["\u3000" * 3, "\u2007" * 3, "\u2001", "\u2003", " \u3000 "])
def test_wide_blanks_are_between_columns(blanks: str) -> None:
    pieces = [one.text if isinstance(one, Run) else one for one in plain.parse(f"犬{blanks}Kočka")]
    assert list(filter(None, pieces)) == ["犬", blanks, "Kočka"]


def test_a_single_ideographic_space_is_between_words() -> None:
    [run] = plain.parse("山田\u3000太郎 です")
    assert isinstance(run, Run)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("Pes\t![](a.png)\tštěká", ["Pes", "\t", "![](a.png)", "\t", "štěká"]),
        ("Pes\t<x/> kočka", ["Pes", "\t", "<x/> kočka"]),
        ("Pes ![](a.png)\tkočka", ["Pes ![](a.png)", "\t", "kočka"]),
        ("Pes   ![](a) ![](b) kočka   dům", ["Pes", "   ", "![](a) ![](b) kočka", "   ", "dům"]),
        (
            "Pes\t<a href='x'><img></a>\tkočka\n<img>\t<img>",
            ["Pes", "\t", "<a href='x'><img></a>", "\t", "kočka", "\n", "<img>", "\t", "<img>"],
        ),
        ("Pes | <img> | kočka", ["Pes", " | ", "<img>", " | ", "kočka"]),
        ("Pes <b>\t</b> kočka <img>\\nDům", ["Pes <b>\t</b> kočka <img>", "\\n", "Dům"]),
        ("Pes <img> kočka", ["Pes <img> kočka"]),
        ("Pes spí +++ Dům /// Ano", ["Pes spí ", "+++ ", "Dům ", "/// ", "Ano"]),
        ("Pes spí . . . . . 7", ["Pes spí", " . . . . . ", "7"]),
        (
            "Pes spí ...... xii\nDům .... 8",
            ["Pes spí", " ...... ", "xii", "\n", "Dům", " .... ", "8"],
        ),
        ("Pes ... 7 Dům .... Ano", ["Pes ... 7 Dům .... Ano"]),
        ("Pes +++, /// || Ano *** Ne", ["Pes +++, /// || Ano *** Ne"]),
    ],
)
def test_an_image_in_a_cell_is_read_like_a_word(text: str, cells: list[str]) -> None:
    pieces = [one.written() if isinstance(one, Run) else one for one in plain.parse(text)]
    assert list(filter(None, pieces)) == cells
