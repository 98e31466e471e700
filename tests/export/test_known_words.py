"""The table of known words, made from training text."""

from collections import Counter
from pathlib import Path

import pytest

from export import known_words
from service.text.known_words import KnownWords

GERMAN = [
    "Das Haus brennt",
    "Das Hausboot von Bosch",
    "Ein Haus",
    "Boot und Boot",
    "Der Straßenlärm",
]
ENGLISH = ["The house burns", "The house boat of Bosch", "A boat", "The noise"]


def test_the_table_has_the_words_of_the_text_without_names(tmp_path: Path) -> None:
    for code, lines in (("de", GERMAN), ("en", ENGLISH)):
        (tmp_path / f"train.{code}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = tmp_path / "known.tsv.xz"
    assert known_words.main([str(tmp_path), "--languages", "de", "en", "--out", str(table)]) == 0
    known = KnownWords.read(table)
    german = known["de"]
    words = ["Haus", "Boot", "Bootshaus", "brennt", "Strassenlärm", "Straßenlärm", "house", "Bosch"]
    assert [word for word in words if word not in german] == ["house", "Bosch"]
    assert "Bosch" not in known["en"]


def test_a_word_of_both_languages_is_a_name_unless_a_dictionary_has_it() -> None:
    counts = {"de": Counter({"arm": 1}), "en": Counter({"arm": 1})}
    table = known_words.known_words(counts, {"de": ["arm", "bein"]})
    assert table["de"] == {"part": set(), "word": {"arm", "bein"}}
    assert table["en"] == {"part": set(), "word": set()}


def test_compounds_and_inflected_forms_of_other_words_are_left_out() -> None:
    counts = {"de": Counter({"haus": 2, "boot": 2, "hausboot": 1, "hauses": 1, "ei": 5})}
    table = known_words.known_words(counts, {})
    assert table["de"] == {"part": {"haus", "boot"}, "word": {"ei"}}


def test_a_folder_without_text_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(tmp_path), "--languages", "de", "--out", str(tmp_path / "known.tsv.xz")]
    assert known_words.main(arguments) == 1
    assert f"{tmp_path}: has no training text in de" in capsys.readouterr().err
