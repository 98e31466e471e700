"""Words in many scripts, including those whose vowels are combining marks."""

import pytest

from service.text.words import word_spans, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wie geht's?", ["Wie", "geht's", "?"]),
        ("हिन्दी में, न!", ["हिन्दी", "में", ",", "न", "!"]),
        ("12,50 € oder €5, um 7:30.", ["12,50", "€", "oder", "€5", ",", "um", "7:30", "."]),
        ("US$5 3€ 1.000.000 a.b", ["US", "$5", "3€", "1.000.000", "a", ".", "b"]),
        ("می‌کنم و", ["می‌کنم", "و"]),
        ("דָּוִד בָּא.", ["דָּוִד", "בָּא", "."]),
        ("za\u0301mok", ["za\u0301mok"]),
        ("ที่นี่ ดี", ["ที่", "นี่", "ดี"]),
        ("a\u200c\u200cb\u200d c", ["a", "b", "c"]),
        ("你好，iPhone的", ["你", "好", "，", "iPhone", "的"]),
        ("コーヒーを飲む", ["コーヒー", "を", "飲", "む"]),
        ("커피를 마신다", ["커피를", "마신다"]),
    ],
)
def test_words_and_punctuation_are_found(text: str, expected: list[str]) -> None:
    assert [text[begin:end] for begin, end in word_spans(text)] == expected


def test_text_around_words_is_split_off() -> None:
    assert words_of("¿में हूँ? ") == ("¿", "में हूँ", "? ")
