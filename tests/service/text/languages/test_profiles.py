"""Language profiles, which are read from data files."""

import tomllib
from pathlib import Path

import pytest

from service.text.languages import NEUTRAL, Languages, name, profile
from service.text.languages.profiles import DATA
from service.text.segmenter import split

MADE_UP = """
# Volapük, as nobody speaks it
name = "Made Up"
script = "Arab"
quotes = "‹›''"
sentence_marks = ".#"
inner_abbreviations = "Zz. a.b."
final_abbreviations = "Qq."
starters = "lo"
"""


def test_a_language_is_added_by_one_file(tmp_path: Path) -> None:
    for neutral in DATA.glob("und*.toml"):
        (tmp_path / neutral.name).write_bytes(neutral.read_bytes())
    (tmp_path / "xqq.toml").write_text(MADE_UP, "utf-8")
    language = Languages(tmp_path).profile("xqq")
    assert (language.name, language.quotes) == ("Made Up", "‹›''")
    assert (language.script, language.direction) == (
        "Arab",
        "rtl",
    )  # und-Arab.toml has the direction
    text = "Zz. Ro a. b. Ko# Ra qq. Lo X. Bu 3. Lo mi? Ra"
    found = [one.text for one in split(text, "all", language) if one.is_sentence]
    assert found == ["Zz. Ro a. b. Ko#", "Ra qq.", "Lo X. Bu 3.", "Lo mi? Ra"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("quote = ''", "quote"),
        ("quotes = '„“'", "quotes"),
        ("dotted_i = 1", "dotted_i"),
        ("direction = 'up'", "direction"),
        ("script = 'latin'", "script"),
        ("starters = ['a']", "starters"),
        ("word_length = -1", "word_length"),
        ("sentence_marks = 'a'", "sentence_marks"),
        ("inner_abbreviations = 'A.'\nfinal_abbreviations = 'a.'", "more than one kind: a"),
        ("[clock_words]\nhalf = ['half']", "half"),
        ("[clock_words]\n60 = ['one']", "60"),
        ("[ordinal_endings]\none = 'st'", "other"),
        ("quotes = ", "Invalid value"),
        ("code = 'de'", "code"),
    ],
)
def test_an_invalid_file_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "xqq.toml").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"xqq\.toml") as caught:
        Languages(tmp_path).profile("xqq")
    assert message in str(caught.value)


def test_all_files_are_valid_profiles() -> None:
    languages = Languages()
    for code in languages.codes:
        assert languages.profile(code).sentence_marks
    required = "de en pl cs tr ru fr es it pt uk el ar fa he hi ur th zh ja ko hy am nl sv fi hu vi da nb ro"
    assert set(required.split()) <= set(languages.codes)
    files = [tomllib.loads(path.read_text("utf-8")) for path in DATA.glob("*.toml")]
    assert len(files) > len(languages.codes)


@pytest.mark.parametrize(
    ("code", "field", "expected"),
    [
        ("de", "capitalizes_nouns", True),
        ("de-AT", "capitalizes_nouns", True),
        ("deu_Latn", "quotes", "„“‚‘"),
        ("no", "quotes", "«»‘’"),
        ("en", "capitalizes_nouns", False),
        ("tur_Latn", "dotted_i", True),
        ("zh", "quotes", "“”‘’"),
        ("zh-TW", "quotes", "「」『』"),
        ("zt", "script", "Hant"),
        ("yue", "word_length", 2),
        ("lo", "word_length", 4),
        ("ace_Arab", "direction", "rtl"),
        ("ace_Latn", "direction", "ltr"),
        ("yi", "direction", "rtl"),
        ("ka", "script", "Geor"),
        ("qqq", "quotes", ""),
        ("../de", "capitalizes_nouns", False),
        ("", "script", "Zyyy"),
        ("x" * 40_000, "word_length", 0),
    ],
)
def test_a_profile_inherits_from_script_and_defaults(
    code: str, field: str, expected: object
) -> None:
    assert getattr(profile(code), field) == expected


def test_a_profile_is_read_once() -> None:
    assert profile("de") is profile("de")
    assert profile("und") is NEUTRAL


def test_the_neutral_profile_has_no_words() -> None:
    assert not any([NEUTRAL.abbreviations, NEUTRAL.starters, NEUTRAL.speech, NEUTRAL.quotes])


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("de", "German"),
        ("deu_Latn", "German"),
        ("nb", "Norwegian Bokmål"),
        ("no", "Norwegian"),
        ("fa", "Persian"),
        ("zh", "Chinese"),
        ("zt", "Traditional Chinese"),
        ("zho_Hant", "Traditional Chinese"),
        ("pb", "Brazilian Portuguese"),
        ("srp_Latn", "Serbian (Latin)"),
        ("kbp_Latn", "Kabiyè"),
        ("arb_Arab", "Arabic"),
        ("acm_Arab", "Mesopotamian Arabic"),
        ("tiny", "tiny"),
        ("", ""),
    ],
)
def test_languages_have_english_names(code: str, expected: str) -> None:
    assert name(code) == expected
