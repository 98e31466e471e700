"""Markers in pairs, as in translators' formats and forums, are tags."""

import pytest

from service.text.markup.nesting import MAX_NESTING
from service.text.markup.plain import parse
from service.text.run import Run
from tests.service.text.pipelines import take_apart, unchanged


def tags(text: str) -> tuple[str, list[tuple[int, str, str]]]:
    """Return the text of all runs, and its tags."""
    [run] = [one for one in parse(text) if isinstance(one, Run)]
    return run.text, [(tag.at, tag.raw, tag.kind) for tag in run.tags]


@pytest.mark.parametrize(
    ("text", "left", "raws"),
    [
        ("Klikni <link>sem</link>.", "Klikni sem.", ["<link>", "</link>"]),
        ("<0>Víc</0> a <1>dál</1>", "Víc a dál", ["<0>", "</0>", "<1>", "</1>"]),
        ("Je to [b]tak [i]dobře[/i][/b]!", "Je to tak dobře!", ["[b]", "[i]", "[/i]", "[/b]"]),
        ("[url=https://a.b/c?d]Sem[/url]", "Sem", ["[url=https://a.b/c?d]", "[/url]"]),
        ("{link}Sem{/link} teď", "Sem teď", ["{link}", "{/link}"]),
        ("{{#if a}}Ano{{/if}}", "Ano", ["{{#if a}}", "{{/if}}"]),
        ('[quote="jan, post:1"]\nNe.\n[/quote]', "\nNe.\n", ['[quote="jan, post:1"]', "[/quote]"]),
        ('a <x id="1">b</x>', "a b", ['<x id="1">', "</x>"]),
        ('<a-b c-d :e="f">ano</a-b>', "ano", ['<a-b c-d :e="f">', "</a-b>"]),
        ('<video controls src="a"></video> a', " a", ['<video controls src="a">', "</video>"]),
        ("<button disabled>Ano</button>", "Ano", ["<button disabled>", "</button>"]),
        ("[b]a [i]b[/b] c[/i]", "a [i]b c[/i]", ["[b]", "[/b]"]),
        (r"a \emph{b} \textbf{c d}.", "a b c d.", [r"\emph{", "}", r"\textbf{", "}"]),
        (r"\subsection*{Pes a dům}", "Pes a dům", [r"\subsection*{", "}"]),
        ("a `b c`_, `d <https://a.b>`__", "a b c, d", ["`", "`_", "`", " <https://a.b>`__"]),
    ],
)
def test_markers_in_pairs_are_tags(text: str, left: str, raws: list[str]) -> None:
    found, marks = tags(text)
    assert found == left
    assert [raw for _, raw, _ in marks] == raws
    assert [kind for _, _, kind in marks].count("open") == len(raws) // 2


@pytest.mark.parametrize(
    "text",
    [
        "{name} a [x] a <0> a List<String>",
        "<a-b pes c-d>ano</a-b>",
        "značky <button> a <form> a <input>",
        "[/b] {/link} </0> a/b",
        "[b]ano[/i] {a}b{/c}",
        "1 < 2 </ 3 [ /b]",
        r"a \emph b} \ref{c} \frac{1}{2}",
        "a b` _c_d `e`_f",
    ],
)
def test_markers_without_a_counterpart_are_text(text: str) -> None:
    assert tags(text) == (text, [])


def test_markers_that_are_nested_too_deeply_are_text() -> None:
    text = f"{'[b]' * MAX_NESTING}a{'[/b]' * MAX_NESTING}"
    assert tags(text) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        "Souhlasím s <0>podmínkami</0> a <1>tím</1>. Ano, {link}dál{/link}.",
        '[quote="jan"]\nNe. Ne.\n[/quote]\n\nAno [b]tak[/b].',
        "{{#if a}}Ano.{{else}}Ne.{{/if}}",
        "Klikni [url=`a b`]sem[/url]. [quote=`Jan B`]Ne.[/quote]",  # with code in a marker
        "Ten <c.`a b`>pes</c> a <v `Jan B`>kočka",
    ],
)
def test_a_copied_text_with_markers_is_unchanged(text: str) -> None:
    assert unchanged(take_apart(text, "text")) == text
