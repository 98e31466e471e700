"""Taking apart and putting together: nothing is lost, tags nest, placeholders come through."""

import doctest
import random
from collections.abc import Sequence
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import LimitExceededError
from service.text import words
from service.text.document import Document
from service.text.markup import elements as html_elements
from service.text.markup import lexer
from service.text.markup.projection import project, tree
from service.text.run import Format, Run
from service.text.words import Alignment, align_words, word_spans
from tests.service.text.pipelines import take_apart


def test_the_examples_in_the_docstrings() -> None:
    assert doctest.testmod(words) == (0, 2)


def aligned(source: str, target: str, links: list[int]) -> Alignment:
    """Each word of `target` looks at one word of `source`."""
    weights = np.eye(len(word_spans(source)), dtype=np.float32)[links]
    return align_words(source, target, word_spans(source), word_spans(target), weights)


def assembled(
    document: Document, texts: Sequence[str], alignments: Sequence[Alignment | None]
) -> str:
    """The document with these translations of its sentences."""
    found = zip(document.sentences, texts, alignments, strict=True)
    return document.assemble([one.translated(text, alignment) for one, text, alignment in found])


def unchanged(document: Document) -> str:
    texts = [sentence.text for sentence in document.sentences]
    same = [aligned(text, text, list(range(len(word_spans(text))))) for text in texts]
    return assembled(document, texts, same)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (
            "Hallo {name}, du hast %1$s neue Nachrichten.\n - Siehe https://a.org/b?c=1.  Gut!",
            "text",
        ),
        ("Ein Satz. 42. Noch einer.\r\n\r\nÄh …", "text"),
        (
            "<p>Der <b>alte</b> Hund. <i>Er schläft &amp; träumt. Und</i> <code>x</code> ja.</p>",
            "html",
        ),
        ("<script>a < b</script><p>Ja<br>Nein<b></b></p><!-- Ende -->", "html"),
        ('<p class="a > b">Der <span translate="no">Hund &amp; Co</span> schläft.</p>', "html"),
        ("<b>" + " ".join(f"Wort {{a{index}}}" for index in range(12)) + "</b>", "html"),
        ('<doc><p>Der <x id="1">Hund</x> ja</p><p translate="no">Nein</p></doc>', "xml"),
        ("", "html"),
        ("  <br/>  ", "html"),
        ("\ufffc 1\nEin\ufffc Satz. \ufffc 5.", "text"),
        ("<p>Ja {a}<b>{b}</b>%s, der <code>x</code>{c} Hund\ufffc.</p>", "html"),
    ],
)
def test_what_is_not_changed_comes_out_as_it_was(text: str, form: Format) -> None:
    assert unchanged(take_apart(text, form, "all" if form == "text" else "sentences")) == text


def test_markup_without_a_word_stays_as_it_is_written() -> None:
    html = "<p>Ja.</p><p>&nbsp;</p><td>12,50&#160;&euro;</td><pre>&lt;</pre> &mdash; <hr>"
    assert unchanged(take_apart(html, "html")) == html


def test_a_sentence_is_translated_whole_whatever_tags_are_in_it() -> None:
    document = take_apart("<p>Der <b>alte Hund</b> schläft <i>heute</i>.</p>", "html", "sentences")
    assert [sentence.text for sentence in document.sentences] == ["Der alte Hund schläft heute."]
    target = "Today the old dog sleeps."
    alignment = aligned("Der alte Hund schläft heute.", target, [4, 0, 1, 2, 3, 5])
    assert assembled(document, [target], [alignment]) == (
        "<p><i>Today</i> the <b>old dog</b> sleeps.</p>"
    )


def test_what_stands_right_behind_a_word_stands_behind_its_translation() -> None:
    document = take_apart("<p>Das Ende<img src=a> naht heute.</p>", "html", "sentences")
    [sentence] = document.sentences
    target = "Today the end is near."
    alignment = aligned(sentence.text, target, [3, 0, 1, 2, 2, 4])
    assert assembled(document, [target], [alignment]) == "<p>Today the end<img src=a> is near.</p>"


def test_what_a_translation_brings_is_escaped_in_markup_only() -> None:
    for form, expected in (("html", "a &lt; b"), ("text", "a < b")):
        document = take_apart("Ja", form, "all")  # type: ignore[arg-type]
        assert assembled(document, ["a < b"], [None]) == expected


@pytest.mark.parametrize(
    "placeholder",
    [
        "%s",
        "%1$s",
        "%(name)s",
        "%d",
        "{0}",
        "{name}",
        "{{ user.name }}",
        "${HOME}",
        "%%max%%",
        "https://example.org/a_(b)?q=1#x",
        "a.b+c@example.org",
        "@user",
        "@user@example.org",
        "#hashtag",
        "`a * b`",
        "{first}{last}",
        "%d%s",
        "{a}@user",
    ],
)
def test_placeholders_are_no_words_and_come_back(placeholder: str) -> None:
    [sentence] = take_apart(f"Der Hund sieht {placeholder}, ja.", "text").sentences
    assert placeholder not in sentence.text
    [name] = sentence.stand_ins
    document = Document((sentence,))
    translated = f"Yes, the dog sees {name.name}."
    assert sentence.came_through(translated)
    assert assembled(document, [translated], [None]) == f"Yes, the dog sees {placeholder}."
    assert not sentence.came_through("The dog sees.")
    assert not sentence.came_through(f"{name.name} and {name.name}")


def test_a_placeholder_within_a_word_is_cut_around() -> None:
    document = take_apart("Der Hund{s} schläft.", "text")
    assert [one.text for one in document.sentences] == ["Der Hund", "schläft."]
    assert unchanged(document) == "Der Hund{s} schläft."


@pytest.mark.parametrize(
    "text", ["It`s fine (really), isn`t it?", "Don`t {know}, `git pull`s fine"]
)
def test_accents_typed_as_apostrophes_do_not_tear_a_sentence(text: str) -> None:
    [sentence] = take_apart(text, "text").sentences
    assert sentence.text.count("'") == 2


@pytest.mark.parametrize(
    ("text", "form", "sentences"),
    [
        ("<p>Vidí <g>sta</g><g>rý pes. Sp</g><g>í</g></p>", "xml", ["Vidí starý pes.", "Spí"]),
        ("<p>Menu <g>Soubor</g><g>Nový</g></p>", "xml", ["Menu Soubor", "Nový"]),
        ("<p>点击<g>文件</g><g>打开</g></p>", "xml", ["点击文件", "打开"]),
        ("<p>Menu <a>soubor</a><a>nový</a></p>", "html", ["Menu soubor", "nový"]),
    ],
)
def test_elements_side_by_side_cut_no_word_of_xml(
    text: str, form: Format, sentences: list[str]
) -> None:
    assert [one.text for one in take_apart(text, form).sentences] == sentences


def test_names_that_the_text_has_do_not_stand_in_for_others() -> None:
    [sentence] = take_apart("Tom sieht {name}.", "text").sentences
    assert sentence.text.count("Tom") == 1
    assert take_apart("50 % der Hunde", "text").sentences[0].stand_ins == ()


KINDS: tuple[lexer.Kind, ...] = ("html", "xml")
LARGEST = 50_000
"""Characters: as many as a request may have."""


# What a pattern may begin to match, and give up on, in every place: if it looks at all the rest each time,
# the largest text takes minutes, in which nobody else is served.
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
def test_the_largest_text_of_one_thing_comes_out_as_it_was(unit: str) -> None:
    for text in (
        unit * (LARGEST // len(unit)),
        f"Ja{unit[0]}" + unit[-1] * LARGEST,
        unit[0] * LARGEST + "ja",
        "%" + "0" * LARGEST,
    ):
        document = take_apart(text, "text")
        same = [sentence.text for sentence in document.sentences]
        assert assembled(document, same, [None] * len(same)) == text


@pytest.mark.parametrize(("unit", "kept"), [("😀 Ja ", "😀"), ("*a* ", "*"), ("a\u00ad", "a")])
def test_the_largest_text_of_what_is_lifted_out_loses_nothing(unit: str, kept: str) -> None:
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
def test_the_largest_markup_of_one_thing_loses_nothing(unit: str) -> None:
    text = unit * (LARGEST // len(unit))
    for kind in KINDS:
        assert "".join(token.raw for token in lexer.tokens(text, kind)) == text
        take_apart(text, kind, "sentences")


@pytest.mark.parametrize(
    "text", ["<b>" * 101 + "Ja" + "</b>" * 101, "Ja <b>" * 101, "Ja</b> " * 101]
)
def test_elements_that_are_nested_too_deep_are_refused(text: str) -> None:
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
    """The words in random elements within elements."""
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
def test_whatever_the_alignment_tags_nest_and_nothing_is_lost(rng: random.Random) -> None:
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
def test_elements_over_several_sentences_nest_too(rng: random.Random) -> None:
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


@given(st.text(alphabet="<>/ab\"'=! -&;[]?", max_size=40), st.sampled_from(KINDS))
@settings(max_examples=1000)
def test_any_input_comes_through_the_tokens_whole(text: str, kind: lexer.Kind) -> None:
    assert "".join(token.raw for token in lexer.tokens(text, kind)) == text
    take_apart(text, kind, "sentences")


@pytest.mark.parametrize(
    ("html", "sentences"),
    [
        ("<nav><a>Start</a><a>Über uns</a><a>Kontakt</a></nav>", ["Start", "Über uns", "Kontakt"]),
        ("<p><b><i>Preis</i><i>50 Euro</i></b></p>", ["Preis", "50 Euro"]),
        ("<p><b>Цена</b><b>товара</b></p>", ["Цена", "товара"]),
        ("<p><b>Der Hund</b> <i>schläft</i>.</p>", ["Der Hund schläft."]),
        ("<p>Ein Wo<b>r</b>t</p>", ["Ein Wort"]),
        ("<p><b>Ja,</b><i>gut</i></p>", ["Ja,gut"]),
    ],
)
def test_elements_that_stand_side_by_side_without_a_space_are_texts_of_their_own(
    html: str, sentences: list[str]
) -> None:
    document = take_apart(html, "html", "sentences")
    assert [one.text for one in document.sentences] == sentences
    if "Wo<b>" not in html:
        assert unchanged(document) == html
