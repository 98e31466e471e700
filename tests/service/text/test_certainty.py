"""A sentence is certain only in its own language; names and loan words never are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.certainty import Certainty
from tests.service.text.test_detector import SENTENCES

ENGLISH, GERMAN = Certainty("en", "de"), Certainty("de", "en")


@given(st.text())
def test_any_text_can_be_checked(text: str) -> None:
    assert not (ENGLISH(text) and GERMAN(text))


@pytest.mark.parametrize(("language", "other"), [("de", "en"), ("en", "de"), ("fr", "en")])
def test_a_sentence_is_certain_in_its_own_language_only(language: str, other: str) -> None:
    is_certain = Certainty(language, other)
    assert is_certain(SENTENCES[language])
    for text in (text for one, text in SENTENCES.items() if one != language):
        assert not is_certain(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Computer", "Team Meeting", "Marketing Manager", "Senior Marketing Manager Europe"),
        *("New York Times", "Microsoft Office Word Excel PowerPoint", "The Beatles", "OK", ""),
        *("42",),
        "Das Team hat ein Meeting im Office.",
        "Klicken Sie auf „Save as new file“ und danach auf „Close window“.",
        "Ist der Manager in Berlin oder in New York?",
    ],
)
def test_names_and_loan_words_are_never_certain(text: str) -> None:
    assert not ENGLISH(text)


@pytest.mark.parametrize(
    ("language", "other"), [("ja", "en"), ("ru", "de"), ("zh-Hans", "en"), ("ko", "eng_Latn")]
)
def test_a_distinct_script_needs_no_table_of_words(language: str, other: str) -> None:
    is_certain = Certainty(language, other)
    assert is_certain(SENTENCES[language.split("-")[0]])
    assert not is_certain(SENTENCES["en"])
