"""Elements whose words became one word in the translation, or have no counterpart there."""

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.text.markup import elements, plain
from service.text.markup.projection import project, tree
from service.text.run import Run
from service.text.words import Alignment, align_words, word_spans
from tests.service.text.pipelines import aligned


def parsed(text: str) -> Run:
    [run] = [piece for piece in plain.parse(text) if isinstance(piece, Run)]
    return run


def placed(run: Run, alignment: Alignment) -> str:
    tags = project(tree(run.tags, len(run.text)), alignment)
    return Run(alignment.target, tags, (), run.format).written()


def attended(source: str, target: str, attention: list[list[int]]) -> Alignment:
    """Align words by the source words to which each target word attends, the most important one first."""
    spans = word_spans(source), word_spans(target)
    weights = np.zeros((len(spans[1]), len(spans[0])), np.float32)
    for row, words in zip(weights, attention, strict=True):
        for rank, word in enumerate(words):
            row[word] = 0.6 / (rank + 1)
    return align_words(source, target, *spans, weights)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Read the **user** *manual*.", "Lies das **Benutzerhandbuch**."),
        ("Read **the user** *manual*.", "Lies **das** *Benutzerhandbuch*."),
        ("Read the *user* [manual](/).", "Lies das [Benutzerhandbuch](/)."),
        ("Read the [user](/) **manual**.", "Lies das [Benutzerhandbuch](/)."),
        ("Read the [user](/1) [manual](/2).", "Lies [das](/1) [Benutzerhandbuch](/2)."),
        ("Read **the [user](/1) [manual](/2)**.", "Lies **[das](/1) [Benutzerhandbuch](/2)**."),
        ("Read the **[user](/1) [manual](/2)**.", "Lies **[das](/1) [Benutzerhandbuch](/2)**."),
        ("Read the <0>user</0> <1>manual</1>.", "Lies <0>das</0> <1>Benutzerhandbuch</1>."),
        ("Read the ![user](/u) manual.", "Lies das ![Benutzerhandbuch](/u)."),
        ("Read the ![user](/u) [manual](/2).", "Lies das [Benutzerhandbuch](/2)![](/u)."),
    ],
)
def test_elements_share_the_words_of_a_compound(text: str, expected: str) -> None:
    run = parsed(text)
    attention = [[0], [1], [3, 2], [4]]
    alignment = attended(run.text, "Lies das Benutzerhandbuch.", attention)
    assert placed(run, alignment) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<b>user</b> <i>manual</i>", "Lies das <b>Benutzerhandbuch</b><i></i>."),
        ('<a href="1">user</a> <a>manual</a>', 'Lies <a href="1">das</a> <a>Benutzerhandbuch</a>.'),
        ("<b>user</b> <a>manual</a>", "Lies das <a>Benutzerhandbuch</a><b></b>."),
        ("<a>user</a> <b>manual</b>", "Lies das <a>Benutzerhandbuch</a><b></b>."),
    ],
)
def test_no_tag_of_html_is_lost(text: str, expected: str) -> None:
    [run] = elements.parse(f"Read the {text}.", "html")
    assert isinstance(run, Run)
    attention = [[0], [1], [3, 2], [4]]
    alignment = attended(run.text, "Lies das Benutzerhandbuch.", attention)
    assert placed(run, alignment) == expected


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("The [a](/1) [b](/2)", "Da: b", "[Da](/2): [b](/1)"),
        ("[The a](/1) [b](/2)", "b das", "[b](/1) [das](/2)"),
        ("The [a](/1) [b](/2)", "b", "[b](/1)[](/2)"),
        ("[The **a**](/1) [b](/2)", "Da b", "[Da](/1) [b](/2)"),
    ],
)
def test_a_link_encloses_a_word_if_there_are_enough(text: str, target: str, expected: str) -> None:
    run = parsed(text)
    words = word_spans(target)
    last = len(word_spans(run.text)) - 1
    assert placed(run, aligned(run.text, target, [last] * len(words))) == expected


@given(st.integers(0, 2**32).map(random.Random))
@settings(max_examples=300)
def test_no_link_is_empty_and_no_emphasis_for_any_alignment(rng: random.Random) -> None:
    size = rng.randint(2, 7)
    marked = [
        rng.choice(["{}", "[{}](/x)", "**{}**", "*{}*", "**[{}](/x)**", "[*{}*](/x)"]).format(
            f"w{at}"
        )
        for at in range(size)
    ]
    text = "Now " + " ".join(marked)
    run = parsed(text)
    target = " ".join(f"t{at}" for at in range(rng.randint(size, 9)))
    links = [rng.randrange(size + 1) for _ in target.split()]
    written = placed(run, aligned(run.text, target, links))
    assert written.count("](/x)") == text.count("](/x)")
    assert "[]" not in written
    assert "****" not in written.replace("** **", "")
    assert re.sub(r"\*|\[|\]\(/x\)", "", written) == target


@pytest.mark.parametrize(
    ("text", "target", "attention", "expected"),
    [
        ("I see **that he sleeps**.", "Ich sehe, dass er schläft.",
         [[0], [1], [2], [2], [3], [4], [5]], "Ich sehe, **dass er schläft**."),
        ("He *who sleeps* dreams.", "Er, der schläft, träumt.",
         [[0], [1], [1], [2], [2], [3], [4]], "Er, *der schläft*, träumt."),
        ("See **this, and** that.", "Sieh dies, und das.",
         [[0], [1], [2], [3], [4], [5]], "Sieh **dies, und** das."),
        ("See **this,** that.", "Sieh dies, das.",
         [[0], [1], [2], [3], [4]], "Sieh **dies,** das."),
        ("I go _to_ see.", "Ich gehe sehen.", [[0], [1], [3], [2]], "Ich gehe sehen."),
        ("Look **!** now.", "Schau ! jetzt.", [[0], [1], [2], [3]], "Schau **!** jetzt."),
    ],
)  # fmt: skip
def test_marks_touch_no_comma_that_the_source_does_not_have_there(
    text: str, target: str, attention: list[list[int]], expected: str
) -> None:
    run = parsed(text)
    assert placed(run, attended(run.text, target, attention)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Leave at any *time* [1].", "Geh *jederzeit* [1]."),
        ("Leave at any [time](/x) [1].", "Geh [jederzeit](/x) [1]."),
        ("Leave at any ![time](/x) [1].", "Geh ![jederzeit](/x) [1]."),
        ("Leave at any <0>time</0> [1].", "Geh <0>jederzeit</0> [1]."),
    ],
)
def test_marks_and_numbers_do_not_stand_for_a_word_without_counterpart(
    text: str, expected: str
) -> None:
    run = parsed(text)
    attention = [
        [0],
        [2, 1, 3],
        [4],
        [5],
        [6, 3],
        [7],
    ]  # "time" gets more from "]" than from "jederzeit"
    alignment = attended(run.text, "Geh jederzeit [1].", attention)
    assert placed(run, alignment) == expected


def test_a_mark_stands_for_a_mark_without_counterpart() -> None:
    run = parsed("Stop **!** [1]")
    alignment = attended(run.text, "Halt … [1]", [[0], [2, 1], [2], [3], [4, 1]])
    assert placed(run, alignment) == "Halt **…** [1]"
