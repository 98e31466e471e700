"""Long sentences are split into clauses, and joined again, as a reader would."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.languages import profile
from service.text.rules.clauses import SHORTEST, Clauses

LONG = (
    "Als der alte Mann gestern Abend nach Hause kam, fand er (wie immer, sagte er) die Tür offen, "
    "und auf dem Tisch in der Küche stand ein Korb mit roten Äpfeln."
)


def test_a_long_sentence_is_split_at_marks_outside_brackets() -> None:
    assert Clauses(12).cut(LONG) == [
        "Als der alte Mann gestern Abend nach Hause kam,",
        "fand er (wie immer, sagte er) die Tür offen,",
        "und auf dem Tisch in der Küche stand ein Korb mit roten Äpfeln.",
    ]


def test_the_first_split_is_at_the_mark_nearest_the_middle() -> None:
    assert [len(part.split()) for part in Clauses(20).cut(LONG)] == [18, 13]


@pytest.mark.parametrize("max_words", [0, 31, 100])
def test_a_short_sentence_is_not_split(max_words: int) -> None:
    assert len(LONG.split()) == 31
    assert Clauses(max_words).cut(LONG) == [LONG]


@pytest.mark.parametrize(
    "text",
    [
        "Er sagte: „" + "eins zwei drei vier fünf sechs sieben, " * 4 + "acht“.",
        "a, b, c, d, " * 3 + "e.",
        "Es kostet 1,5 bis 3,5 Mio. Euro je Stück und nicht 1, 2 oder 3 Mio. Euro je Stück.",
    ],
    ids=["quotes", "too short", "figures"],
)
def test_a_sentence_without_suitable_marks_is_not_split(text: str) -> None:
    assert Clauses(10).cut(text) == [text]


WITHOUT_MARKS = (
    "Gestern fuhren wir mit dem Rad zum See und schwammen ein wenig dann aßen wir Eis im Park und "
    "sahen den Kindern beim Spielen zu"
)


def test_an_overlong_sentence_without_marks_is_split_before_starters() -> None:
    german = Clauses(11, source=profile("de"))
    assert german.cut(WITHOUT_MARKS) == [
        "Gestern fuhren wir mit dem Rad zum See und schwammen ein wenig",
        "dann aßen wir Eis im Park und sahen den Kindern beim Spielen zu",
    ]
    assert german.join(["er kam", "sie ging"], ["He came.", "she left."]) == "He came she left."
    assert Clauses(13, source=profile("de")).cut(WITHOUT_MARKS) == [WITHOUT_MARKS]


def test_an_overlong_sentence_without_starters_is_split_at_any_space() -> None:
    parts = Clauses(10).cut("Wort " * 40 + "Ende.")
    assert [len(part.split()) for part in parts] == [11, 10, 20]


@given(st.lists(st.sampled_from(["Wort", "wort,", "3,", "–", "(", ")", '"', "wort;"]), min_size=1))
def test_clauses_cover_the_sentence_and_none_is_too_short(words: list[str]) -> None:
    text = " ".join(words)
    parts = Clauses(10).cut(text)
    assert " ".join(parts) == text
    assert len(parts) == 1 or min(len(part.split()) for part in parts) >= SHORTEST


def reference_cut(text: str, max_words: int) -> list[str]:
    """Split a sentence by the definition, in quadratic time."""
    if len(text.split()) <= max_words:
        return [text]
    places = [
        place
        for place in range(2, len(text))
        if re.fullmatch(r"[^\W\d_][,;:] | [–—-] ", text[place - 2 : place + 1])
        and not text[place + 1 : place + 2].isspace()
        and sum(map(text[:place].count, '„“”"«»')) % 2 == 0
        and sum(map(text[:place].count, "()[]")) % 2 == 0
        and len(text[:place].split()) >= SHORTEST <= len(text[place:].split())
    ]
    if not places and len(text.split()) > 2 * max_words:
        places = [
            place
            for place in range(len(text) - 1)
            if text[place] == " "
            and not text[place + 1].isspace()
            and sum(map(text[:place].count, '„“”"«»')) % 2 == 0
            and sum(map(text[:place].count, "()[]")) % 2 == 0
            and len(text[:place].split()) >= SHORTEST <= len(text[place:].split())
        ]
    if not places:
        return [text]
    _, middle = min((abs(2 * place - len(text)), place) for place in places)
    return reference_cut(text[:middle], max_words) + reference_cut(text[middle + 1 :], max_words)


PIECES = ["Wort", "a", "b,", "c;", "3,", "–", "-", "(", ")", '"', " ", "d,", "e,", "\n"]


@given(st.lists(st.sampled_from(PIECES), max_size=200), st.integers(1, 30), st.booleans())
def test_clauses_match_a_reference_implementation(
    words: list[str], max_words: int, spaced: bool
) -> None:
    text = (" " if spaced else "").join(words)
    assert Clauses(max_words).cut(text) == reference_cut(text, max_words)


@pytest.mark.parametrize(
    ("sources", "translations", "joined"),
    [
        (["er kam,", "und sie ging."], ["He came,", "And she left."], "He came, and she left."),
        (["er kam,", "und sie ging."], ["He came.", "and she left."], "He came, and she left."),
        (["er kam –", "sie ging."], ["He came", "She left."], "He came – she left."),
        (["er sagte:", "Tom ging."], ["He said:", "Tom left."], "He said: Tom left."),
        (["er kam,", "Hunde gingen."], ["He came,", "Dogs left."], "He came, dogs left."),
        (["er kam,", "Tom ging."], ["He came,", "Tom left."], "He came, Tom left."),
        (["er kam,", "dann ging Tom."], ["He came,", "Tom left."], "He came, Tom left."),
        (["allein."], ["Alone."], "Alone."),
        (["eins,", "zwei,", "drei."], ["One", ".", "three"], "One, three"),
        (["eins;", "zwei,", "drei."], ["One", "Two.", "Three"], "One; two, three"),
    ],
)
def test_marks_between_clauses_are_those_of_the_source(
    sources: list[str], translations: list[str], joined: str
) -> None:
    clauses = Clauses(0, lambda text: text[0].lower() + text[1:])
    assert clauses.join(sources, translations) == joined


ENUMERATION = {
    "zh": "今天早上天气很好，所以我和我的朋友一起去了公园；我们在湖边走了很久，然后坐在树下吃了午饭。",
    "ja": "昨日の夜に家へ帰ったとき、ドアが開いていて、台所のテーブルの上には赤いりんごの籠があった。",
    "th": "เมื่อวานนี้ฉันไปตลาดกับเพื่อนหลายคน เราซื้อผลไม้และผักสดมากมาย แล้วเราก็กลับบ้านมาทำอาหารด้วยกัน",
}


@pytest.mark.parametrize(
    ("code", "max_words", "counts"),
    [("zh", 14, [24, 21]), ("ja", 14, [22, 23]), ("th", 14, [35, 60]), ("zh", 40, [45])],
)
def test_without_spaces_between_words_characters_are_counted(
    code: str, max_words: int, counts: list[int]
) -> None:
    text = ENUMERATION[code]
    parts = Clauses(max_words, source=profile(code)).cut(text)
    assert list(map(len, parts)) == counts
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")


def test_names_are_not_split() -> None:
    text = "ฉันซื้อ iPhone 15 Pro Max ใหม่ที่ร้านใหญ่ใกล้บ้าน เพราะว่าเครื่องเก่าของฉันเสียเมื่อวานนี้แล้ว"
    parts = Clauses(12, source=profile("th")).cut(text)
    assert [part.split()[0][:4] for part in parts] == ["ฉันซ", "เพรา"]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("ar", "ذهبت إلى السوق مع صديقي في الصباح الباكر جدا، واشتريت خبزا وزيتونا وجبنا من البائع العجوز."),
        ("hi", "मैं सुबह अपने दोस्त के साथ बाज़ार गया था, और हमने वहाँ फल और सब्ज़ियाँ खरीदी थीं।"),
        ("ru", "Когда старик вчера вечером вернулся к себе домой, он увидел на столе корзину красных яблок."),
        ("am", "ትናንት ጠዋት ከጓደኛዬ ጋር ወደ ገበያ ሄድኩ እና፣ ዳቦ እና ወይራ እና አይብ ከሽማግሌው ገዛን።"),
    ],
)  # fmt: skip
def test_commas_of_all_scripts_separate_clauses(code: str, text: str) -> None:
    parts = Clauses(12, source=profile(code)).cut(text)
    assert len(parts) == 2
    assert " ".join(parts) == text


@given(
    st.lists(
        st.sampled_from(["日本", "，", "、", "。", " ", "a", "(", "「", "ไทย", ", "]), max_size=80
    )
)
def test_only_whitespace_is_dropped_between_clauses(pieces: list[str]) -> None:
    text = "".join(pieces)
    for code in ("ja", "th", "und"):
        parts = Clauses(4, source=profile(code)).cut(text)
        assert "".join(parts).replace(" ", "") == text.replace(" ", "")
        assert all(parts) or parts == [text]


@pytest.mark.parametrize(
    ("code", "sources", "translations", "joined"),
    [
        ("zh", ["he came,", "and she left."], ["他来了。", "她走了。"], "他来了，她走了。"),
        (
            "ja",
            ["he came;", "she left."],
            ["彼は来た。", "彼女は去った。"],
            "彼は来た；彼女は去った。",
        ),
        ("en", ["他来了，", "她走了。"], ["He came.", "she left."], "He came, she left."),
        ("ar", ["he came,", "she left."], ["جاء.", "ذهبت."], "جاء، ذهبت."),
        ("de", ["ฉันมา", "เธอไป"], ["Ich kam", "sie ging"], "Ich kam, sie ging"),
        ("el", ["he came;", "she left."], ["ήρθε", "έφυγε."], "ήρθε· έφυγε."),
    ],
)
def test_marks_between_clauses_are_written_like_in_the_target_language(
    code: str, sources: list[str], translations: list[str], joined: str
) -> None:
    source = profile("th" if code == "de" else "und")
    assert Clauses(0, source=source, target=profile(code)).join(sources, translations) == joined
