"""Elements within words, empty elements and footnote marks."""

import pytest

from service.text.run import Format
from service.text.segmenter import Splitting
from tests.service.text.pipelines import aligned, assembled, take_apart, unchanged


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        ("<p>Ein Garten von 400 m<sup>2</sup> ist da.</p>", ["m<sup>2</sup>"]),
        ("<p>Das H<sub>2</sub>O kocht.</p>", ["H<sub>2</sub>O"]),
        ("<p>Na<sub>2</sub>SO<sub>4</sub> ist ein Salz.</p>", ["Na<sub>2</sub>SO<sub>4</sub>"]),
        ("<p>Вода H<sub>2</sub>O кипит.</p>", ["H<sub>2</sub>O"]),
        ("<p>Ein <b>W</b>ort.</p>", []),
    ],
)
def test_units_and_formulas_are_kept_whole(html: str, kept: list[str]) -> None:
    document = take_apart(html, "html", "sentences")
    [sentence] = document.sentences
    assert [one.written for one in sentence.stand_ins] == kept
    assert not kept or unchanged(document) == html


def test_the_space_after_an_image_stays_after_it() -> None:
    document = take_apart("<p>Der <img/> alte Hund</p>", "html", "sentences")
    [sentence] = document.sentences
    assert sentence.text == "Der alte Hund"
    alignment = aligned(sentence.text, "Dog, old, the", [2, 2, 1, 1, 0])
    assert assembled(document, ["Dog, old, the"], [alignment]) == "<p>Dog, <img/> old, the</p>"


def test_several_images_leave_one_space_between_words() -> None:
    html = "<p>Der <img/> <img/> alte Hund</p>"
    document = take_apart(html, "html", "sentences")
    [sentence] = document.sentences
    assert sentence.text == "Der alte Hund"
    assert unchanged(document) == html


@pytest.mark.parametrize(
    "mark", ["<sup>3</sup>", '<sup><a href="#f1">12</a></sup>', "<sup><b>[</b>4<b>]</b></sup>"]
)
def test_the_number_of_a_footnote_is_not_part_of_the_word(mark: str) -> None:
    html = f"<p>Sie kaufte das Buch{mark} gestern.</p>"
    document = take_apart(html, "html", "sentences")
    [sentence] = document.sentences
    assert sentence.text == "Sie kaufte das Buch gestern."
    assert [tag.raw for tag in sentence.tags] == [mark]
    assert unchanged(document) == html


@pytest.mark.parametrize(
    ("word", "mark"), [("Hund", "[a]"), ("Hund", "(b)"), ("Hof", "2"), ("Hunde", "c")]
)
def test_a_footnote_may_follow_any_word(word: str, mark: str) -> None:
    html = f"<p>Der {word}<sup>{mark}</sup> ist da.</p>"
    [sentence] = take_apart(html, "html", "sentences").sentences
    assert sentence.text == f"Der {word} ist da."


@pytest.mark.parametrize("unit", ["m", "km", "x", "µm", "CO", "mc"])
def test_the_power_of_a_unit_is_no_footnote(unit: str) -> None:
    [sentence] = take_apart(f"<p>Je {unit}<sup>2</sup> da.</p>", "html", "sentences").sentences
    assert [one.written for one in sentence.stand_ins] == [f"{unit}<sup>2</sup>"]


def test_a_word_with_a_superscript_is_kept_whole() -> None:
    [sentence] = take_apart("<p>Die Firma<sup>neu</sup> ist da.</p>", "html", "sentences").sentences
    assert [one.written for one in sentence.stand_ins] == ["Firma<sup>neu</sup>"]


@pytest.mark.parametrize(
    "html",
    [
        "<p>Dom.</p><sub>Dokument je z května.</sub>",
        "<p><sub><sup>S láskou</sup></sub></p>",
        "<p>Pes <sup>(viz poznámka)</sup> je velký</p>",
        "<p>Pes.<sup>1 Viz kniha od Anny</sup></p>",
    ],
)
def test_sentences_in_superscripts_and_subscripts_are_translated(html: str) -> None:
    document = take_apart(html, "html", "sentences")
    assert not any(one.stand_ins for one in document.sentences)
    assert "".join(one.text for one in document.sentences).count(" ") >= 1
    assert unchanged(document) == html


@pytest.mark.parametrize(
    ("text", "form", "translation", "links", "written"),
    [
        ("Dzięki 😊 ale nie.", "text", "Thanks, but no.", [0, 1, 1, 2, 3], "Thanks 😊, but no."),
        (
            "Он сказал 😂, что да.",
            "text",
            "He said that yes.",
            [0, 1, 3, 4, 5],
            "He said 😂 that yes.",
        ),
        ("Ahoj <img/>!", "html", "Hello!", [0, 1], "Hello <img/>!"),
        ("Ahoj <img/>, ty", "html", "(you), hello", [2, 2, 2, 1, 0], "(you) <img/>, hello"),
    ],
)
def test_moved_symbols_and_single_elements_have_spaces_around_them(
    text: str, form: Format, translation: str, links: list[int], written: str
) -> None:
    document = take_apart(text, form)
    [sentence] = document.sentences
    alignment = aligned(sentence.text, translation, links)
    assert assembled(document, [translation], [alignment]) == written


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Sie nutzen 😊 .NET und Java.", "text"),
        ("Es sind 😊 ,5 Liter.", "text"),
        ("Sie öffnen <img/> .env jetzt.", "html"),
        ("Danke 😊  für alles.", "text"),
    ],
)
def test_spaces_before_words_that_begin_with_a_mark_and_double_spaces_are_kept(
    text: str, form: Format
) -> None:
    assert unchanged(take_apart(text, form)) == text


def test_a_word_that_begins_with_a_mark_is_not_joined_to_the_word_before_an_image() -> None:
    [sentence] = take_apart("Sie öffnen <img/>.config jetzt.", "html").sentences
    assert sentence.text.startswith("Sie öffnen ")


@pytest.mark.parametrize("splitting", ["none", "paragraphs", "sentences", "all"])
@pytest.mark.parametrize(
    "text",
    [
        "Ja\n\n😀\n\nNein",
        "::: pozor\nNic\n:::\n\nKonec",
        "Ja\n<img> nic",
        "Ja \n => \n nic",
        "Ja\n    <img>\n    nic",
        "  <img>\n  Ja\n  <x/> <x/>\nnic",
        "(\n😀\n)\n- nic",
    ],
)
def test_what_stands_between_two_lines_stays_there(text: str, splitting: Splitting) -> None:
    assert unchanged(take_apart(text, "text", splitting)) == text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Dom <img>\nKočka <img>\nPes <img>", ["Dom", "Kočka", "Pes"]),
        ("Dom  <!-- a -->\nKočka <x/> \nPes", ["Dom", "Kočka", "Pes"]),
        ("Dom 😊\r\nKočka 😊\nPes", ["Dom", "Kočka", "Pes"]),
        ("<a href='1'><img></a>\n<a href='2'><img></a>\nPes", ["Pes"]),
    ],
)
def test_a_line_that_ends_with_an_image_is_not_joined_to_the_next(
    text: str, lines: list[str]
) -> None:
    document = take_apart(text, "text")
    assert [one.text for one in document.sentences] == lines
    assert unchanged(document) == text


def test_an_image_on_an_indented_line_of_its_own_stays_there() -> None:
    html = "<p>\n    To je\n    <img>\n    velký pes.\n</p>"
    document = take_apart(html, "html", "sentences")
    [sentence] = document.sentences
    translation = "This is a big dog."
    alignment = aligned(sentence.text, translation, [0, 1, 2, 2, 3, 4])
    written = assembled(document, [translation], [alignment])
    assert written == "<p>\n    This is <img>\n    a big dog.\n</p>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>Dom <img> <img>\nKočka</p>", "<p>House <img> <img>\nCat</p>"),
        ("<p>Dom <a href='x'><img></a>\nKočka</p>", "<p>House <a href='x'><img>\n</a>Cat</p>"),
    ],
)
def test_images_at_the_end_of_a_line_of_html_are_not_joined_to_the_next_word(
    html: str, expected: str
) -> None:
    document = take_apart(html, "html", "sentences")
    [sentence] = document.sentences
    alignment = aligned(sentence.text, "House Cat", [0, 1])
    assert assembled(document, ["House Cat"], [alignment]) == expected


def test_spaces_between_two_tags_are_not_those_behind_the_first() -> None:
    html = "<p>\n    <img>\n    <img> pes</p>"
    document = take_apart(html, "html", "sentences")
    alignment = aligned("pes", "dog", [0])
    assert assembled(document, ["dog"], [alignment]) == html.replace("pes", "dog")


def test_the_line_break_behind_an_image_in_a_link_stays_behind_the_link() -> None:
    text = "<a href='1'><img></a>\n<a href='2'><img></a>\nAno"
    alignment = aligned("Ano", "Yes", [0])
    written = assembled(take_apart(text, "text"), ["Yes"], [alignment])
    assert written == text.replace("Ano", "Yes")


def test_a_symbol_at_the_end_of_emphasis_leaves_no_space_in_it() -> None:
    document = take_apart("**Dzięki 😊** ale", "text")
    alignment = aligned("Dzięki ale", "Thanks but", [0, 1])
    assert assembled(document, ["Thanks but"], [alignment]) == "**Thanks 😊** but"
