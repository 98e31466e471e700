"""Rules applied to languages of many scripts."""

import re
import unicodedata
from typing import NamedTuple

import pytest

from service.text.languages import profile
from service.text.rules.already import Already
from service.text.rules.clauses import Clauses
from service.text.rules.directions import Directions
from service.text.rules.ellipses import Ellipses
from service.text.rules.names import Names
from service.text.rules.numbers import Numbers
from service.text.rules.punctuation import Punctuation
from service.text.rules.quotes import Quotes
from service.text.rules.scripts import Scripts
from service.text.rules.slashes import Slashes
from service.text.rules.spelling import Spelling
from service.text.rules.unread import Unread
from service.text.run import Run
from tests.service.text.pipelines import mended, take_apart, unchanged


class Sample(NamedTuple):
    """Samples of one language."""

    sentence: str
    """With its final mark."""
    quoted: str
    """A sentence with a word in the language's own quotes."""
    amount: str
    """A number and its sign, as written in the language."""
    name: str
    """The name of a town."""
    english: str
    pair: str
    comma: str
    """With the space after it, if there is one."""
    twelve: str
    """12 in the language's own digits, if it has any."""


SAMPLES = {
    "pl": Sample(
        "Żółw śpi już od samego rana.", "Ten „żółw” śpi.",
        "25 €", "Wenecja", "Venice", "żółw/ślimak", ", ", "12",
    ),
    "cs": Sample(
        "Želva spí už od samého rána.", "Ta „želva“ spí.",
        "25 €", "Benátky", "Venice", "želva/šnek", ", ", "12",
    ),
    "tr": Sample(
        "Kaplumbağa sabahtan beri orada uyuyor.", "Bu “çiçek” güzel.",
        "₺25", "İskenderiye", "Alexandria", "çiçek/ağaç", ", ", "12",
    ),
    "fr": Sample(
        "La tortue dort depuis ce matin.", "La «\u00a0clé\u00a0» est là.",
        "25\u00a0€", "Édimbourg", "Edinburgh", "été/hiver", ", ", "12",
    ),
    "ru": Sample(
        "Черепаха спит уже с самого утра.", "Этот «ёж» спит.",
        "25 ₽", "Венеция", "Venice", "зима/лето", ", ", "12",
    ),
    "el": Sample(
        "Η χελώνα κοιμάται από το πρωί.", "Ο «σκύλος» κοιμάται.",
        "25 €", "Αθήνα", "Athens", "γάτα/σκύλος", ", ", "12",
    ),
    "ar": Sample(
        "السلحفاة نائمة هنا منذ الصباح.", "هذا «كلب» كبير.",
        "٢٥ ﷼", "القاهرة", "Cairo", "كلب/قطة", "، ", "١٢",
    ),
    "he": Sample(
        "הצב ישן כאן כבר מהבוקר.", 'זה "כלב" גדול.',
        "₪25", "ונציה", "Venice", "כלב/חתול", ", ", "12",
    ),
    "hi": Sample(
        "कछुआ सुबह से यहाँ सो रहा है।", "यह “कुत्ता” बड़ा है।",
        "₹25", "वेनिस", "Venice", "कुत्ता/कमल", ", ", "१२",
    ),
    "th": Sample(
        "เต่ากำลังนอนหลับอยู่ที่นี่", "นี่คือ “หมา” ตัวใหญ่",
        "฿25", "เวนิส", "Venice", "หมา/แมว", " ", "๑๒",
    ),
    "zh": Sample(
        "乌龟从早上起就在这里睡觉。", "这只“狗”很大。",
        "25元", "威尼斯", "Venice", "狗/猫", "，", "12",
    ),
    "ja": Sample(
        "亀は朝からここで寝ています。", "この「犬」は大きい。",
        "25℃", "ベニス", "Venice", "犬/猫", "、", "12",
    ),
    "ko": Sample(
        "거북이는 아침부터 여기서 자고 있습니다.", "이 “개”는 크다.",
        "₩25", "베네치아", "Venice", "거북이/달팽이", ", ", "12",
    ),
}  # fmt: skip
EACH = pytest.mark.parametrize(("code", "sample"), SAMPLES.items(), ids=SAMPLES)
WITHOUT_SPACES = ("th", "zh", "ja")


def is_letter(character: str) -> bool:
    """Check whether a character is a letter, a combining mark or ASCII, as a stub vocabulary."""
    return character.isascii() or unicodedata.category(character)[0] in "LM"


@EACH
def test_quotes_of_a_copied_text_are_unchanged(code: str, sample: Sample) -> None:
    assert unchanged(take_apart(sample.quoted, "text", source=profile(code))) == sample.quoted


@EACH
def test_quotes_are_hidden_from_the_model(code: str, sample: Sample) -> None:
    seen = Quotes().prepare(Run(sample.quoted)).text
    expected = re.sub('[„”“«»"\u00a0]|(?<=«) ', "", sample.quoted.replace("\u00a0»", "»"))
    assert seen == (sample.quoted if code in ("zh", "ja", "ko") else expected)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("pl", "„Tom”"),
        ("cs", "„Tom“"),
        ("tr", "“Tom”"),
        ("ru", "«Tom»"),
        ("el", "«Tom»"),
        ("ar", "«Tom»"),
        ("he", '"Tom"'),
        ("hi", "“Tom”"),
        ("th", "“Tom”"),
        ("zh", "“Tom”"),
        ("ja", "「Tom」"),
        ("ko", "“Tom”"),
    ],
)
def test_a_translation_has_quotes_of_the_target_language(code: str, expected: str) -> None:
    assert unchanged(take_apart('"Tom"', "text", target=profile(code))) == expected


@EACH
@pytest.mark.parametrize("dots", ["…", "...", "……"])
def test_ellipses_are_preserved(code: str, sample: Sample, dots: str) -> None:
    text = f"{sample.sentence[:-1]}{dots}"
    assert Ellipses().prepare(Run(text)).text == sample.sentence[:-1]
    assert unchanged(take_apart(text, "text", source=profile(code))) == text


@EACH
@pytest.mark.parametrize(("row", "first"), [("?!", "?"), ("!!!", "!"), ("？！", "？")])
def test_only_the_first_of_several_marks_is_shown_to_the_model(
    code: str, sample: Sample, row: str, first: str
) -> None:
    words = sample.sentence.rstrip(".。।")
    assert Ellipses().prepare(Run(words + row)).text == words + first
    assert unchanged(take_apart(words + row, "text", source=profile(code))) == words + row


@EACH
def test_slashes_are_preserved(code: str, sample: Sample) -> None:
    rule, run = Slashes(), Run(sample.pair)
    assert rule.restore(run, rule.prepare(run)).text == sample.pair
    assert unchanged(take_apart(sample.pair, "text", source=profile(code))) == sample.pair
    if code not in WITHOUT_SPACES:  # whose words have less than three letters
        assert " / " in rule.prepare(run).text
        assert not rule.came_through(run, Run("one of them"))


@EACH
def test_an_amount_is_protected_as_a_whole(code: str, sample: Sample) -> None:
    run = Unread(is_letter).prepare(Run(f"{sample.name} {sample.amount} {sample.name}"))
    found = [run.text[one.begin : one.end] for one in run.protected]
    assert found == ([] if code == "zh" else [sample.amount])  # 元 is a letter


@EACH
def test_unknown_scripts_are_hidden_from_the_model(code: str, sample: Sample) -> None:
    run = Scripts(str.isascii).prepare(Run(f"Yes, {sample.name}!"))
    is_latin = unicodedata.name(sample.name[0]).startswith("LATIN")
    assert run.unprotected() == (f"Yes, {sample.name}!" if is_latin else "Yes, !")


@EACH
def test_direction_marks_stay_around_their_word(code: str, sample: Sample) -> None:
    text = sample.sentence.replace(
        sample.sentence.split()[0], f"\u2068{sample.sentence.split()[0]}\u2069", 1
    )
    run = Directions().prepare(Run(text))
    assert run.text == sample.sentence
    assert [tag.raw for tag in run.tags] == ["\u2068", "\u2069"]
    assert unchanged(take_apart(text, "text", source=profile(code))) == text


@EACH
def test_english_is_not_translated_into_english(code: str, sample: Sample) -> None:
    rule = Already(code, "en")
    assert rule.leaves(Run("The dog has been sleeping here since the morning."))
    assert not rule.leaves(Run(sample.sentence))


@EACH
def test_invisible_characters_are_removed_except_joiners(code: str, sample: Sample) -> None:
    rule, name = Spelling(is_letter), sample.name
    assert rule.prepare(Run(f"{name[0]}\u2060{name[1:]}")).text == name or code == "hi"
    for joiner in "\u200c\u200d":  # used in the spelling of Persian and Hindi
        text = f"{name[:2]}{joiner}{name[2:]}"
        assert rule.prepare(Run(text)).text == text
    assert rule.prepare(Run(f"{name} -- {name}")).text == f"{name} -- {name}"
    assert Spelling(lambda _: True).prepare(Run(f"{name} -- {name}")).text == f"{name} — {name}"


@EACH
def test_moses_normalises_only_quotes_and_dashes(code: str, sample: Sample) -> None:
    rule = Punctuation(code)
    assert rule.prepare(Run(sample.sentence)).text == sample.sentence
    plain = re.sub("[„”“]|«\u00a0?|\u00a0?»", '"', sample.quoted)
    assert rule.prepare(Run(sample.quoted)).text == plain
    assert rule.prepare(Run(f"{sample.name} – 5…")).text == f"{sample.name} - 5..."


@EACH
def test_a_copied_name_is_translated_by_the_table(code: str, sample: Sample) -> None:
    names = Names({sample.name: sample.english})
    text = sample.name if code in WITHOUT_SPACES else f"{sample.name}, {sample.name}"
    expected = text.replace(sample.name, sample.english)
    assert mended(names, text, text) == expected


@EACH
def test_digits_of_other_scripts_are_numbers(code: str, sample: Sample) -> None:
    rule = Numbers(profile(code), profile("en"))
    source = Run(f"{sample.name} {sample.twelve} {sample.name}")
    assert rule.came_through(source, Run(f"{sample.english} 12 {sample.english}"))
    assert not rule.came_through(source, Run(f"{sample.english} 21 {sample.english}"))
    [one] = rule.protect(source, Run()).protected
    assert source.text[one.begin : one.end] == sample.twelve


@EACH
def test_clauses_are_split_at_commas_and_joined_with_them(code: str, sample: Sample) -> None:
    clause = sample.sentence.rstrip(".。।")
    text = sample.comma.join([f"{clause} {clause}" if " " in clause else clause * 3] * 4)
    rule = Clauses(10, source=profile(code), target=profile(code))
    parts = rule.cut(text)
    assert len(parts) > 1
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    assert rule.join(parts, parts).replace(" ", "") == text.replace(" ", "") or code == "th"
