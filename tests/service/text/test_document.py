"""Documents taken apart and reassembled: nothing is lost, tags follow words, placeholders are preserved."""

import doctest

import pytest

from service.text import words
from service.text.document import Document
from service.text.languages import profile
from service.text.run import Format
from tests.service.text.pipelines import aligned, assembled, take_apart, unchanged


def test_the_examples_in_docstrings_are_right() -> None:
    assert doctest.testmod(words) == (0, 5)


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
def test_a_copied_text_is_unchanged(text: str, form: Format) -> None:
    assert unchanged(take_apart(text, form, "all" if form == "text" else "sentences")) == text


def test_markup_without_words_is_unchanged() -> None:
    html = "<p>Ja.</p><p>&nbsp;</p><td>12,50&#160;&euro;</td><pre>&lt;</pre> &mdash; <hr>"
    assert unchanged(take_apart(html, "html")) == html


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("| Äpfel | 1.500 | 1.299,00 € |", "text", "| Äpfel | 1,500 | 1,299.00 € |"),
        ("- 1.234\n- **63.788.767**\n- Hunde", "text", "- 1,234\n- **63,788,767**\n- Hunde"),
        ("Hunde\t2,5\t`2,5`", "text", "Hunde\t2.5\t`2,5`"),
        ("1.299,00 €", "text", "1,299.00 €"),
        ("1.500–2.500 €", "text", "1,500–2,500 €"),
        (
            "<tr><th>Äpfel<td width='2,5'>1.299,00&nbsp;&euro;<td><b>2,5</b><pre>2,5</pre>",
            "html",
            "<tr><th>Äpfel<td width='2,5'>1,299.00&nbsp;&euro;<td><b>2.5</b><pre>2,5</pre>",
        ),
        (
            "<p>Hunde<p>1.299,<sup>50</sup> <code>2,5</code><p>1.299,<sup>50</sup> &euro;",
            "html",
            "<p>Hunde<p>1.299,<sup>50</sup> <code>2,5</code><p>1,299.<sup>50</sup> &euro;",
        ),
        # versions, dates, times and the like
        ("1.500", "text", "1.500"),
        ("Hunde\t1.5\t10.5.2024\t18.30\t1,2,3", "text", "Hunde\t1.5\t10.5.2024\t18.30\t1,2,3"),
        # the document has English numbers
        ("Hunde\t1.500\t12.50 €", "text", "Hunde\t1.500\t12.50 €"),
        ("<td>Hunde<td>1.500<td>0.25", "html", "<td>Hunde<td>1.500<td>0.25"),
    ],
)
def test_numbers_between_sentences_are_written_as_in_the_target_language(
    text: str, form: Format, expected: str
) -> None:
    document = take_apart(text, form, source=profile("de"), target=profile("en"))
    assert unchanged(document) == expected


def test_a_sentence_with_tags_is_translated_as_a_whole() -> None:
    document = take_apart("<p>Der <b>alte Hund</b> schläft <i>heute</i>.</p>", "html", "sentences")
    assert [sentence.text for sentence in document.sentences] == ["Der alte Hund schläft heute."]
    target = "Today the old dog sleeps."
    alignment = aligned("Der alte Hund schläft heute.", target, [4, 0, 1, 2, 3, 5])
    assert assembled(document, [target], [alignment]) == (
        "<p><i>Today</i> the <b>old dog</b> sleeps.</p>"
    )


def test_a_part_attached_to_a_word_follows_its_translation() -> None:
    document = take_apart("<p>Das Ende<img src=a> naht heute.</p>", "html", "sentences")
    [sentence] = document.sentences
    target = "Today the end is near."
    alignment = aligned(sentence.text, target, [3, 0, 1, 2, 2, 4])
    assert assembled(document, [target], [alignment]) == "<p>Today the end<img src=a> is near.</p>"


def test_translations_are_escaped_only_in_markup() -> None:
    for form, expected in (("html", "a &lt; b"), ("text", "a < b")):
        document = take_apart("ja", form, "all")  # type: ignore[arg-type]
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
def test_placeholders_are_hidden_and_restored(placeholder: str) -> None:
    [sentence] = take_apart(f"Der Hund sieht {placeholder}, ja.", "text").sentences
    assert placeholder not in sentence.text
    [name] = sentence.stand_ins
    document = Document((sentence,))
    translated = f"Yes, the dog sees {name.name}."
    assert sentence.came_through(translated)
    assert assembled(document, [translated], [None]) == f"Yes, the dog sees {placeholder}."
    assert not sentence.came_through("The dog sees.")
    assert not sentence.came_through(f"{name.name} and {name.name}")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Der Hund{s} schläft.", ["Der Hund426 schläft."]),
        ("Die {typ}datei ist leer.", ["Die 426datei ist leer."]),
        ("{name}s Hund schläft.", ["Toms Hund schläft."]),
        ("{zahl}7 Hunde schlafen.", ["7 Hunde schlafen."]),  # no stand-in may touch a digit
    ],
)
def test_a_placeholder_may_be_part_of_a_word(text: str, read: list[str]) -> None:
    document = take_apart(text, "text")
    assert [one.text for one in document.sentences] == read
    assert unchanged(document) == text


@pytest.mark.parametrize(
    "text", ["It`s fine (really), isn`t it?", "Don`t {know}, `git pull`s fine"]
)
def test_accents_typed_as_apostrophes_do_not_split_a_sentence(text: str) -> None:
    [sentence] = take_apart(text, "text").sentences
    assert sentence.text.count("'") == 2


@pytest.mark.parametrize(
    ("text", "form", "sentences"),
    [
        ("<p>Vidí <g>sta</g><g>rý pes. Sp</g><g>í</g></p>", "xml", ["Vidí starý pes.", "Spí"]),
        ("<p>Vidí <w:r>sta</w:r><w:r b='1'>rý</w:r> pes.</p>", "xml", ["Vidí starý pes."]),
        ("<menu>x <item>apples</item><item>pears</item> y</menu>", "xml", ["x apples", "pears y"]),
        ("<p>Menu <g>soubor</g><go>nový</go></p>", "xml", ["Menu soubor", "nový"]),
        ("<p>Menu <g>Soubor</g><g>Nový</g></p>", "xml", ["Menu Soubor", "Nový"]),
        ("<p>点击<g>文件</g><g>打开</g></p>", "xml", ["点击文件打开"]),
        ("<seg><g>To je</g><g> vě</g><g>ta.</g></seg>", "xml", ["To je věta."]),
        ("<p><g>äpfel</g><g>birnen</g></p>", "xml", ["äpfel", "birnen"]),
        ("<p><span>今天</span><b>天气</b>很好</p>", "html", ["今天天气很好"]),
        ("<p><a>首页</a><a>产品</a></p>", "html", ["首页", "产品"]),
        ("<p>Ulice 5<br/>110 00 Praha</p>", "xml", ["Ulice 5", "110 00 Praha"]),
        ("<p>a &amp; b<w:tab/>c<!-- d -->e</p>", "xml", ["a & b", "ce"]),
        ("<p>Авто<x id='1'/>бус и<x id='2'/>Я</p>", "xml", ["Автобус и", "Я"]),
        ("<p>今天<br/>天气</p>", "xml", ["今天", "天气"]),
        ("<p>Pes<img>kočka<wbr>pes</p>", "html", ["Pes", "kočkapes"]),
        ("<p>Menu <a>soubor</a><a>nový</a></p>", "html", ["Menu soubor", "nový"]),
    ],
)
def test_adjacent_elements_do_not_split_a_word_in_xml(
    text: str, form: Format, sentences: list[str]
) -> None:
    assert [one.text for one in take_apart(text, form).sentences] == sentences


@pytest.mark.parametrize(
    ("attributes", "is_kept"),
    [
        ('translate="no"', True),
        ("TRANSLATE = 'No' id=x", True),
        ("a/translate=no", True),
        ('class="a notranslate"', True),
        ('data-translate="no"', False),
        ('translate="no-items"', False),
        ("title='set translate=\"no\" here'", False),
        ('class="notranslate-x"', False),
        ("translate", False),
    ],
)
def test_only_translate_attributes_exclude_text(attributes: str, is_kept: bool) -> None:
    document = take_apart(f"<p {attributes}>Der Hund</p>", "html")
    assert [one.text for one in document.sentences] == ([] if is_kept else ["Der Hund"])


def test_tags_in_a_clause_without_spaces_enclose_its_words() -> None:
    document = take_apart("<p>今天<b>天气</b>很好。</p>", "html")
    [sentence] = document.sentences
    alignment = aligned(sentence.text, "The weather is nice.", [2, 2, 4, 5, 6])
    found = assembled(document, ["The weather is nice."], [alignment])
    assert found == "<p><b>The weather</b> is nice.</p>"


def test_code_in_segments_of_tmx_and_xliff_is_kept() -> None:
    xml = (
        '<seg>Der <bpt i="1">&lt;b class="x"&gt;</bpt>Hund<ept i="1">&lt;/b&gt;</ept> bellt'
        '<it pos="begin">&lt;i&gt;</it>&#13;&#xD; laut<ph x="1">&lt;br title="Hund"/&gt;</ph>.</seg>'
    )
    document = take_apart(xml, "xml")
    [sentence] = document.sentences
    assert sentence.text == "Der Hund bellt laut."
    assert [tag.kind for tag in sentence.tags] == ["open", "close", *["void"] * 4]
    assert unchanged(document) == xml
    [sentence] = take_apart('Der <ph x="1">&lt;b/&gt;</ph>Hund', "xml").sentences
    assert sentence.text == "Der Hund"
    [sentence] = take_apart("<p>Ein <it>kursives</it> <ph>Wort</ph>!</p>", "xml").sentences
    assert sentence.text == "Ein kursives Wort!"


@pytest.mark.parametrize(
    ("html", "sentences"),
    [
        ("<p>Das Wort <ruby>漢字<rt>kanji</rt></ruby> ist da.</p>", ["Das Wort 漢字 ist da."]),
        (
            "<p>Ein <ruby>Haus<rp>(</rp><rt>ie</rt><rp>)</rp></ruby>!</p>",
            ["Ein Haus!"],
        ),
        ("<p>In <ruby>東<rt>to</rt>京<rt>kyo</rt></ruby> oft</p>", ["In 東京 oft"]),
        ("<p>Das <ruby>君達<rt>kimi</ruby> da</p>", ["Das 君達 da"]),
        ("<p>Das <ruby>君達<rp>(<rt>kimi<rp>)</ruby> da</p>", ["Das 君達 da"]),
    ],
)
def test_the_reading_of_a_word_is_kept(html: str, sentences: list[str]) -> None:
    document = take_apart(html, "html", "sentences")
    assert [one.text for one in document.sentences] == sentences
    assert unchanged(document) == html
    [sentence] = take_apart("Das Wort <ruby>漢字<rt>kanji</rt></ruby> da", "text").sentences
    assert sentence.text == "Das Wort 漢字 da"


@pytest.mark.parametrize("form", ["html", "text"])
@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Name\u2003Ort", ["Name", "Ort"]),
        ("Name \u2003Ort", ["Name", "Ort"]),
        ("Name \u00a0 Ort", ["Name", "Ort"]),
        ("Name\u00a0\u00a0\u00a0Ort", ["Name", "Ort"]),
        ("Der\u00a0 Hund", ["Der\u00a0 Hund"]),
        ("10\u00a0km weit", ["10\u00a0km weit"]),
    ],
)
def test_wide_gaps_are_between_columns(text: str, sentences: list[str], form: Format) -> None:
    document = take_apart(text, form)
    assert [one.text for one in document.sentences] == sentences
    assert unchanged(document) == text.replace("\u00a0", "&#160;" if form == "html" else "\u00a0")


def test_plain_spaces_in_html_are_no_gap() -> None:
    [sentence] = take_apart("<p>Der    Hund</p>", "html").sentences
    assert sentence.text == "Der    Hund"


def test_names_in_the_text_are_not_used_as_stand_ins() -> None:
    [sentence] = take_apart("Tom sieht {name}.", "text").sentences
    assert sentence.text.count("Tom") == 1
    assert take_apart("50 % der Hunde", "text").sentences[0].stand_ins == ()


@pytest.mark.parametrize(
    ("html", "sentences"),
    [
        ("<nav><a>Start</a><a>Über uns</a><a>Kontakt</a></nav>", ["Start", "Über uns", "Kontakt"]),
        ("<p><b><i>Preis</i><i>50 Euro</i></b></p>", ["Preis", "50 Euro"]),
        ("<p><b>Цена</b><b>товара</b></p>", ["Цена", "товара"]),
        ("<p><b>Der Hund</b> <i>schläft</i>.</p>", ["Der Hund schläft."]),
        ("<p>Ein Wo<b>r</b>t</p>", ["Ein Wort"]),
        ("<p><b>Ja,</b><i>gut</i></p>", ["Ja,gut"]),
        ("<p>“Neu!”<cite>Karel Novák</cite></p>", ["Neu!", "Karel Novák"]),
        ("<p>„Ano“<i><b>Eva</b></i> »<b>Ne</b>«</p>", ["Ano", "Eva »Ne«"]),
        ("<p>“你好”<b>玛丽</b></p>", ["你好玛丽"]),
        ("<h2>Haus<b class=mw-editsection>[<a>neu</a>]</b></h2>", ["Haus", "neu"]),
        ("<p>#rot\nund #blau\n</p>", ["Tom\nund"]),
        ("<p>Die Hunde<sup>[a]</sup> da</p>", ["Die Hunde da"]),
        ("<p>Am Ende...<a>mehr</a></p>", ["Am Ende", "mehr"]),
        ("<p>Ist dabei. <a>mehr »</a></p>", ["Ist dabei.", "mehr"]),
        ("<p>Ist <b>da. <a>»</a></b></p>", ["Ist da."]),
        ("<p>Das ist J. <a>bach</a></p>", ["Das ist J. bach"]),
        ("<p>Ist da. <a>mehr als genug und viel</a></p>", ["Ist da. mehr als genug und viel"]),
        ("<p>Ist da etc. <a>mehr</a></p>", ["Ist da etc. mehr"]),
        ("<p><b>Ein </b><a>Hof</a><b>. Da </b><a>Hut</a></p>", ["Ein Hof.", "Da Hut"]),
        (
            "<p><a>Ja, das ist nun ein Hof. So.</a> <a>Ja.</a></p>",
            ["Ja, das ist nun ein Hof.", "So.", "Ja."],
        ),
        ("<p><sup>16</sup>Denn so <sup>14</sup>C ist</p>", ["Denn so Tom ist"]),
        ("<p><a>Der Hof</a> <b>12</b></p>", ["Der Hof"]),
        ("<p><a>Der Hof</a> <b>12 mal</b></p>", ["Der Hof 12 mal"]),
        ("<p><a>Der Hof</a> <b>12 €</b></p>", ["Der Hof 12 €"]),
        ("<p>„Was?“ <a>sagte sie</a></p>", ["„Was?“ sagte sie"]),
        ("<p><a>« Zpět</a> <a>Další »</a></p>", ["Zpět", "Další"]),
        ("<p><a>Firma Hof. KG</a> <a>Ano. Ne</a></p>", ["Firma Hof. KG", "Ano. Ne"]),
        ("<p>Am Ende …<b>ja</b>, ja</p>", ["Am Ende ja, ja"]),
        ("<p><i style='mso-list:Ignore'>o<b> </b></i>Ein Haus</p>", ["Ein Haus"]),
    ],
)
def test_adjacent_elements_without_a_space_are_separate_texts(
    html: str, sentences: list[str]
) -> None:
    document = take_apart(html, "html", "sentences")
    assert [one.text for one in document.sentences] == sentences
    if "Wo<b>" not in html:
        assert unchanged(document) == html
