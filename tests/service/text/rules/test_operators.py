"""Signs of mathematics and between words, of which none may be lost."""

import pytest

from service.text.rules.operators import Operators
from service.text.run import Run
from tests.service.text.pipelines import take_apart


@pytest.mark.parametrize(
    ("text", "translation", "is_whole"),
    [
        ("Otwórz tam teraz Ustawienia > Konto > Hasło", "Settings > Account > Password", True),
        ("Otwórz tam teraz Ustawienia > Konto > Hasło", "Settings > Password", False),
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
        ("Catalan: col·lecció", "Catalan: collection", True),
    ],
)
def test_the_number_of_operators_must_match(text: str, translation: str, is_whole: bool) -> None:
    [sentence] = take_apart(text, "text").sentences
    assert sentence.pipeline.came_through(sentence.source, Run(translation)) is is_whole


def test_if_one_operator_is_lost_all_are_protected() -> None:
    [sentence] = take_apart("Teď otevři zde Nastavení > Účet > Heslo", "text").sentences
    again = sentence.with_more_protected("")
    assert again is not None
    assert [one.original for one in again.stand_ins] == [">", ">"]
    pieces = sentence.in_pieces("")
    assert pieces is not None
    assert [one.strip() for one in pieces.pieces[::2]] == [
        "Teď otevři zde Nastavení",
        "Účet",
        "Heslo",
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Es gilt x ≤ 5 und 3 · 5 = 15.", ["≤ 5", "3 · 5 = 15"]),
        ("Bei -4 ≤ x ≤ −3,5 und NH4 + 2", ["-4 ≤", "≤ −3,5", "NH4 + 2"]),
        ("In 3 Tagen 12 × 1'000 = 12 000 Mal", ["12 × 1'000 = 12 000"]),
    ],
)
def test_the_numbers_beside_an_operator_are_protected_with_it(text: str, kept: list[str]) -> None:
    run = Operators().protect(Run(text), Run())
    assert [run.text[one.begin : one.end] for one in run.protected] == kept


def test_a_vertical_bar_is_an_operator() -> None:
    [sentence] = take_apart("<p>Platí P(A | B).</p>", "html").sentences
    assert not sentence.pipeline.came_through(sentence.source, Run("P (A, B) holds."))
