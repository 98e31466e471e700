"""Slashes between words."""

import pytest

from service.text.rules.slashes import Slashes
from service.text.run import Protected, Run


@pytest.mark.parametrize(
    ("text", "prepared", "translation", "restored"),
    [
        ("Mann/Frau", "Mann / Frau", "man / woman", "man/woman"),
        ("Mann / Frau", "Mann / Frau", "man / woman", "man / woman"),
        ("Один/два/три", "Один / два / три", "One / two / three", "One/two/three"),
        ("km/h und 1/2", "km/h und 1/2", "km/h and 1 / 2", "km/h and 1 / 2"),
        ("Hund", "Hund", "dog / hound", "dog / hound"),
    ],
)
def test_they_have_spaces_for_the_model_only(
    text: str, prepared: str, translation: str, restored: str
) -> None:
    assert Slashes().prepare(Run(text)).text == prepared
    assert Slashes().restore(Run(text), Run(translation)).text == restored


def test_those_of_an_address_are_spared() -> None:
    run = Run("abc/def", (), [Protected(0, 7)])
    assert Slashes().prepare(run) is run
