"""The case of a sentence's first word within a sentence, by the bundled vocabulary."""

import pytest

from service.models.bundle import DEFAULT_BUNDLE, load
from service.text.tokenizer import Tokenizer


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("The dog sleeps.", "the dog sleeps."),
        ("Und dann ging er.", "und dann ging er."),
        ("I do not know.", "I do not know."),
        ("Tom is here.", "Tom is here."),
        ("Ich war da.", "ich war da."),
        ("Er ging.", "er ging."),
        ("Returns false.", "returns false."),
        ("Leute reden.", "Leute reden."),
        ("PHP is here.", "PHP is here."),
        ("Xylographen reden.", "Xylographen reden."),
        ("42 Leute", "42 Leute"),
        ("– Ja.", "– Ja."),
        ("", ""),
    ],
)
def test_the_first_word_gets_the_case_it_has_within_a_sentence(text: str, within: str) -> None:
    assert Tokenizer(load(DEFAULT_BUNDLE).vocabulary).within(text) == within
