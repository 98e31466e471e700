"""Nested elements: wherever a translation moves them, tags nest and none is lost."""

import random
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import LimitExceededError
from service.text.markup import elements as html_elements
from service.text.markup import lexer
from service.text.markup.projection import project, tree
from service.text.run import Run
from service.text.words import word_spans
from tests.service.text.pipelines import aligned, assembled, take_apart


@pytest.mark.parametrize(
    "text", ["<b>" * 101 + "Ja" + "</b>" * 101, "Ja <b>" * 101, "Ja</b> " * 101]
)
def test_too_deeply_nested_elements_are_refused(text: str) -> None:
    with pytest.raises(LimitExceededError, match="nested 101 deep, the limit is 100"):
        take_apart(text, "html", "sentences")


class Nesting(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.mistakes = 0
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.mistakes += not self.open or self.open.pop() != tag

    def handle_data(self, data: str) -> None:
        self.text += data


def nested(rng: random.Random, pieces: list[str], depth: int = 0) -> str:
    """Wrap the words in random nested elements."""
    parts, at = [], 0
    while at < len(pieces):
        if depth < 3 and rng.random() < 0.4:
            count, name = rng.randint(1, len(pieces) - at), rng.choice("abiu")
            inner = nested(rng, pieces[at : at + count], depth + 1)
            parts.append(f"<{name}>{inner}</{name}>")
            at += count
        else:
            parts.append(pieces[at])
            at += 1
    return " ".join(parts)


def tags_of(text: str) -> list[str]:
    return sorted(token.raw for token in lexer.tokens(text, "html") if token.kind != "text")


@given(st.integers(0, 2**32).map(random.Random))
@settings(max_examples=500)
def test_tags_nest_for_any_alignment(rng: random.Random) -> None:
    for _ in range(4):
        sources = rng.randint(1, 7)
        html = nested(rng, [f"w{index}" for index in range(sources)])
        [run] = html_elements.parse(html, "html")
        assert isinstance(run, Run)
        target = " ".join(f"t{index}" for index in range(rng.randint(0, 8)))
        links = [rng.randrange(sources) for _ in target.split()]
        elements = tree(run.tags, len(run.text))
        written = Run(
            target, project(elements, aligned(run.text, target, links)), (), "html"
        ).written()
        check = Nesting()
        check.feed(written)
        assert (check.mistakes, check.open, check.text) == (0, [], target), (html, written)
        assert tags_of(written) == tags_of(html)


@given(st.integers(0, 2**32).map(random.Random))
@settings(max_examples=250)
def test_elements_across_sentences_nest(rng: random.Random) -> None:
    for _ in range(4):
        sentences = [f"W{index} v{index}." for index in range(rng.randint(2, 5))]
        pieces = [piece for sentence in sentences for piece in sentence.split()]
        html = f"<p>{nested(rng, pieces)}</p>"
        document = take_apart(html, "html", "sentences")
        targets, alignments = [], []
        for sentence in document.sentences:
            size = len(word_spans(sentence.text))
            target = " ".join(f"t{index}" for index in range(rng.randint(1, 4)))
            targets.append(target)
            links = [rng.randrange(size) for _ in target.split()]
            alignments.append(aligned(sentence.text, target, links))
        written = assembled(document, targets, alignments)
        check = Nesting()
        check.feed(written)
        assert (check.mistakes, check.open) == (0, []), (html, written)
        assert tags_of(written) == tags_of(html)
        assert check.text.lower().split() == " ".join(targets).split()
