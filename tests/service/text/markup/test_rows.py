"""Each link of a row keeps its label, whatever the labels' translations are."""

from itertools import count

import pytest

from service.text.run import Format
from service.text.segmenter import Splitting
from tests.service.text.pipelines import take_apart, unchanged


def numbered(text: str, form: Format, splitting: Splitting = "sentences") -> tuple[list[str], str]:
    """Return the sentences of a text, and the text with numbers in their place."""
    document = take_apart(text, form, splitting)
    numbers = map(str, count())
    found = [one.translated(next(numbers), None) for one in document.sentences]
    return [one.text for one in document.sentences], document.assemble(found)


@pytest.mark.parametrize(
    ("text", "labels", "written"),
    [
        (
            '<nav><a href="/d">Handbuch</a> <a href="/l">Laden Sie es</a> <a>Lizenz</a></nav>',
            ["Handbuch", "Laden Sie es", "Lizenz"],
            '<nav><a href="/d">0</a> <a href="/l">1</a> <a>2</a></nav>',
        ),
        (
            "<a>wasser</a>\n<A class=tag> farbe </A> / <a>öl</a>",
            ["wasser", "farbe", "öl"],
            "<a>0</a>\n<A class=tag> 1 </A> / <a>2</a>",
        ),
        (
            "<b><a>Start</a> <strong>Über uns</strong> <span><a>Hilfe</a></span></b>",
            ["Start", "Über uns", "Hilfe"],
            "<b><a>0</a> <strong>1</strong> <span><a>2</a></span></b>",
        ),
        (
            "<td>(<a>Version</a> &middot; <a><img src=x> Autor</a>) 🏠 <a>1</a> - <a>Ort</a></td>",
            ["Version", "Autor", "Ort"],
            "<td>(<a>0</a> · <a><img src=x> 1</a>) 🏠 <a>1</a> - <a>2</a></td>",
        ),
        (
            "<a>Start</a> <!-- neu --> <% if user %> <a>Mein Konto</a> <% end %>",
            ["Start", "Mein Konto"],
            "<a>0</a> <!-- neu --> <% if user %> <a>1</a> <% end %>",
        ),
        (
            "<label>Vorname</label> <label>Nachname</label>",
            ["Vorname", "Nachname"],
            "<label>0</label> <label>1</label>",
        ),
        (
            "<a>Was ist das?</a> <a><b>Wie geht es</b></a> <a>Mehr</a>",
            ["Was ist das?", "Wie geht es", "Mehr"],
            "<a>0</a> <a><b>1</b></a> <a>2</a>",
        ),
    ],
)
def test_each_link_of_a_row_in_html_is_translated_for_itself(
    text: str, labels: list[str], written: str
) -> None:
    assert numbered(text, "html") == (labels, written)


@pytest.mark.parametrize(
    ("text", "labels", "written"),
    [
        ("[Start](#a) [Über uns](#b)", ["Start", "Über uns"], "[0](#a) [1](#b)"),
        (
            "**[Start](#a) [Hilfe][b]**\n\n[b]: /b",
            ["Start", "Hilfe"],
            "**[0](#a) [1][b]**\n\n[b]: /b",
        ),
        ("![Bau](a.svg) ![Prüfung](b.svg)", ["Bau", "Prüfung"], "![0](a.svg) ![1](b.svg)"),
        (
            "[![Bau](a.svg)](/a) [![Neue Version](b.svg)](/b)\n[![Lizenz](c.svg)](/c)",
            ["Bau", "Neue Version", "Lizenz"],
            "[![0](a.svg)](/a) [![1](b.svg)](/b)\n[![2](c.svg)](/c)",
        ),
        ("[![Bau](a)](/a)[![Lizenz](b)](/b)", ["Bau", "Lizenz"], "[![0](a)](/a)[![1](b)](/b)"),
        (
            "- [Ja](a) [Nein](b)\n- Das ist neu",
            ["Ja", "Nein", "Das ist neu"],
            "- [0](a) [1](b)\n- 2",
        ),
        (
            "[url=/a]Hilfe[/url] [url=/b]Preise[/url]",
            ["Hilfe", "Preise"],
            "[url=/a]0[/url] [url=/b]1[/url]",
        ),
    ],
)
@pytest.mark.parametrize("splitting", ["all", "sentences", "none"])
def test_each_link_of_a_row_in_markdown_is_translated_for_itself(
    text: str, labels: list[str], written: str, splitting: Splitting
) -> None:
    assert numbered(text, "text", splitting) == (labels, written)


@pytest.mark.parametrize(
    "text",
    [
        "<b>Der</b> <i>Hund</i> <u>schläft</u>",
        '<span class="w">Guten</span> <span class="w">Morgen</span>',
        "<a>Anna</a> <i>und</i> <a>Bernd</a>",
        "<a>Anna</a> kennt <a>Bernd</a>",
        "<a>Das Haus</a> <a>brennt</a>.",
        "<a>Haus</a>-<a>Boot</a>",
        "<a>wasser</a>, <a>farbe</a>, <a>öl</a>",
        "<b>Siehe</b> <a>das Handbuch</a>",
        "<a><b>Die</b> <i>Anleitung</i></a>",
    ],
)
def test_the_elements_of_a_sentence_are_translated_together(text: str) -> None:
    assert len(take_apart(text, "html").sentences) == 1


@pytest.mark.parametrize(
    "text",
    [
        "<a> Start </a>  <i><a>\nHilfe</a></i> | <b> </b> <a></a>",
        "<a>Start</a> <b><a>Hilfe</b> <a>Preise</a> <a>Ja",
        "</a> <a>Start</a> <a>Hilfe</a>",
        "<a>Er sagt „Ja“</a> <a>{name} &amp; https://a.org</a> <a><code>x</code></a>",
    ],
)
@pytest.mark.parametrize("splitting", ["all", "sentences", "none"])
def test_a_copied_row_is_unchanged(text: str, splitting: Splitting) -> None:
    assert unchanged(take_apart(text, "html", splitting)) == text
