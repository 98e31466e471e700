"""Normal forms against Python's own."""

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.normal_forms import normalize
from tests.growth import beyond_linear

Form = Literal["NFC", "NFD", "NFKC"]
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC")
LETTERS = "aäÅﬁ가각कা\u09c7\u09be\u0301\u0308\u0323\u0327\u0338\u0344\u302a ≠"


@given(st.text(st.sampled_from(LETTERS) | st.characters(), max_size=30), st.sampled_from(FORMS))
def test_texts_get_pythons_normal_forms(text: str, form: Form) -> None:
    assert normalize(form, text) == unicodedata.normalize(form, text)


def test_many_letters_with_marks_get_pythons_normal_form() -> None:
    text = "e\u0323\u0302x" * 100
    assert normalize("NFC", text) == unicodedata.normalize("NFC", text) == "ệx" * 100


@pytest.mark.parametrize("form", FORMS)
def test_marks_in_disorder_take_linear_time(form: Form) -> None:
    step = lambda text: normalize(form, text)  # noqa: E731
    assert beyond_linear(step, lambda times: "a" + "\u0315\u0323" * 5_000 * times) == ""
