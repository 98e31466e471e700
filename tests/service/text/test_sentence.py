"""A sentence and its translation with all rules: no rule undoes the work of another."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from service.text.languages import profile
from service.text.run import Format, Run
from service.text.sentence import Sentence
from service.text.stand_ins import StandIn
from service.text.words import Alignment, align_words, word_spans
from tests.service.text.pipelines import take_apart, unchanged

GERMAN, ENGLISH = profile("de"), profile("en")


def only(text: str, form: Format = "text") -> Sentence:
    [sentence] = take_apart(text, form, "sentences", source=GERMAN, target=ENGLISH).sentences
    return sentence


@pytest.mark.parametrize(
    "html",
    [
        "<p>Siehe https://beispiel.example/#kontakt</p>",
        "<p>Siehe https://beispiel.<wbr>example/#kontakt</p>",
        "<p>Siehe http://a.example/caf´e und http://a.example/x#y</p>",
    ],
)
def test_an_address_is_one_stand_in(html: str) -> None:
    [stand_in, *_] = only(html, "html").stand_ins
    assert stand_in.written in html
    assert unchanged(take_apart(html, "html", "sentences")) == html


def test_an_untranslated_sentence_is_unchanged() -> None:
    english = "We have had a lot of rain in their hou\u00adses and so on, etc."
    rules: dict[str, Any] = {
        "source": GERMAN,
        "target": ENGLISH,
    }
    assert take_apart(english, "text", **rules).parts == (english,)


@pytest.mark.parametrize("text", ["Wir essen jetzt.", "„Wir essen jetzt.“", "(Wir essen jetzt.)"])
def test_the_first_letter_is_capitalised_inside_marks_and_tags(text: str) -> None:
    assert only(text).readable("we are eating now.") == "We are eating now."


def test_capitals_around_quotes_and_stand_ins() -> None:
    sentence = only("„LIES {name} UND http://a.example/b!“")
    assert sentence.text == "LIES Tom UND Boston!"
    assert sentence.readable("Read Tom and Boston!") == "READ {name} AND http://a.example/b!"


def test_a_second_attempt_has_the_same_surrounding_tags() -> None:
    plain = only("<p>„Er hat 1000 Euro“</p>", "html").with_more_protected("")
    assert plain is not None
    assert plain.text == "Er hat 2010 Euro"
    tagged = only("<p>'Er hat 1<wbr>000 Euro'</p>", "html")
    again = tagged.with_more_protected("")
    assert again is None or again.around == tagged.around


def test_as_written_is_the_clients_text() -> None:
    text = "ACHTUNG, z. B. DER „HUND“ BELLT {name}!"
    assert only(text).as_written == text


def test_spans_of_words_follow_restored_parts() -> None:
    sentence = only("Der Hund sieht {name}.")
    assert sentence.words([(0, 3), (15, 18)]) == ["Der", "{name}"]
    assert sentence.readable_words("He sees Tom now.", [(3, 7), (8, 11), (12, 15)]) == [
        "sees",
        "{name}",
        "now",
    ]


def test_what_a_token_replaces_is_one_word_of_an_alignment() -> None:
    stand_ins = (StandIn("<p0>", "{name}", "{name}"),)
    text, target = "Frag <p0> heute.", "Today ask <p0>."
    sentence = Sentence(text, stand_ins=stand_ins, stages=(Run(text),))
    weights = np.array(
        [  # Frag <p0> heute .
            [0.1, 0.0, 0.0, 0.0, 0.9, 0.0],  # Today
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # ask
            [0.0, 0.5, 0.5, 0.0, 0.0, 0.0],  # <
            [0.0, 0.0, 0.9, 0.1, 0.0, 0.0],  # p0
            [0.0, 0.1, 0.0, 0.3, 0.6, 0.0],  # >
            [0.0, 0.0, 0.0, 0.2, 0.0, 0.8],  # .
        ],
        np.float32,
    )
    alignment = Alignment(text, target, word_spans(text), word_spans(target), weights)
    sources, targets, shown = sentence.shown(alignment)
    assert sources == ["Frag", "{name}", "heute", "."]
    assert targets == ["Today", "ask", "{name}", "."]
    expected = [[0.1, 0, 0.9, 0], [1, 0, 0, 0], [0, 0.8, 0.2, 0], [0, 0.2, 0, 0.8]]
    assert shown.tolist() == [pytest.approx(row) for row in expected]


@pytest.mark.parametrize("length", range(21))
def test_a_prefix_that_ends_within_a_word_does_not_split_it(length: int) -> None:
    translation = "The dog sleeps well."
    sentence = replace(only("Der Hund schläft gut."), prefix=translation[:length])
    spans = [(0, 3), (4, 7), (8, 14), (15, 19), (19, 20)]
    expected = ["The", "dog", "sleeps", "well", "."]
    assert sentence.readable_words(translation, spans) == expected


@pytest.mark.parametrize("form", ["text", "html"])
@pytest.mark.parametrize("begins", ["{name}", "&amp;", "https://a.example/x?y=1", "%(n)s", "5"])
def test_no_tag_cuts_a_placeholder_in_a_prefix(begins: str, form: Format) -> None:
    sentence = only("<b>Hund</b> und Katze", form).beginning(begins)
    source, target = sentence.text, f"{begins} and cat"
    count = len(word_spans(begins))
    weights = np.full((count + 2, 3), 0.1, np.float32)
    for word in range(count):  # of the placeholder, only the first two attend to the element
        weights[word, 0 if word < 2 else 1] = 1
    weights[count:, 1:] = np.eye(2)
    wholes = sentence.wholes(target)
    spans = word_spans(source), word_spans(target)
    alignment = align_words(source, target, *spans, weights, None, wholes)
    assert alignment.target_words[0] == begins
    written = sentence.translated(target, alignment).written()
    assert begins.replace("&", "&amp;" if form == "html" else "&") in written
    assert written.replace("<b>", "").replace("</b>", "").endswith(" and cat")


def test_a_prefix_may_have_further_numbers() -> None:
    sentence = only("Das kostet {name} 5 Euro.").beginning("Well, Tom, in 2024")
    assert sentence.text == "Das kostet Boston 5 Euro."
    translation = "Well, Tom, in 2024 it costs Boston 5 euros."
    assert sentence.came_through(translation)
    assert sentence.readable(translation) == "Well, Tom, in 2024 it costs {name} 5 euros."
    assert not sentence.came_through("Well, Tom, in 2024 it costs 5 euros.")


def test_numbers_of_the_source_may_be_in_the_prefix() -> None:
    sentence = only("Am 5. 1. 15 kostet {a} 5 Euro.").beginning("On 1/5/15, {a} costs 5")
    assert sentence.prefix == "On 1/5/15, Tom costs 5"
    assert sentence.came_through("On 1/5/15, Tom costs 5 euros.")
    assert not sentence.came_through("On 1/5/15, Tom costs 5 euros, Tom.")
    assert sentence.readable("On 1/5/15, Tom costs 5 euros.") == "On 1/5/15, {a} costs 5 euros."
    again = sentence.with_more_protected("On 1/5/15, Tom costs 5 euros 5.")
    assert again is not None
    assert again.readable(again.prefix) == "On 1/5/15, {a} costs 5"
    assert sentence.in_pieces("") is None


def test_a_part_of_a_number_in_a_prefix_does_not_count() -> None:
    sentence = only("Es kostet 5 Euro.").with_more_protected("It costs.")
    assert sentence is not None
    assert sentence.beginning("In 2015 and 5 days").prefix == "In 2015 and 20 days"


def test_a_stand_in_in_a_prefix_does_not_count_as_a_number() -> None:
    sentence = only("5 Hunde und 20 Katzen").beginning("I have 5")
    again = sentence.with_more_protected("I have 5 dogs.")
    assert again is not None
    assert (again.text, again.prefix) == ("20 Hunde und 50 Katzen", "I have 20")
    assert again.readable("I have 20 dogs and 50 cats") == "I have 5 dogs and 20 cats"


def test_repeated_parts_of_a_prefix_use_each_stand_in_once() -> None:
    sentence = only("Aus {a} wird {a}.").beginning("{a} to {a}, {a}")
    assert sentence.prefix == "Tom to Boston, {a}"


def test_a_number_beside_unspaced_letters_is_not_used_as_a_stand_in() -> None:
    [sentence] = take_apart("共20元，买了 %d 个苹果。", "text", "sentences").sentences
    assert sentence.text == "共20元，买了 50 个苹果。"
    assert sentence.pieces == ["共20元，买了 ", "50", " 个苹果。"]


@pytest.mark.parametrize("prefix", ["", "See https://a.example/secret and 918273 dogs"])
def test_no_pattern_is_built_from_a_text(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = []
    compiling = vars(re)["_compile"]

    def compiled(pattern: str | re.Pattern[str], flags: int) -> re.Pattern[str]:
        patterns.append(str(pattern))
        found: re.Pattern[str] = compiling(pattern, flags)
        return found

    monkeypatch.setattr("re._compile", compiled)
    sentence = only("Siehe https://a.example/secret und 918273 Hunde.").beginning(prefix)
    pieces = only("Siehe https://a.example/secret und 918273 Hunde.").in_pieces("")
    assert pieces is not None
    assert sentence.readable(sentence.text) == sentence.as_written
    assert pieces.came_through(pieces.text)
    assert [one for one in patterns if "secret" in one or "918273" in one] == []
