"""What becomes of the pieces around what is protected."""

import doctest
from types import SimpleNamespace
from typing import Any

import pytest

from service.translation import pieces
from service.translation.pieces import PiecewiseSentence, piece
from tests.service.text.pipelines import take_apart


def test_the_examples_in_the_docstrings() -> None:
    assert doctest.testmod(pieces) == (0, 1)


def test_a_piece_without_a_number_must_not_gain_one() -> None:
    assert piece("Treffen um halb", "Meet at 2:30") is None
    assert piece("am 3. Tag", "on the 3rd day.") == "on the 3rd day"
    assert piece("und so", "...") is None
    assert piece("Treffen um", "In 2024 meet at", "In 2024 ") == "In 2024 meet at"
    assert piece("Treffen um", "In 2024 meet at 9", "In 2024 ") is None
    assert piece("Nummer", "No.", "No.") == "No."


@pytest.mark.parametrize(
    ("text", "cores", "translations", "joined"),
    [
        ("请在{a}中查看。", ["请在", "中查看"], ["Please in", "check."], "Please in {a} check。"),
        ("파일 {a}을 보세요", ["파일", "을 보세요"], ["File", "look"], "File {a} look"),
        ("Lies {a} hier", ["Lies", "hier"], ["读。", "这里。"], "读 {a} 这里"),
    ],
)
def test_pieces_are_joined_by_the_rules_of_the_target_language(
    text: str, cores: list[str], translations: list[str], joined: str
) -> None:
    [whole] = take_apart(text, "text").sentences
    sentence = whole.in_pieces("")
    assert sentence is not None
    parts = sentence.pieces
    assert [parts[place].strip(" ,。") for place in (0, 2)] == cores
    found = PiecewiseSentence(sentence, parts, [0, 2], cores, [])
    target, problem = found.joined(translations)
    assert (sentence.readable(target), problem) == (joined, "")


@pytest.mark.parametrize(
    ("text", "prefix", "forced", "translations", "joined"),
    [
        ("Hund {a} hier.", "A dog", [True, False], ["A dog", "here"], "A dog {a} here."),
        ("@jo {a} hier.", "9", [False], ["here"], "9 @jo {a} here."),
        ("@jo {a} ist 5.", "9", [False], ["Is."], "9 @jo {a} Is 5."),
        ("-Hund {a} da.", "A dog", [False, False], ["dog", "there"], "A dog -dog {a} there."),
        ("Hund {a}.", "5", [True], ["50 dogs"], "5 Hund {a}."),
        ("{a} ist hier.", "犬は", [False], ["ここ"], "犬は{a} ここ."),
    ],
)
def test_the_prefix_begins_the_translation_and_replaces_no_piece(
    text: str, prefix: str, forced: list[bool], translations: list[str], joined: str
) -> None:
    [whole] = take_apart(text, "text").sentences
    sentence = whole.beginning(prefix).in_pieces("")
    assert sentence is not None
    request: Any = SimpleNamespace(
        forced=lambda sentence: (sentence, (7,)),
        decoding=SimpleNamespace(max_decoding_length=50),
        work=lambda core, longest, prefix, num_hypotheses: prefix,
    )
    found = PiecewiseSentence.of(sentence, request)
    assert [bool(prefix) for prefix in found.work] == forced
    assert found.sentence.readable(found.joined(translations)[0]) == joined


def test_a_piece_without_a_translation_is_named() -> None:
    [whole] = take_apart("Lies {a} hier {b} um halb", "text").sentences
    sentence = whole.in_pieces("")
    assert sentence is not None
    found = PiecewiseSentence(sentence, sentence.pieces, [0, 2, 4], ["Lies", "hier", "um halb"], [])
    target, problem = found.joined(["Read", "", "at 2:30"])
    assert sentence.readable(target) == "Read {a} hier {b} um halb"
    assert problem == 'no translation was found for "hier"'
