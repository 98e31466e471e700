"""Codes and scripts, compared with ISO 639, ISO 15924 and Unicode's names."""

import unicodedata

import pytest

from service.text.evidence import evidence
from service.text.language_labels import fits, is_written_in, label_of, script_of

LABELS = ["als", "az", "de", "en", "he", "fa", "no", "nn", "pt", "sh", "sq", "sr", "sw", "tl", "zh"]


@pytest.mark.parametrize(
    ("code", "label"),
    [
        *(("de", "de"), ("DE-AT", "de"), ("deu_Latn", "de"), ("cmn", "zh"), ("zh_Hant", "zh")),
        *(("nb", "no"), ("nob_Latn", "no"), ("nn", "nn"), ("pes_Arab", "fa"), ("iw", "he")),
        *(("pb", "pt"), ("zt", "zh"), ("azj_Latn", "az"), ("swh_Latn", "sw"), ("srp_Latn", "sr")),
        *(("fil", "tl"), ("tgl", "tl"), ("tl", "tl"), ("sr-Latn", "sr"), ("sh", "sh")),
        *(("als_Latn", "sq"), ("gsw", "als")),  # Wikipedia uses the code of Tosk for Alemannic
    ],
)
def test_codes_are_mapped_to_labels(code: str, label: str) -> None:
    assert label_of(code, LABELS) == label


@pytest.mark.parametrize("code", ["ace_Arab", "", "-", "_de", "x" * 100, "xx-de"])
def test_codes_of_unknown_languages_have_no_label(code: str) -> None:
    assert label_of(code, LABELS) is None


def test_iso_639_3_codes_are_mapped_to_labels() -> None:
    codes = [
        "afr", "amh", "ara", "arb", "azj", "bel", "ben", "bos", "bul", "cat", "ces", "cmn",
        "cym", "dan", "deu", "ekk", "ell", "eng", "epo", "eus", "fas", "fil", "fin", "fra",
        "gle", "glg", "guj", "heb", "hin", "hrv", "hun", "hye", "ind", "isl", "ita", "jpn",
        "kan", "kat", "kaz", "khk", "khm", "kir", "kor", "lao", "lat", "lit", "ltz", "lvs",
        "mal", "mar", "mkd", "mlt", "mya", "nld", "nob", "nno", "npi", "ory", "pan", "pes",
        "plt", "pol", "por", "prs", "ron", "rus", "sin", "slk", "slv", "som", "spa", "srp",
        "swe", "swh", "tam", "tat", "tel", "tgk", "tha", "tur", "uig", "ukr", "urd", "uzn",
        "vie", "ydd", "yor", "zho", "zsm", "iw", "in", "ji", "mo",
    ]  # fmt: skip
    labels = evidence().labels
    assert not [code for code in codes if label_of(code, labels) is None]


@pytest.mark.parametrize(
    ("name", "script"),
    [
        *(("LATIN", "Latn"), ("GREEK", "Grek"), ("CYRILLIC", "Cyrl"), ("HEBREW", "Hebr")),
        *(("ARABIC", "Arab"), ("DEVANAGARI", "Deva"), ("HANGUL", "Hang"), ("HIRAGANA", "Kana")),
        *(("KATAKANA", "Kana"), ("THAI", "Thai"), ("GEORGIAN", "Geor"), ("TAMIL", "Taml")),
        *(("CJK", "Hani"), ("ARMENIAN", "Armn"), ("BENGALI", "Beng"), ("KHMER", "Khmr")),
    ],
)
def test_scripts_match_the_unicode_names_of_letters(name: str, script: str) -> None:
    letters = [
        one
        for one in map(chr, range(0x10000))
        if one.isalpha() and unicodedata.name(one, "").startswith(f"{name} ")
    ]
    found = sum(script_of(one) == script for one in letters)
    assert found >= 0.9 * len(letters)  # rare and historic letters are spread over many blocks


def test_the_script_is_that_of_most_letters() -> None:
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


def test_a_code_without_a_script_has_the_usual_one() -> None:
    assert not fits("zh", "你們", "Hani")
    assert fits("zh", "你们", "Hani")
    assert fits("sr", "Где", "Cyrl")
    assert not fits("sr_Latn", "Где", "Cyrl")
    assert fits("zh-TW", "你們", "Hani")
    assert fits("ja", "東京", "Hani")


def test_letters_of_rare_scripts_fit_any_language() -> None:
    assert script_of("ʼ") == "Latn"
    assert script_of("ーー") in ("", "Kana")
    assert script_of("") == "Latn"
    assert is_written_in("de", script_of("ꓐꓑꓒ"))  # Lisu, the script of none of the labels
