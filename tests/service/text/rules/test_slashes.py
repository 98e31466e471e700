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
def test_only_the_model_sees_spaces_around_slashes(
    text: str, prepared: str, translation: str, restored: str
) -> None:
    assert Slashes().prepare(Run(text)).text == prepared
    assert Slashes().restore(Run(text), Run(translation)).text == restored


def test_slashes_in_addresses_are_unchanged() -> None:
    run = Run("abc/def", (), [Protected(0, 7)])
    assert Slashes().prepare(run) is run


def test_slashes_are_protected_if_a_word_is_lost() -> None:
    rule, run = Slashes(), Run("Mai/Juni/Juli, 3 km/h und so/so")
    assert rule.came_through(run, Run("May / June/July, 3 km/h and so"))
    assert not rule.came_through(run, Run("May and June/July"))
    assert [(one.begin, one.end) for one in rule.protect(run, Run()).protected] == [(3, 4), (8, 9)]
    assert rule.came_through(Run("A und B"), Run("A"))
