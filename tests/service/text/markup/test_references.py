"""Character references, compared with the standard library."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.markup import elements
from tests.service.text.pipelines import take_apart, unchanged


@given(st.text("0123456789xa;&# ", max_size=30))
def test_references_are_read_like_by_the_standard_library(text: str) -> None:
    assert elements.unescaped(f"&#{text}") == html.unescape(f"&#{text}")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("&#00065;", "A"),
        ("&#" + "0" * 5_000 + "65;", "A"),
        ("&#" + "0" * 5_000 + ";", "\ufffd"),
        ("&#" + "9" * 5_000 + ";b", "\ufffdb"),
        ("&#x" + "9" * 5_000 + ";b", "\ufffdb"),
        (
            "&#1114111;&#1114112;",
            "\ufffd",
        ),  # U+10FFFF is not a character, and the next number is out of range
    ],
    ids=lambda given: given[:9],
)
def test_numeric_references_of_any_size_are_read(text: str, read: str) -> None:
    assert elements.unescaped(text) == read


def test_entities_declared_in_xml_stay_references() -> None:
    xml = "<r>Das H&auml;uschen von &brand; (&a.b-c;) &amp;x; &#228; &x;</r>"
    document = take_apart(xml, "xml", "sentences")
    [sentence] = document.sentences
    assert sentence.text == "Das Häuschen von Tom (Boston) &x; ä Max"
    assert unchanged(document) == xml.replace("&auml;", "ä").replace("&#228;", "ä")
