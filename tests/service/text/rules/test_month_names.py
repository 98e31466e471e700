"""Months of dates, and days of the week."""

import pytest

from service.text.rules.month_names import MonthNames
from service.text.run import Run


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("From 4 Nov 2024 to 30 Nov 2025.", "Vom 4. November 2024 bis 30. Nov. 2025."),
        ("Valid until 12 Apr 2024!", "Gültig bis 12.04.2024!"),
        ("Sep 4, 2024", "4. September 2024"),
        ("in November 2024", "im November 2024"),
        ("May I come at 5?", "Darf ich um 5 kommen?"),
        ("You may 5 times.", "Du darfst 5 Mal."),
        ("In 2019 May resigned.", "2019 trat Frau M. zurück."),
        ("in November", "im Herbst"),
        ("on 5 March", "am 5MÄRZ"),
    ],
)
def test_a_month_may_be_a_name_or_a_number(source: str, translation: str) -> None:
    assert MonthNames("en", "de").came_through(Run(source), Run(translation))


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("From 4 Nov 2024 to 30 Nov 2025.", "Vom 4. März 2024 bis 30. Nov. 2025."),
        ("Valid until 12 Apr 2024!", "Gültig bis 12 Uhr 2024!"),
        ("Sep 4, 2024", "Seit 4, 2024"),
        ("Due 4 May", "Due 4 kann"),
        ("Updated Dec 5", "Aktualisierte de 5"),
    ],
)
def test_another_month_is_found(source: str, translation: str) -> None:
    assert not MonthNames("en", "de").came_through(Run(source), Run(translation))


def test_protected_months_have_names_of_the_target() -> None:
    run = Run("From 4 Nov 2024 to May 5.")
    protected = MonthNames("en", "de").protect(run, Run()).protected
    assert [(run.text[part.begin : part.end], part.raw) for part in protected] == [
        ("Nov", "November"),
        ("May", "Mai"),
    ]
    [part] = MonthNames("de", "ru").protect(Run("am 5. Mai"), Run()).protected
    assert part.raw == "мая"


@pytest.mark.parametrize(
    ("source", "translation", "came_through"),
    [
        ("Party (Sunday)", "Feier (Sonntag)", True),
        ("Party (Sunday)", "Feier (Sontag)", False),
        ("Sunday morning", "Sonntagmorgen", True),
        ("every Monday", "montags", True),
        ("Monday to Friday", "Montag bis Donnerstag", False),
        ("two Sundays", "zwei Tage", True),
    ],
)
def test_days_of_the_week_are_demanded(source: str, translation: str, came_through: bool) -> None:
    rule, run = MonthNames("en", "de"), Run(source)
    assert rule.came_through(run, Run(translation)) is came_through


def test_lost_days_are_protected_with_names_of_the_target() -> None:
    run = Run("From Monday to Friday, Mondays too.")
    protected = MonthNames("en", "de").protect(run, Run("Von Monday bis Freitag")).protected
    assert [(run.text[part.begin : part.end], part.raw) for part in protected] == [
        ("Monday", "Montag")
    ]


def test_nothing_is_demanded_of_a_language_without_known_months() -> None:
    rule, run = MonthNames("en", "tlh"), Run("on 5 May")
    assert rule.came_through(run, Run("5"))
    assert rule.protect(run, Run()) is run
