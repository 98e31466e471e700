"""Tags are found as by browsers and XML parsers, compared with html5lib and ElementTree."""

from collections import Counter
from typing import Any
from xml.etree import ElementTree

import html5lib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.text.markup.lexer import tokens
from service.text.run import Format
from tests.service.text.pipelines import take_apart, unchanged

EVIL = "<img src=x onerror=alert(1)>"


def elements(html: str) -> Counter[Any]:
    """Count a fragment's elements with their attributes, and its comments, as parsed by a browser."""
    tree = html5lib.parseFragment(html, namespaceHTMLElements=False)
    return Counter(
        (str(one.tag), tuple(sorted(one.attrib.items()))) for one in tree.iter() if one is not tree
    )


def copied(text: str, form: Format) -> str:
    """Take a text apart, and reassemble it with its sentences as their translations."""
    return unchanged(take_apart(text, form, "sentences"))


HARMLESS = [
    f'<b title="Ich gehe {EVIL}">Haus</b>',
    f"<b title='{EVIL}' class=x>Haus</b> und Hof",
    f'<!doctype html "{EVIL}">Haus',
    f"<! x {EVIL}>Haus",
    f"</ x {EVIL}>Haus",
    f"<? x {EVIL}>Haus",
    f'</b title="{EVIL}">Haus',
    f'<textarea></textarea x="{EVIL}">Haus',
    f'<b/title="{EVIL}">Haus</b>',
    f'<b \'x="{EVIL}">Haus</b>',
    f'<b =x="{EVIL}">Haus</b>',
    f'<b a<c="{EVIL}">Haus</b>',
    f'<bä t="{EVIL}">Haus',
    f"<script>if (a<b) '{EVIL}'</script>Haus",
    f"<title>Ein {EVIL} Haus</title>",
    f"<!-- {EVIL} --!>Haus",
    "<!-->Haus <b>und</b> Hof",
    f"Haus <!-- {EVIL}",
    f'Haus <b title="{EVIL}',
    f"Haus <script>{EVIL}",
    "a <3 b < c <= d <- e",
]


SENTENCE = "Ich habe gestern <b onclick=alert(1)>den großen Hund</b> {}gesehen."
MOVED = [
    ("<svg><![CDATA[></svg>", "<!]]>"),
    ("<math><![CDATA[></math>", "<!]]>"),
    ("<svg><![CDATA[>", "<!]]>"),
    ("<svg><style><!--</style></svg>", "<!-->"),
    ("<math><xmp><!--</xmp></math>", "<!--->"),
    ('<svg><style><b title="</style></svg>', '<!">'),
    ("<script><!--<script></script>", "<!x</script>"),
    ("<script><!--<script>--!></script>", "<!x</script>"),
    ("<svg><svg></svg><style><!--</style></svg>", "<!-->"),
    ("<svg x=a/><style><!--</style></svg>", "<!-->"),
    ("<noscript><!-- </noscript> -->", "<!x>"),
    ("<noscript>", "<!</noscript>"),
    ("<noscript>", "<wbr title='</noscript>'>"),
    ("<noscript><!--</noscript>-->", "<!x>"),
    ("<select><xmp><!--</xmp></select>", "<!-->"),
    ("<plaintext>", "</plaintext>"),
]


@pytest.mark.parametrize(("start", "mark"), MOVED)
def test_ambiguous_markup_is_not_moved(start: str, mark: str) -> None:
    text = start + SENTENCE.format(mark)
    assert not [one for one in take_apart(text, "html", "sentences").sentences if one.tags]
    assert elements(copied(text, "html")) == elements(text)


@pytest.mark.parametrize(
    "inner",
    [
        "<svg><title>Ein Bild</title><path d='m 0'/></svg>",
        "<svg viewBox='0 0 5 5'><!--! Icon von <b> --><path d='M1 2'/></svg>",
        "<svg><svg x='1'><g/></svg><svg y='a>b'/><?x y?><title>a < b</title></svg>",
        "<svg><style type='text/css'><![CDATA[ .a{fill:red} ]]></style><metadata></metadata></svg>",
        "<math><!-- x --><mi title='</math>'>x</mi></math>",
        "<script><!-- var x=1; //--></script>",
        "<script>\n<!--//--><![CDATA[//><!--\na();\n//--><!]]>\n</script>",
        "<script>var s='<!--', t='<scripts>';</script>",
        "<script><!-- <script>a()</script> --></script>",
        "<noscript><!-- x --><img src='a'></noscript>",
        "<select><!-- x --><option>Ja</option></select>",
        "<select><option>Ja</option></select>",
    ],
)
def test_pages_with_images_and_lists_are_translated(inner: str) -> None:
    document = take_apart(f"<p>{inner} Der Hund schläft.</p>", "html", "sentences")
    assert "Der Hund schläft." in [one.text for one in document.sentences]


@pytest.mark.parametrize("text", HARMLESS)
def test_text_never_becomes_a_tag(text: str) -> None:
    found = elements(copied(text, "html"))
    assert found - elements(text) == Counter()


PIECES = [
    *("<b>", "</b>", "<p>", "</p>", "<br/>", "<a href=x/>", "<a href='y'>", "</a>", "<i"),
    *('<img alt="', "<!--", "-->", "--!>", "<!", "<?", "</", "<", ">", '"', "'", "=", "/", " "),
    *("a",),
    *(
        EVIL,
        "<script>",
        "</script>",
        "<textarea>",
        "</textarea x>",
        "<title>",
        "</title>",
        "ä",
        "\n",
    ),
    *("Haus", "und", "<3", "&lt;", "&amp;", "<![CDATA[", "]]>", "<svg>", "</svg>", "„", "“", "%s"),
    *("<%", "%>", "<% a %>", "<%=<", "{{", "}}", "{{ a > b }}", "{%", "%}", "]]>", "<?a->", "?>"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_no_elements_are_added(text: str) -> None:
    assert "".join(token.raw for token in tokens(text, "html")) == text
    assert elements(copied(text, "html")) - elements(text) == Counter()


@pytest.mark.parametrize(
    "text",
    [
        "<p>Ich gehe &lt;3 nach Hause.</p>",
        "<_k>Das Haus</_k>",
        "<ü>Das <Ключ a='b'>gute</Ключ> Haus</ü>",
        "<a>Das <b-c:d xmlns:b-c='x'/> Haus &amp; Hof</a>",
        "<!DOCTYPE a [<!ENTITY x '<b>y</b>'>]><a>Das Haus</a>",
        '<!DOCTYPE a SYSTEM "b>c"><a>Das Haus</a>',
        '<!DOCTYPE a [<!ENTITY x "]>">]><a>Das Haus</a>',
        "<!DOCTYPE a [<!-- ]> <b>Haus</b> --><?p ]> ?>]><a>Das Haus</a>",
        "<a><![CDATA[<b>]]>Das Haus<?pi <x> ?></a>",
        "<a t='1 &lt; 2 > 0'>Das Haus</a>",
    ],
)
def test_xml_stays_well_formed_with_the_same_elements(text: str) -> None:
    before, after = (ElementTree.fromstring(one) for one in (text, copied(text, "xml")))
    assert [(one.tag, one.attrib) for one in before.iter()] == [
        (one.tag, one.attrib) for one in after.iter()
    ]
    assert "".join(before.itertext()) == "".join(after.itertext())


def test_a_comment_of_html_that_never_ends_is_preserved() -> None:
    html = "<p>Haus</p><!--[if mso]><p>Katze</p> -- <b translate='no'>"
    assert [one.raw for one in tokens(html, "html") if one.kind == "verbatim"] == [html[11:]]
    assert [one.text for one in take_apart(html, "html").sentences] == ["Haus"]
