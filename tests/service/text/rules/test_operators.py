"""Operators between words, of which none may be lost."""

import pytest

from service.text.rules.operators import Operators
from service.text.run import Run
from tests.service.text.pipelines import take_apart


@pytest.mark.parametrize(
    ("text", "translation", "is_whole"),
    [
        ("Ustawienia > Konto > Hasło", "Settings > Account > Password", True),
        ("Ustawienia > Konto > Hasło", "Settings > Password", False),
        ("Настройки > Конто, а + б = с", "Settings > Account, a + b = c", True),
        ("Настройки > Конто, а + б = с", "Settings > Account, a and b = c", False),
        ("Den <b> und a>b, x=y, C++", "The and a, x, C++", True),
        ("Przejdź do Ustawienia › Konto » Hasło.", "Go to Settings › Account » Password.", True),
        ("Przejdź do Ustawienia › Konto » Hasło.", "Go to Settings ' Account's Password.", False),
        ("Il a dit « oui » et ‹ non ›.", 'He said "yes" and "no".', True),
        ("Jeśli a < b", "If b is > a", False),
        ("Wynik ≤ 12", "The result is − 12", False),
        ("Wynik ≤ 12", "The result is ≤ 12", True),
        ("3 · 5 i 10 ÷ 2", "3 = 5 and 10 ✨ 2", False),
        ("Więc 9 − 4 = 5", "So 9 - 4 = 5", True),
        ("Więc 9 − 4 = 5", "So 9 4 = 5", False),
        ("Z 5$ na 7 €", "From €5 to €7", False),
        ("Za 20 €, a nie £30", "For £20, not €30", False),
        ("5 kotów za 2€", "€5 cats for 2", False),
        ("Kurs 100 ₺ = 2,75 € = $3", "Rate ₺100 = €2,75 = 3 $", True),
        ("Ponad 3 mln €, 1.250 $", "Over €3 mln, $1.250", True),
        ("Od 2–3 €, €1.5 bn", "From €2–3, 1.5 bn. €", True),
        ("Za 5 kotów € 20", "For 5 cats €20", True),
        ("Za 7 € i 12 %", "For 7 € and € 12", False),
        ("Catalan: col·lecció", "Catalan: collection", True),
        ("Plik $HOME/x", "The file $HOME/x", True),
    ],
)
def test_the_number_of_operators_must_match(text: str, translation: str, is_whole: bool) -> None:
    [sentence] = take_apart(text, "text").sentences
    assert sentence.pipeline.came_through(sentence.source, Run(translation)) is is_whole


@pytest.mark.parametrize(
    ("text", "translation", "is_whole"),
    [
        ("Za 10 000 € lub 1\u202f234\u202f567,80 £", "For €10,000 or £1,234,567.80", True),
        ("Für 10'000 €, .05 $ und 5,00 ₺", "For €10,000, $0.05 and ₺5", True),
        ("कीमत ₹५०० या ٥ € है", "The price is ₹500 or €5", True),
        ("Za 20 tysięcy €, 5万¥", "For €20,000, ¥50,000", True),
        ("W 2024 100 €", "In 2024, €100", True),
        ("Za 10 000 €, 20 000 kotów", "For €20,000, 10,000 cats", False),
    ],
)
def test_an_amount_may_be_written_in_another_way(
    text: str, translation: str, is_whole: bool
) -> None:
    assert Operators().came_through(Run(text), Run(translation)) is is_whole


def test_if_one_operator_is_lost_all_are_protected() -> None:
    [sentence] = take_apart("Nastavení > Účet > Heslo", "text").sentences
    again = sentence.with_more_protected("")
    assert again is not None
    assert [one.original for one in again.stand_ins] == [">", ">"]
    pieces = sentence.in_pieces("")
    assert pieces is not None
    assert [one.strip() for one in pieces.pieces[::2]] == ["Nastavení", "Účet", "Heslo"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Es gilt x ≤ 5 und 3 · 5 = 15.", ["≤ 5", "3 · 5 = 15"]),
        ("Für 20 €, $5 oder ,50 £ je Kilo", ["20 €", "$5", ",50 £"]),
        ("In 3 Tagen für US$ 1.250,50 nach Rom", ["$ 1.250,50"]),
        ("Für 10 000 € oder £1'000'000,50", ["10 000 €", "£1'000'000,50"]),
    ],
)
def test_the_numbers_beside_an_operator_are_protected_with_it(text: str, kept: list[str]) -> None:
    run = Operators().protect(Run(text), Run())
    assert [run.text[one.begin : one.end] for one in run.protected] == kept


def test_an_amount_is_not_protected_if_only_something_else_was_lost() -> None:
    run = Run("Od 4.57 $ i x ≤ 3")
    kept = Operators().protect(run, Run("From $4,57 and x ≤ 8"))
    assert [run.text[one.begin : one.end] for one in kept.protected] == ["≤ 3"]
    lost = Operators().protect(run, Run("From 4.57 and x ≤ 3"))
    assert [run.text[one.begin : one.end] for one in lost.protected] == ["4.57 $", "≤ 3"]


def test_in_pieces_all_signs_are_protected() -> None:
    [sentence] = take_apart("Od 4.57 $ i 8 kotów", "text").sentences
    pieces = sentence.in_pieces("From $4,57 and 9 cats")
    assert pieces is not None
    assert [one.strip() for one in pieces.pieces[::2]] == ["Od", "i", "kotów"]


def test_a_vertical_bar_is_an_operator() -> None:
    [sentence] = take_apart("<p>Platí P(A | B).</p>", "html").sentences
    assert not sentence.pipeline.came_through(sentence.source, Run("P (A, B) holds."))
