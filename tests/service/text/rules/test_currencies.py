"""Amounts of money keep their currency, in whatever way a language writes them."""

import pytest

from service.text.languages import profile
from service.text.rules.currencies import Currencies
from service.text.rules.operators import Operators
from service.text.run import Run
from tests.service.text.pipelines import take_apart


def came_through(languages: str, source: str, translation: str) -> bool:
    rule = Currencies(*map(profile, languages.split("-")))
    return rule.came_through(Run(source), Run(translation))


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("de-en", "Es kostet 20 €.", "It costs €20."),
        ("de-en", "Es kostet 2.450,90 €.", "It costs 2.450,90 €."),
        ("de-en", "8,– € oder 8.- £", "€8 or £8"),
        ("de-en", "ein 5-€-Schein", "a €5 note"),
        ("de-en", "Kurs: 100 ₺ = 2,75 € = $3", "Rate: ₺100 = €2.75 = 3 $"),
        ("pl-en", "Za 10 000 € lub 1\u202f234\u202f567,80 £", "For €10,000 or £1,234,567.80"),
        ("und-en", "10'000 €, .05 $", "€10,000, $0.05"),
        ("hi-en", "कीमत ₹५०० या ٥ € है", "The price is ₹500 or €5"),
        ("ja-en", "￥12万3456", "¥123,456"),
        ("en-de", "US$ 5", "5 US$"),
        ("en-de", "the $1:$2 split", "die $1:$2-Teilung"),
    ],
)
def test_a_sign_may_be_on_either_side_of_a_number(
    languages: str, source: str, translation: str
) -> None:
    assert came_through(languages, source, translation)
    assert not came_through(
        languages, source, translation.translate({ord(one): "₿" for one in "$€£₺₹¥"})
    )


@pytest.mark.parametrize(
    ("languages", "one", "other"),
    [
        ("de-en", "20 bis 30 $", "$20 to $30"),
        ("de-en", "20–30 $", "$20 to $30"),
        ("de-en", "20–30 $", "$20-30"),
        ("de-en", "15 bis $20", "20 $ to 15"),
        ("de-en", "zwischen 5 und 10 €", "between €5 and €10"),
        ("de-en", "5,- bis 10,- €", "€5 to €10"),
        ("de-en", "3 oder 5 oder 8 €", "€3 or €5 or €8"),
        ("de-en", "20-30 Mio. $", "$20-30 million"),
        ("de-en", "1,5 bis 2 Millionen €", "€1.5 to €2 million"),
        ("en-fr", "$20 to $30", "20 à 30 $"),
        ("en-pl", "$20 or $30", "20 lub 30 $"),
        ("en-ja", "¥5 to ¥10", "5から10¥"),
    ],
)
def test_a_range_may_have_one_sign_or_two(languages: str, one: str, other: str) -> None:
    assert came_through(languages, one, other)
    assert came_through("-".join(reversed(languages.split("-"))), other, one)


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("en-de", "$1.5 million", "1,5 Millionen Dollar"),
        ("en-de", "$5.5bn", "5,5 Mrd. Dollar"),
        ("en-fr", "US$5 million", "5 millions de dollars américains"),
        ("en-fr", "€5 million", "5 millions d'euros"),
        ("en-it", "€5 million", "5 milioni di euro"),
        ("en-es", "$1.5 billion", "1500 millones de dólares"),
        ("en-ro", "€50", "50 de euro"),
        ("en-fi", "for $5", "5 dollarilla"),
        ("en-hu", "It costs €5.", "5 euróba kerül."),
        ("en-pl", "with $5", "z 5 dolarami"),
        ("ru-en", "500 ₽", "500 rubles"),
        ("uk-en", "500 ₴", "500 hryvnias"),
        ("en-he", "₪500", "500 שקל"),
        ("en-de", "$1.5 million", "1,5 Mio. $"),
        ("en-de", "£3,000-£5,000", "3.000 bis 5.000 Pfund"),
        ("en-de", "US$5", "5 US-Dollar"),
        ("en-fr", "$5", "5 dollars des États-Unis"),
        ("en-pl", "$5", "5 dolarów"),
        ("en-ja", "It is ¥100.", "100円です。"),
        ("de-en", "Preise in €", "Prices in euros"),
        ("de-en", "100 EUR oder CHF 4.500", "€100 or 4,500 Swiss francs"),
        ("de-en", "50 Dollar und 20 €", "$50 and €20"),
    ],
)
def test_a_currency_may_be_written_as_a_word(languages: str, source: str, translation: str) -> None:
    assert came_through(languages, source, translation)


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("de-en", "von $99 auf 99 €", "from €99 to €99"),
        ("de-en", "5 Katzen für 20 €", "€5 cats for 20"),
        ("de-en", "5 Katzen für 20 €", "€5 cats for €20"),
        ("en-de", "It was $10 $5.", "Es waren 10 $5."),
        ("en-de", "Only $10 $5 today", "Heute nur $10 5"),
        ("en-de", "Only $20 £15 £9", "Nur 20 $ 15 £9"),
        ("de-en", "20 €, nicht £30", "£20, not €30"),
        ("de-en", "20 € und nochmals 20 €", "20 and another €20"),
        ("de-en", "20 €", "€20 €"),
        ("de-en", "20 € für 5 und 10", "€20 for €5 and 10"),
        ("de-en", "20 €", "20 dollars"),
        ("de-en", "20 000 Katzen für 10 000 €", "10,000 cats for €20,000"),
        ("de-en", "Haus 3: 250 €, Haus 4 310 €", "House 3: €250, €4 310"),
        ("de-en", "100 EUR", "100 USD"),
        ("de-en", "100 EUR", "100"),
        ("de-en", "Preise in €", "Prices"),
        ("en-de", "the $1.5 billion deal", "der Betrag 1,5 $"),
        ("en-de", "$3 million", "3 Milliarden $"),
        ("en-de", "$89 dollars, it's $89 off", "89 $, es sind 89 weniger"),
    ],
)
def test_a_sign_must_not_be_lost_doubled_moved_or_changed(
    languages: str, source: str, translation: str
) -> None:
    assert not came_through(languages, source, translation)


@pytest.mark.parametrize(
    ("text", "translation", "is_the_same"),
    [
        ("Im Jahr 2024 100 €", "In 2024, €100", True),
        ("Für 5 Katzen € 20", "For 5 cats €20", True),
        ("Für 7 € und 12 %", "For 7 € and € 12", False),
        ("20 $ 50 £", "$20 £50", True),
        ("$20$50", "20 $, 50 $", True),
    ],
)
def test_a_sign_between_two_numbers_belongs_to_one(
    text: str, translation: str, is_the_same: bool
) -> None:
    assert came_through("de-en", text, translation) is is_the_same


@pytest.mark.parametrize(
    ("text", "translation"),
    [("TOP 10 in ALL 3", "top 10 in all 3"), ("PHP 8", "8"), ("Für 5 Mäuse", "For $5")],
)
def test_a_text_without_signs_or_codes_has_no_amounts(text: str, translation: str) -> None:
    assert came_through("de-en", text, translation)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Für 20 €, $5 oder ,50 £ je Kilo", ["20 €", "$5", ",50 £"]),
        ("In 3 Tagen für US$ 1.250,50 nach Rom", ["US$ 1.250,50"]),
        ("Für 10 000 € oder £1'000'000,50", ["10 000 €", "£1'000'000,50"]),
        ("Das Haus 4 310 €, Zimmer 15 842 €, nur 4 310 €", ["310 €", "842 €", "4 310 €"]),
        ("Für 8,– € und 100 EUR, nicht $ oder EUR", ["8,– €", "100 EUR", "$"]),
        ("Für $5 USD, dann für € 3 €", ["$5 USD", "€ 3 €"]),
        ("Statt € 10 € 5 und 3 $ 2 $", ["€ 10", "€ 5", "3 $", "2 $"]),
        ("20-30 Mio. $ oder $20-30 Mio. im Jahr", ["20-30 Mio. $", "$20-30"]),
    ],
)
def test_each_sign_is_protected_with_its_number(text: str, kept: list[str]) -> None:
    run = Currencies(profile("de"), profile("en")).protect(Run(text), Run())
    assert [run.text[one.begin : one.end] for one in run.protected] == kept


@pytest.mark.parametrize(
    ("languages", "text", "written"),
    [
        ("de-en", "Über 1,5 Mio. $ in Rom", "Über 1.5 million $ in Rom"),
        ("de-en", "Um +1,5 Mio. $ höher", "Um +1.5 million $ höher"),
        ("de-en", "Über CHF 1,5 Billionen.", "Über CHF 1.5 trillion."),
        ("en-de", "The $1.5 billion deal", "The $1,5 Milliarden deal"),
        ("zh-en", "¥5万", "¥50 thousand"),
        ("de-en", "Für 1.150,50 € in Rom", "Für 1,150.50 € in Rom"),
    ],
)
def test_a_protected_amount_is_written_as_in_the_target_language(
    languages: str, text: str, written: str
) -> None:
    run = Currencies(*map(profile, languages.split("-"))).protect(Run(text), Run())
    assert run.written().replace("\u00a0", " ") == written


def test_protected_amounts_are_kept_in_a_document_in_the_format_of_the_target() -> None:
    text = "Es kostet 1.500 €."
    rule = Currencies(profile("de"), profile("en")).adapted([text, "Es kostet 12.50 €."])
    [protected] = rule.protect(Run(text), Run()).protected
    assert protected.raw is None


def test_amounts_are_not_protected_if_only_something_else_was_lost() -> None:
    rule, run = Currencies(profile("pl"), profile("en")), Run("Od 4,57 $ i x ≤ 3")
    assert rule.protect(run, Run("From $4.57 and x ≤ 8")) is run
    lost = rule.protect(run, Run("From 4.57 and x ≤ 3"))
    assert [run.text[one.begin : one.end] for one in lost.protected] == ["4,57 $"]
    together = Operators().protect(lost, Run())
    assert [run.text[one.begin : one.end] for one in together.protected] == ["4,57 $", "≤ 3"]


def test_in_pieces_all_amounts_are_protected() -> None:
    [sentence] = take_apart("Od 4.57 $ i 8 kotów", "text").sentences
    pieces = sentence.in_pieces("From $4,57 and 9 cats")
    assert pieces is not None
    assert [one.strip() for one in pieces.pieces[::2]] == ["Od", "i", "kotów"]


def test_signs_in_placeholders_are_no_amounts() -> None:
    [sentence] = take_apart("Plik $HOME/x", "text").sentences
    assert sentence.came_through(sentence.text)
