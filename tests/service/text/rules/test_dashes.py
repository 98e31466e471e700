"""En dashes without blanks."""

import pytest

from service.text.rules.dashes import Dashes
from service.text.run import Run


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("It takes 3–5 days.", "It takes 3-5 days."),
        ("Open Monday–Friday", "Open Monday-Friday"),
        ("1914–18, a–b", "1914-18, a-b"),
        ("a – b, –5, 5–", "a – b, –5, 5–"),
        ("well-known", "well-known"),
        ("It was cold—5 degrees.", "It was cold — 5 degrees."),
        ("yes—no, —5, 5 — 3", "yes—no, —5, 5 — 3"),
    ],
)
def test_a_model_reads_hyphens(text: str, prepared: str) -> None:
    assert Dashes().prepare(Run(text)).text == prepared


@pytest.mark.parametrize(
    ("source", "translation", "restored"),
    [
        ("3–5 days", "3-5 Tage", "3–5 Tage"),
        ("3–5 days", "3 bis 5 Tage", "3 bis 5 Tage"),
        ("Monday–Friday", "Montag-Freitag", "Montag–Freitag"),
        ("the Earth–Moon system", "das Erde-Mond-System", "das Erde-Mond-System"),  # which one?
        ("a well-known 3–5 day trip", "eine 3-5-tägige E-Reise", "eine 3–5-tägige E-Reise"),
        ("call 555-1234, 3–5 pm", "555-1234, 3-5", "555-1234, 3-5"),  # which one?
        ("a – b", "a-b", "a-b"),
        ("a – b", "a - b", "a – b"),
        ("a — b — c", "a - b", "a — b"),
        ("a - b – c", "a - b - c", "a - b – c"),
        ("a - b – c", "a - c", "a - c"),  # which one?
        ("a - b", "a – b", "a – b"),
    ],
)
def test_dashes_are_restored_where_they_are_certain(
    source: str, translation: str, restored: str
) -> None:
    assert Dashes().restore(Run(source), Run(translation)).text == restored


def test_dashes_between_words_must_come_through() -> None:
    rule, source = Dashes(), Run("Open Monday–Friday")
    assert rule.came_through(source, Run("Montag-Freitag geöffnet"))
    assert rule.came_through(source, Run("Montag–Freitag geöffnet"))
    assert not rule.came_through(source, Run("Montag Freitag geöffnet"))
    assert not rule.came_through(Run("9–17, Monday–Friday"), Run("9-17, Montag Freitag"))
    assert rule.came_through(Run("3–5 days"), Run("3 bis 5 Tage"))
    [part] = rule.protect(source, Run()).protected
    assert source.text[part.begin : part.end] == "–"
