"""The names of units after numbers must be those of the same units in the translation."""

import pytest

from service.text.languages import profile
from service.text.rules.unit_words import UnitWords
from service.text.run import Protected, Run


def rule(languages: str) -> UnitWords:
    return UnitWords(*map(profile, languages.split()))


@pytest.mark.parametrize(
    ("languages", "source", "translation", "came_through"),
    [
        ("en de", "It rose by 8 inches.", "Es stieg um 8 Zoll.", True),
        ("en de", "It rose by 8 inches.", "Es stieg um 8 Zentimeter.", False),
        ("en de", "It is 40 inch long.", "Es ist 40 Minuten lang.", False),
        ("en de", "He is 6 feet 2 inches tall.", "Er ist 6 Fuß 2 Zentimeter groß.", False),
        ("en de", "The lamp has 60 watts.", "Die Lampe hat 60 Wasser.", False),
        ("en de", "The lamp has 60 watts.", "Die Lampe hat 60 W.", True),
        ("en de", "a 5-kilometre run", "ein 5-Kilometer-Lauf", True),
        ("en de", "a 5-mile run", "ein 5-Kilometer-Lauf", False),
        ("en de", "They sold 3 million gallons.", "Sie verkauften 3 Millionen Liter.", False),
        ("de en", "Es stieg um 32 Millimeter.", "It rose by 32 billion.", False),
        ("de en", "mit 44 Kilometern", "with 44 miles", False),
        ("de en", "mit 44 Kilometern", "with 44 kilometres", True),
        ("de en", "mit 44 Kilometern", "with 44 km", True),
        ("de en", "8 Meter", "8 centimeters", False),
        ("de en", "20 Prozent", "20%", True),
        ("en de", "The board is ½ inch thick.", "Das Brett ist ½ dick.", False),
        ("en de", "The board is 1½ inches thick.", "Das Brett ist 1½ Zoll dick.", True),
        ("de en", "5 Tonnen", "5 tons", True),
        ("de en", "27 Zoll breit", '27" wide', True),
        ("en de", "at 50 miles per hour", "mit 50 Meilen in der Stunde", True),
        ("en de", "at 50 miles per hour", "mit 50 Kilometern pro Stunde", False),
        ("en de", "It has 38 degrees.", "Es hat 38°C.", True),
        ("fi en", "20 kilometriä", "20 kilometers", True),
        ("ru en", "с 20 километрами", "with 20 miles", False),
        ("en ru", "with 20 kilometers", "с 20 километрами", True),
        ("ja en", "5キロメートルです", "It is 5 miles", False),
        ("ja en", "300万リットル", "3 million gallons", False),
        ("en ja", "It is 5 kilometers", "5キロメートルです", True),
        ("ja en", "時速50キロメートル", "50 kilometers per hour", True),
    ],
)
def test_the_translation_has_the_same_units(
    languages: str, source: str, translation: str, came_through: bool
) -> None:
    assert rule(languages).came_through(Run(source), Run(translation)) is came_through


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("en de", "It costs 20 pounds.", "Es kostet £20."),
        ("fr en", "Elle a 20 livres.", "She has 20 books."),
        ("es en", "Tiene 4 pies.", "It has 4 legs."),
        ("en de", "She has 2 degrees.", "Sie hat 2 Abschlüsse."),
        ("en de", "She has 2 degrees and ran 5 km.", "Sie hat 2 Abschlüsse und lief 5 km."),
        ("de en", "5 Zollbeamte", "5 customs officers"),
        ("de en", "Der Meter kostet 5 Euro.", "They cost 5 euros each."),
        ("en de", "It takes 90 minutes.", "Es dauert eineinhalb Stunden."),
        ("en de", "2 cups of flour", "2 Becher Mehl"),
        ("en qaa", "5 miles", "5 xyz"),
        ("qaa en", "5 miles", "5 xyz"),
    ],
)
def test_what_may_be_something_else_is_not_demanded(
    languages: str, source: str, translation: str
) -> None:
    assert rule(languages).came_through(Run(source), Run(translation))


def test_a_name_with_other_meanings_does_not_become_another_unit() -> None:
    assert not rule("en de").came_through(Run("He lost 20 pounds."), Run("Er verlor 20 Kilogramm."))


@pytest.mark.parametrize(
    ("languages", "source", "written"),
    [
        ("en de", "8 inches", "8 Zoll"),
        ("en de", "1 mile", "1 Meile"),
        ("en de", "2 miles", "2 Meilen"),
        ("en de", "2.50 meters", "2,50 Meter"),
        ("de en", "1.500 Watt", "1,500 watts"),
        ("de en", "15000 Watt", "15000 watts"),
        ("de en", "30 x 40 Zoll", "30 x 40 inches"),
        ("de en", "1 Meter", "1 meter"),
        ("de en", "3 Millionen Liter", "3 million liters"),
        ("de en", "-5 Grad Celsius", "-5 degrees Celsius"),
        ("de en", "5-10 Liter", "5-10 liters"),
        ("de en", "+5,0 Prozent", "+5.0 percent"),
        ("de en", "+3 Millionen Liter", "+3 million liters"),
        ("de en", "007 Meter", "007 meters"),
        ("de en", "05 Liter", "05 liters"),
        ("de en", "#5 Zoll", "#5 inches"),
        ("en pl", "2 kilometers", "2 kilometry"),
        ("en pl", "5 kilometers", "5 kilometrów"),
        ("en pl", "1.5 kilometers", "1,5 kilometra"),
        ("en sw", "5 meters", "mita 5"),
    ],
)
def test_lost_units_are_protected_as_the_target_language_writes_them(
    languages: str, source: str, written: str
) -> None:
    protected = rule(languages).protect(Run(source), Run("?")).protected
    assert protected == [Protected(0, len(source), written)]


def test_only_certain_units_that_came_through_are_protected() -> None:
    source = Run("Elle a 20 livres de 8 grammes.")
    protected = rule("fr en").protect(source, Run("She has 20 books of 8 grams.")).protected
    assert protected == [Protected(20, 29, "8 grams")]


def test_the_unit_of_a_protected_number_is_demanded() -> None:
    source = Run("8 inches", protected=[Protected(0, 1)])
    assert not rule("en de").came_through(source, Run("8 Zentimeter"))
    source = Run("8 inches", protected=[Protected(0, 8, "8 Zoll")])
    assert rule("en de").came_through(source, Run("8 Zentimeter"))


def test_a_unit_does_not_end_in_the_next_number() -> None:
    protected = rule("de en").protect(Run("Am 5 Meter20 Meter"), Run("?"))
    assert protected.written() == "Am 5 Meter20 meters"


@pytest.mark.parametrize(
    ("languages", "text", "written"),
    [
        ("en de", "½ inch", "½ Zoll"),
        ("de en", "½ Zoll", "½ inch"),
        ("de en", "1½ Zoll", "1½ inches"),
        ("de en", "3/4 Zoll", "3/4 inch"),
    ],
)
def test_a_unit_is_written_after_a_fraction_which_may_be_protected_already(
    languages: str, text: str, written: str
) -> None:
    for run in (Run(text), Run(text, protected=[Protected(0, text.index(" "))])):
        assert rule(languages).protect(run, Run()).written() == written
