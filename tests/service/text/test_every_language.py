"""Everyday texts in many scripts are unchanged by a model that copies its input."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.text.document import Document
from service.text.languages import profile
from service.text.rules.numbers import Numbers
from service.text.run import Format, Run
from tests.service.text.pipelines import take_apart, unchanged

SENTENCES = {
    "pl": ("Żółw ma 3 żabki.", "Ślimak śpi już od rana."),
    "cs": ("Želva má 3 žabky.", "Šnek spí už od rána."),
    "tr": ("Işıl'ın 3 çiçeği var.", "İpek şimdi uyuyor."),
    "fr": ("L'été dure 3 mois.", "Où est passée la clé ?"),
    "ru": ("Ёж съел 3 яблока.", "Улитка спит с утра."),
    "el": ("Η χελώνα έχει 3 αυγά.", "Ο σκύλος κοιμάται."),
    "ar": ("عند السلحفاة 3 بيضات.", "الكلب ينام الآن."),
    "he": ("לצב יש 3 ביצים.", "הכלב ישן עכשיו."),
    "hi": ("कछुए के 3 अंडे हैं।", "कुत्ता अब सो रहा है।"),
    "th": ("เต่ามีไข่ 3 ฟอง", "หมากำลังนอนอยู่"),
    "zh": ("乌龟有3个蛋。", "狗正在睡觉。"),
    "ja": ("亀には卵が3個あります。", "犬は今寝ています。"),
    "ko": ("거북이는 알이 3개 있습니다.", "개가 지금 자고 있습니다."),
}
CODES = pytest.mark.parametrize("code", SENTENCES)


def taken_apart(text: str, code: str, form: Format = "text") -> Document:
    return take_apart(text, form, source=profile(code), target=profile("en"))


@CODES
def test_a_paragraph_is_split_into_its_sentences(code: str) -> None:
    text = ("" if code in ("zh", "ja") else " ").join(SENTENCES[code])
    document = taken_apart(text, code)
    expected = list(SENTENCES[code])
    if code == "th":  # Thai has no marks at the ends of sentences
        expected = [text]
    assert [one.text for one in document.sentences] == expected
    assert unchanged(document) == text


@CODES
def test_protected_parts_are_hidden_in_every_language(code: str) -> None:
    first = SENTENCES[code][0]
    kept = ["{name}", "https://a.example/b?c=1", "%d", "`x = 1`", "/etc/app/x.conf"]
    for one in kept:
        text = f"{one} {first}"
        document = taken_apart(text, code)
        assert all(one not in sentence.text for sentence in document.sentences)
        assert unchanged(document) == text


@CODES
def test_tags_emoji_and_entities_are_preserved(code: str) -> None:
    first, second = SENTENCES[code]
    html = f"<p><b>{first}</b> 🎉 {second} &amp; H<sub>2</sub>O <img src='a'/></p>"
    document = taken_apart(html, code, "html")
    assert unchanged(document) == html
    assert not re.search(r"[<>🎉]", " ".join(one.text for one in document.sentences))


@CODES
def test_markdown_tables_and_lists_are_preserved(code: str) -> None:
    first, second = SENTENCES[code]
    text = f"# {first}\n\n- [ ] {second}\n- **{first}**\n\n| {first} | {second} |\n|---|---|\n| x | y |\n"
    document = taken_apart(text, code)
    assert unchanged(document) == text
    assert not re.search(r"[#|*\[\]]", " ".join(one.text for one in document.sentences))


@CODES
def test_a_lost_number_is_detected_and_protected(code: str) -> None:
    first = SENTENCES[code][0]
    rule, run = Numbers(), Run(first)
    assert rule.came_through(run, Run("It has 3 of them."))
    assert not rule.came_through(run, Run("It has 8 of them."))
    [one] = rule.protect(run, Run()).protected
    assert run.text[one.begin : one.end] == "3"


@CODES
def test_sentences_in_capitals_exist_only_in_scripts_with_case(code: str) -> None:
    language = profile(code)
    text = language.upper(SENTENCES[code][1])
    rules = {"truecase": language.lower, "source": language, "target": profile("en")}
    [sentence] = take_apart(text, "text", **rules).sentences  # type: ignore[arg-type]
    has_case = text != SENTENCES[code][1]
    assert (sentence.text != text) == has_case
    assert (sentence.readable("It sleeps.") == "IT SLEEPS.") == has_case


MARKS = [
    "{a}",
    "%1$s",
    "3",
    "17:48",
    "DE89 3704",
    "<b>Ja</b>",
    "<i>x y.</i>",
    "🙂",
    "**",
    "`",
    "\n",
    "\t",
    "|",
    '"',
]
WORDS = st.sampled_from([*MARKS, *(word for pair in SENTENCES.values() for word in pair)])


@given(st.lists(WORDS, max_size=12), st.sampled_from(sorted(SENTENCES)), st.booleans())
@settings(max_examples=300)
def test_random_combinations_are_preserved(words: list[str], code: str, is_html: bool) -> None:
    text = " ".join(words)
    assert unchanged(taken_apart(text, code, "html" if is_html else "text")) == text
