"""Links of Markdown by reference: in translations, they keep the labels that their definitions have."""

import re

import pytest
from markdown_it import MarkdownIt

from service.text.words import word_spans
from tests.service.text.pipelines import aligned, assembled, take_apart, unchanged

GERMAN = {"See": "Siehe", "the": "der", "long": "lange", "bold": "fette", "Note": "Notiz"}


def translated(text: str) -> str:
    """Translate word by word."""
    document = take_apart(text, "text")
    sources = [sentence.text for sentence in document.sentences]
    texts = [re.sub(r"\w+", lambda word: GERMAN.get(word[0], word[0]), one) for one in sources]
    alignments = [
        aligned(source, target, list(range(len(word_spans(source)))))
        for source, target in zip(sources, texts, strict=True)
    ]
    return assembled(document, texts, alignments)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See [the long link].", "Siehe [der lange link][the long link]."),
        ("See [the long link][].", "Siehe [der lange link][the long link]."),
        ("See ![the link]!", "Siehe ![der link][the link]!"),
        ("See [Paul] and [paul][].", "Siehe [Paul] and [paul][]."),
        ("[the **bold** link]", "[der **fette** link][the **bold** link]"),
        ("## [Note]", "## [Notiz][Note]"),
        (
            "[See the bold. Paul is here]",
            "[Siehe der fette. Paul is here][See the bold. Paul is here]",
        ),
        ("See [the link][note], [the link](/x).", "Siehe [der link][note], [der link](/x)."),
    ],
)
def test_a_link_keeps_its_label(text: str, expected: str) -> None:
    labels = [
        "the long link",
        "the link",
        "Paul",
        "the **bold** link",
        "note",
        "See the bold. Paul is here",
    ]
    definitions = "".join(f"\n\n[{label}]: /{number}" for number, label in enumerate(labels))
    found = translated(text + definitions)
    assert found == expected + definitions
    read = MarkdownIt().render
    assert read(found).count("href=") == read(text + definitions).count("href=")
    assert read(found).count("src=") == read(text + definitions).count("src=")
    assert read(unchanged(take_apart(text + definitions, "text"))) == read(text + definitions)


def test_the_kind_of_an_alert_is_not_translated() -> None:
    text = "> [!NOTE]\n> See the [!NOTE]."
    assert translated(text) == "> [!NOTE]\n> Siehe der [!NOTE]."
