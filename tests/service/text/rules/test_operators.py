"""Signs between words: none may be lost."""

import pytest

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
    ],
)
def test_the_number_of_operators_must_match(text: str, translation: str, is_whole: bool) -> None:
    [sentence] = take_apart(text, "text").sentences
    assert sentence.pipeline.came_through(sentence.source, Run(translation)) is is_whole


def test_if_one_operator_is_lost_all_are_protected() -> None:
    [sentence] = take_apart("Nastavení > Účet > Heslo", "text").sentences
    again = sentence.with_more_protected("")
    assert again is not None
    assert [one.original for one in again.stand_ins] == [">", ">"]
    pieces = sentence.in_pieces("")
    assert pieces is not None
    assert [one.strip() for one in pieces.pieces[::2]] == ["Nastavení", "Účet", "Heslo"]


def test_a_vertical_bar_is_an_operator() -> None:
    [sentence] = take_apart("<p>Platí P(A | B).</p>", "html").sentences
    assert not sentence.pipeline.came_through(sentence.source, Run("P (A, B) holds."))
