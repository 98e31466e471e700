"""Codes and scripts, against what ISO 639, ISO 15924 and Unicode's names say."""

import unicodedata

import pytest

from service.text.detector import Detector
from service.text.language_labels import LABELS, fits, is_written_in, label_of, script_of


@pytest.mark.parametrize(
    ("code", "label"),
    [
        *(("de", "de"), ("DE-AT", "de"), ("deu_Latn", "de"), ("cmn", "zh"), ("zh_Hant", "zh")),
        *(("nb", "no"), ("nob_Latn", "no"), ("nn", "nn"), ("pes_Arab", "fa"), ("iw", "he")),
    ],
)
def test_a_code_has_a_label(code: str, label: str) -> None:
    assert label_of(code) == label


def test_every_label_is_one_that_can_be_found() -> None:
    detector = Detector(set(LABELS.values()))
    assert not [code for code in detector.languages if not detector.can_find(code)]


@pytest.mark.parametrize(
    ("name", "script"),
    [
        *(("LATIN", "Latn"), ("GREEK", "Grek"), ("CYRILLIC", "Cyrl"), ("HEBREW", "Hebr")),
        *(("ARABIC", "Arab"), ("DEVANAGARI", "Deva"), ("HANGUL", "Hang"), ("HIRAGANA", "Kana")),
        *(("KATAKANA", "Kana"), ("THAI", "Thai"), ("GEORGIAN", "Geor"), ("TAMIL", "Taml")),
        *(("CJK", "Hani"), ("ARMENIAN", "Armn"), ("BENGALI", "Beng"), ("KHMER", "Khmr")),
    ],
)
def test_letters_have_the_script_that_their_names_begin_with(name: str, script: str) -> None:
    letters = [
        one
        for one in map(chr, range(0x10000))
        if one.isalpha() and unicodedata.name(one, "").startswith(f"{name} ")
    ]
    found = sum(script_of(one) == script for one in letters)
    assert found >= 0.9 * len(letters)  # rare and historic letters are spread over many blocks


def test_most_letters_decide() -> None:
    assert script_of("Das Wort für Hund ist собака") == "Latn"
    assert script_of("42") == "Latn"
    assert script_of("東京は大きい") == "Kana"
    assert script_of("東京") == "Hani"


def test_serbian_has_two_scripts_and_japanese_uses_han() -> None:
    assert is_written_in("sr", "Latn")
    assert is_written_in("sr", "Cyrl")
    assert is_written_in("ja", "Hani")
    assert not is_written_in("de", "Cyrl")
    assert not is_written_in("el", "Latn")


def test_a_code_without_a_script_fits_any() -> None:
    assert fits("zh", "你們", "Hani")
    assert fits("sr", "Где", "Cyrl")
    assert not fits("sr_Latn", "Где", "Cyrl")
    assert fits("zh-TW", "你們", "Hani")
