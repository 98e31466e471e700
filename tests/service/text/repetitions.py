"""Repetitive texts of any length, at which a pattern may backtrack."""

from collections.abc import Callable
from functools import partial
from itertools import product

MARKS = (
    *".,;:!?…-–*~_`'\"„“«»‚‘()[]{}<>/\\|@#%&=•😀。！",
    *("\u00ad", "\u200b", "\x00", "\x01", "\u2066", "\u202a", "\u200e", "\u0301", "\ufffc"),
    *(" ", "\u00a0", "\t", "\n", "\r\n", "\u2028"),
)
WORDS = (
    *("a", "A", "1", "ß", "я", "日", "ﷺ", "a ", "Ab ", "z. B. ", "z.B. ", "1. ", "A. ", "Bonn. "),
    *(
        "a) ",
        "(1) ",
        "(ii) ",
        "ii) ",
        "iv. A",
        "x",
        "i",
        "§",
        "§ ",
        "++a+a",
        "- ",
        "Nr. 5 ",
        "1 € ",
        "= .5–6 ",
        "str. 5 ",
        "etc. ",
        "ab, ",
        "ab – ",
    ),
    *("ABC DEF ", "a\u00ad"),
)
PLACEHOLDERS = (
    *("%s", "%1$s ", "%(a)s", "%(", "%1", "%%a%%", "%a", "{a}", "{a", "{{ ", "`a`", "`a", "#a "),
    *("#1", "http://a", "http://.", "a@b.c ", "a@", "@a@", "&#", "&amp;", "&#65;", ":)", ":)) "),
    *(
        "<%",
        "<% a",
        "<% a %>",
        "{%",
        "{% a",
        "{{a}}",
        "$a(",
        "$a() ",
        "@@a",
        "##a##",
        "{}",
        "%,",
        "%*.*",
    ),
    *("#a\n", "`a`s ", "a@b.c:a/", "a/b.", "http://{a}", "http://a{a"),
    *("$a_", "$$a_", "$a_$ ", "\\ab{", "\\ab{a}", "\\emph{", 'href="', '"=\\"a', "<:a", "</a:1"),
    *("<3", "• a ", "日a@", "日a@b.c", "www.日", "日a.", "日#a", "日/a"),
)
ESCAPES = (
    '\\"',
    "\\'",
    '\\"a',
    '\\"a\\" ',
    "\\'a\\\"",
    "a\\'b ",
    '\\\\\\"',
    "\\n",
    "\\ta",
    "\\u00fc",
)
PAIRS = (
    *("*a* ", "**a", "~~a~~ ", "„a“ ", '"a" ', "'ab' ", "(a) ", "\u2066a\u2069", "\u2066a", "«a"),
    *(">>a<< ", " >>a", " ,,a", ",,a'' ", " ``a'"),
)
TAGS = (
    *("</", "<a", "</a", "<b>", "</b>", "<b>a", "a</b>", "<b>a</b> ", "<b></b>", "<wbr>"),
    *("a <wbr>", "<p>a", "<p>a</p>", "<!--", "<!--a-->", "<![CDATA[", "<?", "<!a", "<a b='"),
    *('<a b="', "<a b='c'>", "<code>a", "<code>a</code>", "<b translate=no>a</b>"),
    *("<li translate=no>a", "<p translate=no><b>", "<html translate=no>", "<ul><li translate=no>"),
    *("<b><i>a</b></i>", "<b>%s</b>", "<b>a b</b>", "„<b>a</b>“ ", "A. <b>B</b>. ", "<x>a</x>"),
)
MARKDOWN = (
    *("[", "![", "[a](", "[a](b) ", "[a][", "[a]: b\n", "[a\n", "[^1]", "> ", "> - ", "- a\n "),
    *("- [ ] a\n", "# a\n", "a\n===\n", "---\n", "---\na:\n", "```\n", "~~~ a ~~~\n", "\n\n    a"),
    *("|a|\n|-|\n", "``a` ", "*_", "*a_ ", "**a** ", "_a ", "\\*", "<http:", "<div>\n", "<kbd>"),
    *("__a__ ", "__a b__ ", "__A__: b\n"),
    *(
        "!!! note\n",
        '!!! a "',
        '!!! a "b"\n    c\n\n',
        '=== "a"\n',
        "::: a\n",
        ":::a[",
        ":::{",
        "/// a |",
    ),
    *(
        "[!a] b\n",
        ".. a::\n",
        ".. a:b",
        "import a from ",
        "import a from 'b'\n",
        "export {\n",
        "+++\na=\n",
    ),
    *("`a`_ ", "`a <b", "a-\n", "A-by: <a"),
    *("<kbd>a</kbd>", "<pre>\n", "**a:", "**a:**b", "~~“a”~~b"),
)
CELLS = (
    *("a\tb ", "a   b", "a | b ", "ab > ", "a → ", "a » ", "日 » ", " »", "a..", "| a |\n"),
    *("\\N", "a\\n ", "{\\an8}", "{\\", "<c.a", "<c.a>", "<v a"),
    *("0:01.0 --> 0:02.0\na\n", "1\n0:01.0 --> 0:02.0\n\n", "0:01.0 -->"),
)
MESSAGES = (
    *("{a, plural,", "{a, plural, one {", "{a,select,b{", "'{", "{a,select,b{c}} "),
    *("{a,plural,b{#}}d", "{a, plural,}", "{a,select,b{c}x}", "{ ", "{a ,"),
    *("a {a,select,b{c}} ", "a {a,plural,b{c}d{# e}} f. ", "=1{a}", "b{c {a,select,d{e}} f}"),
)
OPENED = (
    *("<", "</", "<a ", "<a b='", "<!a", "&#", "&#x", "http://", "a@", "#", "%", "%(", "{{", "`"),
    *("*", "„", "'", "(", "\u2066", '<b class="'),
)
FILLINGS = ("a", "1", " ", ".-")
NESTED = (
    ("<b>", "</b>"),
    ("(", ")"),
    ("„", "“"),
    ("<p>", "</p>"),
    ("{", "}"),
    ('"', '"'),
    ("*", "*"),
    ("[", "](a)"),
    ("{a,plural,b{", "}}"),
    ("{a,plural,", "}"),
    ("a {a,plural,b{", "}} c"),
    ("{a,select,b{c}d{e ", " f}}"),
    ("http://{a", "}"),
)
DRAWN = ("-=", "=~<", "- ", "* ", "->", "<-", "!?", "/.", "@a/")
NUMBERS = (
    *(
        "zwanzig ",
        "Zwanzig, ",
        "hundert",
        "ein",
        "zweiund",
        "twenty-",
        "one hundred and ",
        "thousand ",
    ),
    *("1 Mai ", "Mai 1, ", "1:30 to ", "4.30 pm ", "a–", "1–", "a—1", '""a"" ', '"""a '),
)
UNITS = (
    *(*MARKS, *WORDS, *PLACEHOLDERS, *ESCAPES, *PAIRS, *TAGS),
    *(*MARKDOWN, *CELLS, *MESSAGES, *NUMBERS),
)


def repeated(unit: str, length: int, before: str = "", after: str = "") -> str:
    return before + unit * (length // len(unit)) + after


def _nested(opening: str, closing: str, length: int) -> str:
    count = length // (len(opening) + len(closing))
    return opening * count + "a" + closing * count


PATTERNS: dict[str, Callable[[int], str]] = {
    **{
        f"{unit!r} in a sentence": partial(repeated, unit, before="Ab ", after=" cd.")
        for unit in UNITS
    },
    **{
        f"{unit!r} between words": partial(repeated, unit, before="a", after="-b") for unit in DRAWN
    },
    **{
        f"{opened!r} and {filling!r}": partial(repeated, filling, before=f"a {opened}")
        for opened, filling in product(OPENED, FILLINGS)
    },
    **{f"{pair!r} nested": partial(_nested, *pair) for pair in NESTED},
}
