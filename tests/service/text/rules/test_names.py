"""Names that were copied into a translation."""

from pathlib import Path

import pytest

from service.errors import BundleError
from service.text.rules.names import Names
from service.text.run import Protected, Run
from tests.service.text.pipelines import mended as translated

TABLE = "\n".join(
    [
        "de\ten",
        "Norwegen\tNorway",
        "Niedersachsen\tLower Saxony",
        "Mexiko\tMexico",
        "New Mexico\tNew Mexico",
        "Großbritannien\tGreat Britain",
        "Großbritannien\tBritain",
        "",
    ]
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "names.tsv"
    path.write_text(TABLE, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("direction", "source", "translation", "mended"),
    [
        ("de-en", "Wir fahren nach Norwegen.", "We go to Norwegen.", "We go to Norway."),
        ("de-en", "Norwegens Küste", "Norwegens coast", "Norwegens coast"),
        ("de-en", "Er ist da.", "He is in Norwegen.", "He is in Norwegen."),
        ("de-en", "Norwegen, in Berlin", "Norwegen, in Berlin", "Norway, in Berlin"),
        ("en-de", "In Norway's north", "In Norway's Norden", "In Norwegen's Norden"),
        ("en-de", "Lower Saxony is flat.", "Lower Saxony ist flach.", "Niedersachsen ist flach."),
        ("en-de", "The lower Saxony", "Das untere Saxony", "Das untere Saxony"),
        ("en-de", "Britain", "Britain", "Großbritannien"),
        ("en-de", "Great Britain", "Great Britain", "Großbritannien"),
        ("de-en", "Großbritannien", "Großbritannien", "Great Britain"),
        ("en-de", "Mexico, New Mexico", "Mexico, New Mexico", "Mexiko, New Mexico"),
        ("de-fr", "nach Norwegen", "vers Norwegen", "vers Norwegen"),
    ],
)
def test_copied_names_are_translated_by_the_table(
    table: Path, direction: str, source: str, translation: str, mended: str
) -> None:
    assert translated(Names.read(table, *direction.split("-")), source, translation) == mended


def test_protected_names_are_not_translated() -> None:
    names, translation = Names({"Norwegen": "Norway"}), Run("Norwegen", (), [Protected(0, 8)])
    assert names.restore(Run("Norwegen"), translation).text == "Norwegen"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"de\ten\nNorwegen\n", r"line 2 must have 2 names, but has \['Norwegen'\]"),
        (b"de\ten\nA\tB\nC\t\n", r"line 3 must have 2 names"),
        (b"de\ten\n\xff\tB\n", "cannot be read: .*invalid start byte"),
    ],
)
def test_an_invalid_table_is_refused_with_the_place(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "names.tsv"
    path.write_bytes(content)
    with pytest.raises(BundleError, match=message):
        Names.read(path, "de", "en")


def test_an_empty_table_has_no_names(tmp_path: Path) -> None:
    path = tmp_path / "names.tsv"
    path.write_bytes(b"")
    assert translated(Names.read(path, "de", "en"), "A", "A") == "A"
