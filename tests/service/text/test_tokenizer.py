"""What a SentencePiece vocabulary reads of a sentence."""

import pytest

from service.models.bundle import load
from service.text.tokenizer import Tokenizer
from tests.conftest import TINY_BUNDLE


@pytest.mark.parametrize("separator", "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029")
def test_a_break_within_a_sentence_is_read_as_a_space(separator: str) -> None:
    tokenizer = Tokenizer(load(TINY_BUNDLE).vocabulary)
    [spaced] = tokenizer.encode(["Der Hund schläft"])
    assert tokenizer.encode([f"Der{separator}Hund{separator}schläft"]) == [spaced]
    assert tokenizer.encode_with_spans(f"Der{separator}Hund{separator}schläft")[0] == spaced
