"""Known words, including their forms, their compounds and typing errors."""

import lzma
from pathlib import Path

import pytest

from service.errors import BundleError
from service.text.known_words import KnownWords
from service.text.tables import Tables

PARTS = ["staat", "gericht", "haus", "boot", "verhandlung", "führer"]
GERMAN = KnownWords(["ei", "siemen"], PARTS, ["", "s"])
TABLE = "de\tpart\thaus boot\nen\tpart\thouse\nde\tword\tei\n"


@pytest.mark.parametrize(
    "word",
    [
        *("Ei", "EI", "Haus", "Hauses", "Boots"),
        *("Hausboot", "Staatsgericht", "Staatsgerichts", "Staatsgerichtshaus"),
        *("Xyzverhandlung", "Verhandlungsxyzq"),  # with a known part that is long enough
        *("Gerichht", "Verhandlungg", "Verhandxlung", "Verhadlung", "Verhandlnug"),  # typing errors
        *("Fuehrer", "FÜHRER"),
        "x" * 41,
    ],
)
def test_words_forms_compounds_and_typos_are_known(word: str) -> None:
    assert word in GERMAN


@pytest.mark.parametrize(
    "word",
    [
        *("Siemens", "Holtkamp", "Hausing", "Bootke", "Eiboot", "Xyz"),
        *("Verhundlung", "Gerlicht"),  # another letter, or one more in a short word
    ],
)
def test_other_words_are_unknown(word: str) -> None:
    assert word not in GERMAN


def test_typos_can_be_told_from_words() -> None:
    assert all(GERMAN.knows(word) for word in ("EI", "Hauses", "Hausboot", "x" * 41))
    assert not any(GERMAN.knows(word) for word in ("Gerichht", "Verhadlung", "Holtkamp"))


def test_endings_depend_on_the_language(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("de\tpart\tregel\nen\tpart\tregel\n", encoding="utf-8")
    known = KnownWords.read(path)
    assert [known[code].knows("Regeln") for code in ("de", "en")] == [True, False]
    assert [known[code].knows("Regels") for code in ("de", "en")] == [True, True]


def test_a_language_without_links_has_no_compounds() -> None:
    assert "Hausboot" not in KnownWords((), PARTS)


@pytest.mark.parametrize("name", ["words.tsv", "words.tsv.xz"])
def test_a_table_has_the_words_of_several_languages(tmp_path: Path, name: str) -> None:
    path, data = tmp_path / name, TABLE.encode()
    path.write_bytes(lzma.compress(data) if name.endswith(".xz") else data)
    known = KnownWords.read(path)
    german, english = known["de"], known["en"]
    assert [word in german for word in ("Ei", "Hausboot", "House")] == [True, True, False]
    assert [word in english for word in ("Ei", "Haus", "House")] == [False, False, True]
    assert "fr" not in known


def test_all_directions_of_a_bundle_share_a_table(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text(TABLE, encoding="utf-8")
    tables = Tables(tmp_path)
    known = tables.known_words("words.tsv")
    (tmp_path / "words.tsv").unlink()
    assert tables.known_words("words.tsv") is known


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("words.tsv", b"de\tpart\thaus\nde\thaus\n", "line 2 must be a language, 'word' or 'part'"),
        ("words.tsv", b"de\tword\t\n", "line 1 must be"),
        ("words.tsv.xz", b"de\tword\thaus\n", "cannot be read"),
        ("words.tsv.xz", lzma.compress(TABLE.encode())[:-20], "ends too early"),
        ("words.tsv.xz", lzma.compress(bytes(20 << 20)), "has more than 16777216 bytes"),
    ],
)
def test_an_invalid_table_is_refused(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(BundleError, match=message):
        KnownWords.read(path)
