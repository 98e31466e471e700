"""Upper and lower case by language."""

import pytest

from service.text.languages import profile


@pytest.mark.parametrize(
    ("code", "lower_case", "capitals"),
    [
        ("tr", "ışık iyi", "IŞIK İYİ"),
        ("az", "işıq", "İŞIQ"),
        ("en", "it is", "IT IS"),
        ("ru", "внимание", "ВНИМАНИЕ"),
        ("ja", "これはnato", "これはNATO"),
    ],
)
def test_lower_and_upper_case_follow_the_language(
    code: str, lower_case: str, capitals: str
) -> None:
    assert profile(code).upper(lower_case) == capitals
    assert profile(code).lower(capitals) == lower_case


def test_greek_capitals_have_no_accents() -> None:
    assert profile("el").upper("Προσοχή στο κενό, μαΐου") == "ΠΡΟΣΟΧΗ ΣΤΟ ΚΕΝΟ, ΜΑΪΟΥ"
    assert profile("el").lower("ΔΡΟΜΟΣ") == "δρομος"
    assert profile("fr").upper("é") == "É"


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [("tr", "iyi", "İyi"), ("en", "it", "It"), ("nl", "ĳs", "Ĳs"), ("ka", "ასე", "ასე"), ("hr", "ǆ", "ǅ")],
)  # fmt: skip
def test_the_first_letter_is_capitalized_by_the_rules_of_the_language(
    code: str, text: str, expected: str
) -> None:
    assert profile(code).capitalized(text) == expected
