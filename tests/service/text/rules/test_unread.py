"""Signs that a vocabulary lacks or normalises."""

from collections.abc import Callable
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.rules.unread import Unread
from service.text.run import Run
from tests.service.text.pipelines import take_apart


def ascii_only(character: str) -> bool:
    return character.isascii()


def everything(_: str) -> bool:
    return True


def protected(text: str, spells: Callable[[str], bool]) -> list[str]:
    run = Unread(spells).prepare(Run(text))
    return [run.text[one.begin : one.end] for one in run.protected]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Rund 10⁶ Bakterien", ["10⁶"]),
        ("Nimm 1½ oder 3 ½ Tassen, ¼ reicht.", ["1½", "3 ½", "¼"]),
        ("Ein Feld von 75 m², tief 2,5·10⁻³ mm.", ["m²", "2,5·10⁻³"]),
        ("H₂O und CO₂", ["H₂O", "CO₂"]),
        ("Площадь 20 м²", ["м²"]),
        ("一共①个，25℃很热。", ["①", "25℃"]),
        ("Kapitel Ⅷ", ["Ⅷ"]),
        ("Sei f: ℝ und ℕ", ["ℝ", "ℕ"]),
        ("Im 3. Stock", []),
    ],
)
def test_superscripts_and_fractions_are_always_protected(text: str, found: list[str]) -> None:
    assert protected(text, everything) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Das kostet 49 €, nicht €2.50 oder £ 3,50.", ["49 €", "€2.50", "£ 3,50"]),
        ("Täglich 10 µg bei 20 °C", ["10 µg", "20 °C"]),
        ("Mit 0,5 ‰ im Blut", ["0,5 ‰"]),
        ("Wie viel ist 6 ÷ 2?", ["6 ÷ 2"]),
        ("Siehe §§ 5 und § 12a.", ["§§ 5", "§ 12a"]),
        ("Ein Winkel von 5° 3′ 20″.", ["5°", "3′", "20″"]),
        ("„Ja“ – nein … «oui», Test‐Fall", []),
        ("हाँ। नहीं॥ 是。", []),
        ("【Neu】 Er liest 「Faust」 ― gern.", ["【", "】", "「", "」", "―"]),
        ("¿Qué? ¡No! Um 5‒10 Uhr", ["¿", "¡", "5‒10"]),
        ("Berlin [bɛɐ̯ˈliːn], ʻokina, [haʊs]", ["bɛɐ̯ˈliːn", "haʊs"]),
        ("السعر، جيد؛ نعم", ["،", "؛"]),
        ("Der \u0378 Hund", ["\u0378"]),  # not assigned
    ],
)
def test_unknown_signs_are_protected_with_their_amount(text: str, found: list[str]) -> None:
    assert protected(text, ascii_only) == found
    others = [one for one in found if normalize("NFKC", one) != one]
    assert protected(text, everything) == others


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Eine Fläche von %1$sm²", "%1$sm²"),
        ("Es wiegt %dµg.", "%dµg"),
        ("Er fand in /tmp/x2 10⁶ Zeilen.", "/tmp/x2 10⁶"),
    ],
)
def test_a_unit_after_a_placeholder_is_protected_with_it(text: str, kept: str) -> None:
    [sentence] = take_apart(text, "text", spells=everything).sentences
    assert [one.original for one in sentence.stand_ins] == [kept]


def test_a_number_is_not_protected_with_a_placeholder_behind_it() -> None:
    sentences = take_apart(
        "Schritt 1\n`code` hier\nTitel 17 `b`", "text", spells=everything
    ).sentences
    assert [one.original for sentence in sentences for one in sentence.stand_ins] == [
        "`code`",
        "`b`",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "我喜欢苹果，他喜欢香蕉（红的）；价格：５０％！",
        "これはペンです、あれは「本」です。",
        "Ｐｒｅｉｓ：￥５",
        "XIXᵉ siècle",
    ],
)
def test_fullwidth_forms_are_read_like_the_usual_ones(text: str) -> None:
    assert protected(text, everything) == []


def test_single_letters_with_unknown_marks_are_protected() -> None:
    spells = "abcdeimnrstwx\u00fc".__contains__
    assert protected("Das Mittel x\u0304, n\u0308 und mu\u0308de", spells) == ["x\u0304", "n\u0308"]
    assert protected("Ein u\u0308 und Z\u0338a\u0338l", spells) == []


def test_a_protected_amount_has_a_number_as_stand_in() -> None:
    [sentence] = take_apart("Das Brot kostet 3,49 € heute.", "text", spells=ascii_only).sentences
    assert sentence.text == "Das Brot kostet 20 heute."
    assert sentence.readable("Today, bread is 20.") == "Today, bread is 3,49 €."


def test_signs_after_words_become_tags() -> None:
    [sentence] = take_apart("Mein Auto® ist © neu†.", "text").sentences
    assert sentence.text == "Mein Auto ist neu."
    assert [tag.raw.strip() for tag in sentence.tags] == ["®", "©", "†"]


@pytest.mark.parametrize("sign", "®©™℠†‡°")
def test_a_sign_directly_after_a_number_stays_there(sign: str) -> None:
    text = f"Seit 1999{sign} ist sie gewachsen."
    [sentence] = take_apart(
        text, "text", spells=everything if sign in "®©" else ascii_only
    ).sentences
    assert sentence.readable(f"Urosła od {sentence.stand_ins[0].name} roku.") == (
        f"Urosła od 1999{sign} roku."
    )


@pytest.mark.parametrize(
    "text",
    [
        "我喜欢Windows11®系统的新功能。",
        "日本語のWindows11™は良いです。",
        "我们有10®系统。",
        "Die Office365®-Benutzer sind zufrieden.",
    ],
)
def test_a_sign_after_a_words_number_does_not_protect_the_word(text: str) -> None:
    [sentence] = take_apart(text, "text", spells=everything).sentences
    assert sentence.stand_ins == ()
    assert len(sentence.text) >= len(text) - 1


@given(st.text(alphabet="a1.,-·½²€ §'\u00a0", max_size=40))
def test_any_text_is_preserved(text: str) -> None:
    run = Unread(ascii_only).prepare(Run(text))
    assert run.text == text
    ends = [at for one in run.protected for at in (one.begin, one.end)]
    assert ends == sorted(ends)
    assert all(text[one.begin : one.end].strip() for one in run.protected)
