"""Words in many scripts, including those whose vowels are combining marks."""

import numpy as np
import pytest

from service.text.words import Alignment, without_empty_words, word_spans, words_of


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


@pytest.mark.parametrize(
    ("sources", "targets", "weights", "expected"),
    [
        (["Use", "{a}", "", " "], ["x"], [[0.4, 0.1, 0.2, 0.3]], [[0.4, 0.6]]),
        (["", "a", "b"], ["x"], [[0.5, 0.25, 0.25]], [[0.75, 0.25]]),
        (
            ["a", "b"],
            ["", "{x}", "", "y"],
            [[1, 0], [0, 1], [1, 0], [0, 1]],
            [[2 / 3, 1 / 3], [0, 1]],
        ),
        (["a"], [""], [[1]], []),
        ([], ["x"], [[]], [[]]),
    ],
)
def test_a_word_without_text_is_part_of_its_neighbour(
    sources: list[str], targets: list[str], weights: list[list[float]], expected: list[list[float]]
) -> None:
    shown = without_empty_words(
        sources, targets, np.array(weights, np.float32).reshape(len(targets), len(sources))
    )
    assert shown[0] == [word for word in sources if word.strip()]
    assert shown[1] == [word for word in targets if word.strip()]
    assert shown[2].shape == (len(shown[1]), len(shown[0]))
    assert shown[2].tolist() == [pytest.approx(row) for row in expected]


@pytest.mark.parametrize(
    ("attention", "found"),
    [([0.2, 0.15, 0.3], 1), ([0.2, 0.1, 0.3], 2), ([0.0, 0.0, 0.0], None), ([0.3, 0.2, 0.2], 1)],
)
def test_the_closest_word_is_a_preferred_one_if_it_attends_enough(
    attention: list[float], found: int | None
) -> None:
    """Of four source words, an even share is a quarter, and half of that is enough."""
    weights = np.array([[share, 1 - share, 0, 0] for share in attention], np.float32)
    spans = [(place, place + 1) for place in range(4)]
    alignment = Alignment("abcd", "xyz", spans, spans[:3], weights)
    assert alignment.closest(range(1), 0, 3, np.array([False, True, False])) == found
