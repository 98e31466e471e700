"""Texts in ASCII that have other characters as numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.text.pipelines import take_apart, unchanged


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"Die T\u00fcr, 5 \u20AC".replace("AC", "ac"), "Die Tür, 5 €"),
        (r"\u00D6l", "Öl"),
        (r"\u0416\u0438\u0432\u0438", "Живи"),
        (r"a \u0022b\u0022 \\u00fc", r"a \u0022b\u0022 \\u00fc"),  # in ASCII, and a backslash
        (r"T\u00fcr und Öl", r"T\u00fcr und Öl"),
        (r"T\u00fcr und \u00FC", r"T\u00fcr und \u00FC"),  # written in two ways
        (r"[a\u4e00-\u9fff]", r"[a\u4e00-\u9fff]"),
        (r"a\ud800b", r"a\ud800b"),
    ],
)
def test_a_model_reads_characters(text: str, read: str) -> None:
    [sentence] = take_apart(text, "text").sentences
    assert sentence.as_written == read


@pytest.mark.parametrize(
    ("text", "translation", "written"),
    [
        (r"Caf\u00e9", "Büro", r"B\u00fcro"),
        (r"\u00C4h", "Öl 😀", r"\u00D6l \uD83D\uDE00"),
        (r"caf\u00e9 {a}", "Öl Tom", r"\u00d6l {a}"),
        ("Café", "Öl", "Öl"),
    ],
)
def test_a_translation_is_written_like_its_text(text: str, translation: str, written: str) -> None:
    document = take_apart(text, "text")
    [sentence] = document.sentences
    assert document.assemble([sentence.translated(translation, None)]) == written


@given(
    st.lists(
        st.sampled_from(
            [
                r"\u00fc",
                r"\u00FC",
                r"\u00a0",
                r"\ud83d",
                r"\ude00",
                r"\u0022",
                "\\",
                "u",
                "a ",
                ". ",
                "<b>",
            ]
        )
    ),
    st.sampled_from(["text", "html"]),
)
def test_a_copied_text_is_unchanged(parts: list[str], form: str) -> None:
    text = "".join(parts)
    escaped = text.replace("<b>", "<b/>") if form == "html" else text
    assert unchanged(take_apart(escaped, form)) == escaped  # type: ignore[arg-type]
