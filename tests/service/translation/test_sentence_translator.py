"""What becomes of the pieces around what is protected."""

import doctest

from service.translation import sentence_translator
from service.translation.sentence_translator import piece


def test_the_examples_in_the_docstrings() -> None:
    assert doctest.testmod(sentence_translator) == (0, 1)


def test_a_piece_without_a_number_gets_none() -> None:
    assert piece("Treffen um halb", "Meet at 2:30") == "Treffen um halb"
    assert piece("am 3. Tag", "on the 3rd day.") == "on the 3rd day"
    assert piece("und so", "...") == "und so"
    assert piece("Treffen um", "In 2024 meet at", "In 2024 ") == "In 2024 meet at"
    assert piece("Treffen um", "In 2024 meet at 9", "In 2024 ") == "Treffen um"
