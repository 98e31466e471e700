"""Plain text: Markdown is preserved, its lookalikes are text, and no character is lost."""

import doctest
import re
from itertools import chain

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from service.text.markup import html_tags, plain
from service.text.markup.messages import OUTSIDE, Scope
from service.text.run import Run
from service.text.segmenter import Splitting
from tests.service.text.pipelines import take_apart, unchanged

Tags = list[tuple[int, str]]
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
"""A parser other than the service's own."""


def written(piece: str | Run) -> str:
    """Return a piece as written in the text."""
    return piece if isinstance(piece, str) else piece.written()


def runs(text: str) -> list[Run]:
    found = plain.parse(text)
    assert "".join(map(written, found)) == text
    return [one for one in found if isinstance(one, Run)]


def sentences(text: str) -> list[str]:
    document = take_apart(text, "text")
    assert unchanged(document) == text
    return [sentence.text for sentence in document.sentences]


def test_the_examples_in_docstrings_are_right() -> None:
    assert doctest.testmod(html_tags) == (0, 5)


@pytest.mark.parametrize(
    ("text", "left", "tags"),
    [
        ("Das ist **sehr** gut.", "Das ist sehr gut.", [(8, "**"), (12, "**")]),
        ("*Wichtig*: ~~nein~~ ja", "Wichtig: nein ja", [(0, "*"), (7, "*"), (9, "~~"), (13, "~~")]),
        (
            "***Ein Satz. Noch einer.***",
            "Ein Satz. Noch einer.",
            [(0, "*"), (0, "**"), (21, "**"), (21, "*")],
        ),
        ("_Ja_ und __nein, nie__", "Ja und nein, nie", [(0, "_"), (2, "_"), (7, "__"), (16, "__")]),
        ("*zu\nzweit*", "zu\nzweit", [(0, "*"), (8, "*")]),
        ("Hallo **{name}**!", "Hallo {name}!", [(6, "**"), (12, "**")]),
        ("Co do [ceny](/c 'Ile?')?", "Co do ceny?", [(6, "["), (10, "](/c 'Ile?')")]),
        ("Кот ![и пёс](a.png) тут", "Кот и пёс тут", [(4, "!["), (9, "](a.png)")]),
        ("[](x) Ja", " Ja", [(0, "[](x)"), (0, "")]),
        ("انظر [هنا](/ar) الآن", "انظر هنا الآن", [(5, "["), (8, "](/ar)")]),
        ("これは**重要**です。", "これは重要です。", [(3, "**"), (5, "**")]),
        (
            "[![Stand](a.svg)](/b) **fett [x](https://a.b)**",
            "Stand fett x",
            [
                (0, "["),
                (0, "!["),
                (5, "](a.svg)"),
                (5, "](/b)"),
                (6, "**"),
                (11, "["),
                (12, "](https://a.b)"),
                (12, "**"),
            ],
        ),
        ("<i>♪ Ich gehe ♪</i>", "♪ Ich gehe ♪", [(0, "<i>"), (12, "</i>")]),
        ('<font color="red">Rot</font>', "Rot", [(0, '<font color="red">'), (3, "</font>")]),
        ("Ein <wbr>Wort <!-- so --> ja", "Ein Wort  ja", [(4, "<wbr>"), (9, "<!-- so -->")]),
        ("**Nun:**ja **Zahl:**5", "Nun:ja Zahl:5", [(0, "**"), (4, "**"), (7, "**"), (12, "**")]),
        ("这是**“重要”**的", "这是“重要”的", [(2, "**"), (6, "**")]),
        ("**H**yper **T**ext", "Hyper Text", [(0, "**"), (1, "**"), (6, "**"), (7, "**")]),
        ("2**(3)**4, f(**a, **b)", "2**(3)**4, f(**a, **b)", []),
        ("Python: a**b**c, x**y**(z)", "Python: a**b**c, x**y**(z)", []),
        ("Also x**(y+1)**z", "Also x**(y+1)**z", []),
        ("x**-y**-z", "x**-y**-z", []),
        ("好**Rot**b **(neu)**es", "好Rotb (neu)es", [(1, "**"), (4, "**"), (6, "**"), (11, "**")]),
        ("ja**nein!**ja __name__!", "ja**nein!**ja __name__!", []),
        (
            "Das __große__ Haus ist __sehr alt__.",
            "Das große Haus ist sehr alt.",
            [(4, "__"), (9, "__"), (19, "__"), (27, "__")],
        ),
        (
            "__sehr alt__, __der_wert__ {__x__}",
            "sehr alt, __der_wert__ {__x__}",
            [(0, "__"), (8, "__")],
        ),
        (
            "__Very__ __sure thing__ __init__ __注意__",
            "Very sure thing __init__ 注意",
            [(0, "__"), (4, "__"), (5, "__"), (15, "__"), (25, "__"), (27, "__")],
        ),
        ("__Größe__: groß", "Größe: groß", [(0, "__"), (5, "__")]),
        ("Ja\n__Hinweis__: ja", "Ja\nHinweis: ja", [(3, "__"), (10, "__")]),
        (
            "Das ''ist'' '''Köln'''.",
            "Das ist Köln.",
            [(4, "''"), (7, "''"), (8, "'''"), (12, "'''")],
        ),
        ("'''北京'''是''首都''。", "北京是首都。", [(0, "'''"), (2, "'''"), (3, "''"), (5, "''")]),
        ("6'2'' and 7'', rock '' roll ''", "6'2'' and 7'', rock '' roll ''", []),
        (
            "<v.laut Frau Müller><c.gelb>Das</c> ist <00:01.500>gut</v>",
            "Das ist gut",
            [
                (0, "<v.laut Frau Müller>"),
                (0, "<c.gelb>"),
                (3, "</c>"),
                (8, "<00:01.500>"),
                (11, "</v>"),
            ],
        ),
        (
            "<lang en>Hi</lang>, <i.a>du</i>",
            "Hi, du",
            [(0, "<lang en>"), (2, "</lang>"), (4, "<i.a>"), (6, "</i>")],
        ),
        ("a <c und d>, <b open als c>", "a <c und d>, <b open als c>", []),
        ("Ein \\* *da*", "Ein * da", [(4, "\\"), (6, "*"), (8, "*")]),
    ],
)
def test_inline_marks_are_tags(text: str, left: str, tags: Tags) -> None:
    [run] = runs(text)
    assert run.text == left
    assert [(tag.at, tag.raw) for tag in run.tags] == tags


@pytest.mark.parametrize(
    "text",
    [
        "Ein Satz. Noch einer.\n\nUnd einer\nin zwei Zeilen.",
        "2*3*4, 5 * 6 * 7, a**b, a_b_c, *offen",
        "{*x*} https://a.b/*c*/ [[name]] Hallo __name__!",
        "__name__: Hallo __Name__: __NAME__: ja",
        "__NAME__: Hallo\n__UserName__: ja\n__User_Name__: ja\n__Name__ ja",
        "a < b, x<y and y>z, R&D, List<String>, 3 <4> 5, <Name>",
        "C:\\Daten\\neu.txt, C:\\.git, ein \\* da",
        "It`s me, that`s all.",
        "Er sang:\n\n    Sah ein Knab ein Röslein stehn,\n    Röslein auf der Heiden\n\nund ging.",
        "Sehr geehrte Frau Beck,\n\n\thiermit kündige ich\n\tzum Mai.\n",
        "Składniki:\n\n    2 jajka\n    mąka\n\nZutaten:\n\n    ein Ei\n",
        "~~~ Kapitel eins ~~~\nEs war einmal.",
        "[Anna] Ja. [x] ok (siehe oben)",
        "Zwei Leerzeichen  \nam Ende.",
    ],
)
def test_lookalikes_of_markup_are_text(text: str) -> None:
    [run] = runs(text)
    assert (run.text, list(run.tags), list(run.protected)) == (text, [], [])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("- [ ] Milch kaufen\n- [x] Brot holen", ["Milch kaufen", "Brot holen"]),
        ("1. Kup mleko\n2. Upiecz chleb\n   * dziś", ["Kup mleko", "Upiecz chleb", "dziś"]),
        ("1986. Ein gutes Jahr", ["1986. Ein gutes Jahr"]),
        ("# Titel #\n\nUnter\n---\n\n***\n\n## 見出し", ["Titel", "Unter", "見出し"]),
        ("> Цитата\n> дальше\n\nОтвет", ["Цитата\n", "дальше", "Ответ"]),
        (
            "| Stadt | Land |\n|:--|---|\n| Köln | a \\| b |\n| **Graz** |\n",
            ["Stadt", "Land", "Köln", "a | b", "Graz"],
        ),
        ("```python\nanzahl = 3\n```\nDas ist alles.", ["Das ist alles."]),
        ("Beispiel:\n\n    pip install paket\n\nFertig.", ["Beispiel:", "Fertig."]),
        ("Text\n\n    x = 1\n\nEnde", ["Text", "Ende"]),
        ("# Titel\n\n    Das ist Code\n", ["Titel"]),
        ("Er ist weg.<br />Sie auch.", ["Er ist weg.", "Sie auch."]),
        ("**A**  \nB\\\nC", ["A", "B", "C"]),
        ("<div>\n<p>Hallo &amp; <b>Welt</b></p>\n</div>\n", ["Hallo &amp; Welt"]),
        ("<script>\nlet a;\n</script>\n\nJa", ["Ja"]),
        ("Siehe [hier][r].\n\n[r]: https://a.b 'So'\n", ["Siehe hier."]),
        ("[Anna]: Ja.\n[Otto]: Nein.\n\n- Gut", ["[Anna]: Ja.", "[Otto]: Nein.", "Gut"]),
        ("Satz[^1].\n\n[^1]: Eine Fußnote\n    mehr", ["Satz.", "Eine Fußnote\n    mehr"]),
        ("---\ntitle: Start\ntags: [a]\n---\nText *da*", ["Text da"]),
    ],
)
def test_blocks_are_separate_runs(text: str, left: list[str]) -> None:
    assert [run.text for run in runs(text)] == left


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Nimm `a b`, ``c ` d`` und `` ` ``.", ["`a b`", "``c ` d``", "`` ` ``"]),
        ("Ein <code>rohes *Stück*</code> ja", ["<code>rohes *Stück*</code>"]),
        ("Siehe <https://a.b/c> oder <ich@a.b>.", ["<https://a.b/c>", "<ich@a.b>"]),
        ("変数`x`を使う", ["`x`"]),
    ],
)
def test_code_and_addresses_are_protected(text: str, kept: list[str]) -> None:
    [run] = runs(text)
    assert [one.raw for one in run.protected] == kept


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[Start](/) | [Hilfe](/hilfe)", ["Start", "Hilfe"]),
        ("| Katze | Hund |\nNur Text", ["Katze", "Hund", "Nur Text"]),
        (
            "Stadt\tBeruf\nKöln\tLehrerin\t34\nEnde\nhier",
            ["Stadt", "Beruf", "Köln", "Lehrerin", "34", "Ende\nhier"],
        ),
        ("Hi {{ name | gross }}! | Da", ["Hi {{ name | gross }}!", "Da"]),
        ("**Kot\tpies** i\n\tmysz", ["Kot", "pies i", "\tmysz"]),
        ("a || b, |x| < 3, a|b", ["a || b, |x| < 3, a|b"]),
        ("Kot   4,50 €\n  Pies     3", ["Kot", "4,50 €", "  Pies", "3"]),
        ("Dwa  odstępy.  I   \n   tak", ["Dwa  odstępy.  I   \n   tak"]),
        ("{\\an8}Подожди!\\NЯ иду.", ["Подожди!", "Я иду."]),
        ("{\\i1}Halt!{\\i0} Nein", ["Halt! Nein"]),
        ("Ja!\\nich Nein\\nDoch", ["Ja!", "ich Nein", "Doch"]),
        ("Ja:\\tNein\\r\\nDoch \\t so", ["Ja:", "Nein", "Doch ", " so"]),
        ("Ja,\\n\\nich\\tty\\r\\nno", ["Ja,", "ich", "ty", "no"]),
        ('Ja\\nich \\"ne\\"\\nty', ["Ja", 'ich \\"ne\\"', "ty"]),
        ("Ja,\\tich,\tty,\\nno", ["Ja", "ich", "ty,", "no"]),
        ("\\newpage a\\ref{b} $a\\neq b$ OK\\to", ["\\newpage a\\ref{b} $a\\neq b$ OK\\to"]),
        ("C:\\Mé Soubory\\nodejs a C:\\x.\\nDům", ["C:\\Mé Soubory\\nodejs a C:\\x.\\nDům"]),
        ("C:\\Mé Soubory\\nodejs.\\nDům", ["C:\\Mé Soubory\\nodejs.\\nDům"]),
        ("C:\\x je pes\\nDům\\nAno", ["C:\\x je pes", "Dům", "Ano"]),
        ("src\\test, a\\readme.md und A\\B\\ntom", ["src\\test, a\\readme.md und A\\B\\ntom"]),
        ("Von a\\tb, .\\neu\\test und \\nu\\rho", ["Von a\\tb, .\\neu\\test und \\nu\\rho"]),
        ("C:\\Daten\\neu.txt und \\\\srv\\Neu", ["C:\\Daten\\neu.txt und \\\\srv\\Neu"]),
        (
            "1\n00:00:01,000 --> 00:00:02,500\nJa.\n- <i>Nein</i>.\n\n2\n0:03,000 --> 0:04,000\n行こう\n",
            ["Ja.", "Nein.", "行こう\n"],
        ),
        (
            "WEBVTT Titel\n\nNOTE so\n\neins\n00:01.000 --> 00:02.000 align:start\n<v Anna>Hallo</v>\n",
            ["Hallo\n"],
        ),
        ("1\n0:01,000-->0:02,000\nJa.\n2\n0:02,000\t-->\t0:03,000\nNein.", ["Ja.\n2\n", "Nein."]),
        ("Von A --> B\n", ["Von A --> B\n"]),
    ],
)
def test_cells_and_subtitles_are_separate_runs(text: str, left: list[str]) -> None:
    assert [run.text for run in runs(text)] == left


COUNT = "{n, plural, =0 {nic} one {# plik} other {# plików}}"


@pytest.mark.parametrize(
    ("text", "scope", "left", "kept"),
    [
        (f"Masz {COUNT} dziś `x`.", OUTSIDE, "Masz \ufffc dziś \ufffc.", [COUNT, "`x`"]),
        (f"Nimm '{COUNT}' so", OUTSIDE, f"Nimm '{COUNT}' so", []),
        ("'{x}' # {y}", OUTSIDE, "'{x}' # {y}", []),
        ("'{x}' # {y}", Scope(1, is_plural=False), "\ufffc # {y}", ["'{x}'"]),
        ("'{x}' #", Scope(1, is_plural=True), "\ufffc \ufffc", ["'{x}'", "#"]),
        ("l'#' a", Scope(1, is_plural=True), "l\ufffc a", ["'#'"]),
        (
            "a '{' b'}' '{c d}' it''s",
            Scope(1, is_plural=True),
            "a \ufffc b\ufffc '{c d}' it''s",
            ["'{'", "'}'"],
        ),
    ],
)
def test_arguments_literals_and_numbers_of_messages_are_protected(
    text: str, scope: Scope, left: str, kept: list[str]
) -> None:
    [run] = [one for one in plain.parse(text, scope) if isinstance(one, Run)]
    assert (run.text, [one.raw for one in run.protected]) == (left, kept)


README = """# Titel

Ein **fetter** Satz mit [einem *guten* Link](https://a.b/c "So") und `code`. Noch
einer, der <kbd>Strg</kbd> hat.

* Punkt eins
  geht weiter
* Punkt zwei
  1. darin
  2. und ~~nicht~~ mehr

> Zitat: _wichtig_
> - Liste

| a | b |
|---|--:|
| Wort `x` | ![Bild](b.png) |

```sh
ls -l
```

<div align="center">
Mitte
</div>

Ende[^1] \\*kein Stern\\*\\
Zeile.

[^1]: Fuß
"""


def test_an_untranslated_readme_is_unchanged() -> None:
    assert "code" not in " ".join(sentences(README))


LINES = st.sampled_from(
    [*README.splitlines(), "", "", "    x", "\tx", "***", "- ", "[a]: b", "~~~"]
)
MARKS = [
    *("**", "](", "</b>", "<b>", "<br>", "<!--", "```", "    ", "| ", "|-|", "- [ ] ", "[^1]"),
    *("<code>", "</code>", "&amp;", "https://a.b", "\r\n", "\x00", "\u2028", "\u2066", "\u2069"),
    *("1. ", "a\tb", "a | b", "\\N", "{\\an8}", "\n1\n00:00:01,000 --> 00:00:02,000\n"),
    *("{n, plural, one {", "{n, select, a {b} other {# c}}", "}}", "'{"),
    *("ab", "Ä", "日本", "я", "\ufffc", "\ud800", *"*_~`[]()<>|\\#-+>!&:^ \n\t\"'{}1"),
]
PIECES = st.sampled_from(MARKS)
SPLITTINGS: tuple[Splitting, ...] = ("all", "paragraphs", "sentences", "none")
TEXTS = st.lists(PIECES).map("".join) | st.lists(LINES).map("\n".join) | st.text()


@given(TEXTS)
@example("*a" * 300)
@example("<code>*a</code> b* *<code>c* _d</code>_")
@example("'{\ufffc {n, select, a {b}}")
@example("<b>" * 300 + "a")
@example("<b>" * 99 + "„a“ „b“" + "</b>" * 99)
@settings(max_examples=500)
def test_any_text_is_preserved(text: str) -> None:
    runs(text)
    for splitting in SPLITTINGS:
        take_apart(text, "text", splitting)


def words(text: str) -> list[str]:
    return sorted(re.findall(r"\w+", text))


def test_the_words_equal_those_of_another_parser() -> None:
    source = README.split("<div")[0].replace("<kbd>Strg</kbd>", "Strg")
    inline = chain.from_iterable(token.children or [] for token in READER.parse(source))
    shown = chain.from_iterable((token, *(token.children or [])) for token in inline)
    theirs = " ".join(token.content for token in shown if token.type == "text")
    assert words(" ".join(run.text for run in runs(source))) == words(theirs)


@given(st.lists(LINES).map("\n".join))
@settings(max_examples=100)
def test_a_copied_text_renders_the_same(text: str) -> None:
    document = take_apart(text, "text")
    assert READER.render(unchanged(document)) == READER.render(text)
