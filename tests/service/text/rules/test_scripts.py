"""Words in scripts that a model cannot write are preserved."""

from collections.abc import Callable

import pytest

from service.text.languages import profile
from service.text.tokenizer import Tokenizer
from tests.conftest import TINY_BUNDLE
from tests.service.text.pipelines import assembled, take_apart, unchanged


def latin(character: str) -> bool:
    return character.lower() in "abcdefghijklmnopqrstuvwxyzäöüß"


def everything(_: str) -> bool:
    return True


@pytest.mark.parametrize(
    ("text", "spells", "seen"),
    [
        ("Ich lerne 日本語 und Русский язык.", latin, "Ich lerne Tom und Boston."),
        ("हिन्दी ist schwer.", latin, "Tom ist schwer."),
        ("Ich lerne Русский.", everything, "Ich lerne Русский."),
        ("Łódź und Curaçao", latin, "Łódź und Curaçao"),  # models copy these letter by letter
        ("20 °C, 3 €, „Ja – nein", latin, "20, 50, „Ja – nein"),
    ],
)
def test_words_in_unknown_scripts_are_hidden_from_the_model(
    text: str, spells: Callable[[str], bool], seen: str
) -> None:
    [sentence] = take_apart(text, "text", spells=spells).sentences
    assert sentence.text == seen
    assert sentence.readable(seen) == text


@pytest.mark.parametrize(
    ("language", "text", "seen"),
    [
        ("de", "Der Wert von μ ist klein.", "Der Wert von Tom ist klein."),
        ("de", "PPARα ist ein Gen.", "Tom ist ein Gen."),
        ("de", "Die α-Helix ist stabil.", "Die Tom-Helix ist stabil."),
        ("de", "Das Wort λόγος ist griechisch.", "Das Wort λόγος ist griechisch."),
        ("el", "Η τιμή ή το μ", "Η τιμή ή το μ"),
    ],
)
def test_a_single_letter_of_another_script_is_a_symbol(language: str, text: str, seen: str) -> None:
    document = take_apart(text, "text", source=profile(language), spells=everything)
    [sentence] = document.sentences
    assert sentence.text == seen
    assert unchanged(document) == text


def test_a_text_of_unknown_scripts_only_is_not_a_sentence() -> None:
    document = take_apart("Привет, как дела? 日本語", "text", spells=latin)
    assert document.sentences == []
    assert assembled(document, [], []) == "Привет, как дела? 日本語"


def test_unknown_scripts_beside_ignored_elements_are_preserved() -> None:
    html = '<p><b>日本語</b> und <span translate="no">Русский</span> und Русский</p>'
    document = take_apart(html, "html", "sentences", spells=latin)
    [sentence] = document.sentences
    assert sentence.text == "Tom und Boston und Max"
    assert sentence.readable("Max, Tom, Boston") == (
        'Русский, 日本語, <span translate="no">Русский</span>'
    )


def test_unknown_scripts_beside_placeholders_are_preserved() -> None:
    [sentence] = take_apart("Gestern sprach @Иван Петров: %sм.", "text", spells=latin).sentences
    assert sentence.text == "Gestern sprach Tom: Boston."
    assert sentence.readable("Tom, Boston") == "@Иван Петров, %sм"


@pytest.mark.parametrize(
    ("language", "text", "unknown", "seen"),
    [
        ("ru", "Город Київ очень красив.", "ї", "Город Tom очень красив."),
        ("zh", "我的朋友叫李䶮，他是老师。", "䶮", "我的朋友叫李Tom，他是老师。"),
        ("ar", "هذه كلمة پارس هنا", "پ", "هذه كلمة Tom هنا"),
        ("ja", "彼は髙橋です", "髙", "彼はTom橋です"),
    ],
)
def test_an_unknown_letter_protects_only_its_own_word(
    language: str, text: str, unknown: str, seen: str
) -> None:
    document = take_apart(
        text, "text", source=profile(language), spells=lambda one: one not in unknown
    )
    [sentence] = document.sentences
    assert sentence.text == seen
    assert unchanged(document) == text


def test_the_vocabulary_spells_only_its_own_letters_and_their_variants() -> None:
    spells = Tokenizer(TINY_BUNDLE / "sentencepiece.model").spells
    assert all(map(spells, "Hund"))
    assert spells("\uff28")  # FULLWIDTH LATIN CAPITAL LETTER H, which is an H to it
    assert not any(map(spells, "日Я"))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (
            "Das Wort за\u0301мок ist schwer.",
            "Das Wort Tom ist schwer.",
        ),  # an accent has no script of its own
        ("Er liest דָּוִד، und हाँ १२३।", "Er liest Tom und Boston"),
        ("Ein Widerstand von 5 Ω, 1ª", "Ein Widerstand von 5 Tom, 1ª"),
        ("Das ist 𝐀, ʻOkina, ﬁ", "Das ist 𝐀, ʻOkina, ﬁ"),
        ("Hier, 東京　大阪 und አዲስ አበባ።", "Hier, Tom und Boston"),
    ],
)
def test_words_in_another_script_include_its_marks_and_digits(text: str, seen: str) -> None:
    [sentence] = take_apart(text, "text", spells=latin).sentences
    assert sentence.text == seen
