"""Sentences of one word that was copied into a translation."""

from pathlib import Path

import pytest

from service.errors import BundleError
from service.text.languages import profile
from service.text.rules.casing import Case
from service.text.rules.rule import Setting, Table
from service.text.rules.single_words import SingleWords
from service.text.run import Protected, Run
from service.text.tables import Tables
from service.text.tokenizer import Tokenizers

ENGLISH = {"apple": "Apfel", "open": "öffnen", "Turkey": "Türkei", "turkey": "Truthahn"}
GERMAN = {"Essen": "food", "essen": "eat", "Eimer": "bucket"}


@pytest.mark.parametrize(
    ("code", "source", "translation", "mended"),
    [
        ("en", "apple", "apple", "Apfel"),
        ("en", "Apple", "Apple", "Apfel"),
        ("en", "Apple!", "Apple!", "Apfel!"),
        ("en", "apple", "Apple", "Apfel"),
        ("en", "Apple", "APPLE", "Apfel"),
        ("en", "Apple", "Apples", "Apples"),
        ("en", "Apple Music", "Apple Music", "Apple Music"),
        ("en", "an apple", "apple", "apple"),
        ("en", "pear", "pear", "pear"),
        ("en", "Turkey", "Turkey", "Türkei"),
        ("en", "turkey", "turkey", "Truthahn"),
        ("en", "", "", ""),
        ("de", "Essen", "Essen", "food"),
        ("de", "essen", "essen", "eat"),
        ("de", "eimer", "eimer", "bucket"),
    ],
)
def test_a_copied_word_is_translated_if_it_is_the_only_one(
    code: str, source: str, translation: str, mended: str
) -> None:
    rule = SingleWords(ENGLISH if code == "en" else GERMAN, profile(code))
    assert rule.restore(Run(source), Run(translation)).text == mended


def test_upper_and_lower_case_follow_the_language() -> None:
    rule = SingleWords({"ışık": "light"}, profile("tr"))
    assert rule.restore(Run("Işık"), Run("Işık")).text == "light"


def test_a_protected_word_is_not_translated() -> None:
    translation = Run("apple", (), [Protected(0, 5)])
    assert SingleWords(ENGLISH).restore(Run("apple"), translation).text == "apple"


def test_its_translation_is_capitalized_as_that_of_any_word() -> None:
    found = SingleWords(ENGLISH, profile("en")).restore(Run("Open"), Run("Open"))
    assert Case(str, profile("en")).restore(Run("Open"), found).text == "Öffnen"


def test_the_table_is_one_of_the_bundle(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("de\ten\nEimer\tbucket\n", encoding="utf-8")
    (tmp_path / "bad.tsv").write_text("de\ten\nEimer\n", encoding="utf-8")
    unused: Tokenizers = None  # type: ignore[assignment]

    def made(table: str, source: str, target: str) -> SingleWords:
        parameters = Table(table=table)
        return SingleWords.make(Setting(Tables(tmp_path), source, target, unused, parameters))

    for source, target, word, expected in (
        ("de", "en", "Eimer", "bucket"),
        ("en", "de", "bucket", "Eimer"),
        ("de", "fr", "Eimer", "Eimer"),
    ):
        rule = made("words.tsv", source, target)
        assert rule.restore(Run(word), Run(word)).text == expected
    with pytest.raises(BundleError, match="line 2 must have 2 names"):
        made("bad.tsv", "de", "en")
