"""Hostile texts, of the largest size or of random markup: no character is lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.text.markup import lexer
from tests.service.text.pipelines import assembled, take_apart

KINDS: tuple[lexer.Kind, ...] = ("html", "xml")
LARGEST = 50_000
"""Maximum characters of a request."""


# A pattern may begin to match these at every position. If it scanned the rest of the text each time, the
# largest text would take minutes and block other requests.
@pytest.mark.parametrize(
    "unit",
    [
        "!",
        "! ",
        "Ja! ",
        "。",
        "ä",
        "a.",
        "a-",
        "@a",
        "a@",
        "%(",
        "{a} Ja ",
        "#a ",
        "#a b ",
        "😀",
        "*a b",
        "`",
        "`a` ",
        "(",
        "„a",
        "a“ ",
        "\u00ad",
        "http://",
        '("',
        "z.B. ",
    ],
)
def test_the_largest_repetitive_text_is_unchanged(unit: str) -> None:
    assert is_unchanged(unit * (LARGEST // len(unit)))
    assert is_unchanged(f"Ja{unit[0]}" + unit[-1] * LARGEST)
    assert is_unchanged(unit[0] * LARGEST + "ja")


def test_the_largest_directive_is_unchanged() -> None:
    assert is_unchanged("%" + "0" * LARGEST)


def is_unchanged(text: str) -> bool:
    """Check whether a text equals itself after its sentences were translated as they are."""
    document = take_apart(text, "text")
    same = [sentence.text for sentence in document.sentences]
    return assembled(document, same, [None] * len(same)) == text


@pytest.mark.parametrize(("unit", "kept"), [("😀 Ja ", "😀"), ("*a* ", "*"), ("a\u00ad", "a")])
def test_the_largest_text_of_symbols_is_preserved(unit: str, kept: str) -> None:
    text = unit * (LARGEST // len(unit))
    parts = take_apart(text, "text").parts
    found = sum(
        part.count(kept)
        if isinstance(part, str)
        else part.text.count(kept) + sum(tag.raw.count(kept) for tag in part.tags)
        for part in parts
    )
    assert found == text.count(kept)


@pytest.mark.parametrize(
    "unit", ["<!--", "<![CDATA[", "<?", "<code>", "<a b='", "</a ", "<i></i>x"]
)
def test_the_largest_repetitive_markup_is_preserved(unit: str) -> None:
    text = unit * (LARGEST // len(unit))
    for kind in KINDS:
        assert "".join(token.raw for token in lexer.tokens(text, kind)) == text
        take_apart(text, kind, "sentences")


@given(st.text(alphabet="<>/ab\"'=! -&;[]?", max_size=40), st.sampled_from(KINDS))
@settings(max_examples=1000)
def test_tokens_preserve_any_input(text: str, kind: lexer.Kind) -> None:
    assert "".join(token.raw for token in lexer.tokens(text, kind)) == text
    take_apart(text, kind, "sentences")
