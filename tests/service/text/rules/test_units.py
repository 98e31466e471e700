"""Symbols of units after numbers must be in the translation."""

import pytest

from service.text import document
from service.text.languages import profile
from service.text.pipeline import Pipeline
from service.text.rules.units import Units
from service.text.run import Run

RULE = Units(profile("pl"), profile("fr"))


@pytest.mark.parametrize(
    ("source", "translation", "came_through"),
    [
        ("Weź 200 g mąki.", "Prends 200 g de farine.", True),
        ("Weź 200 g mąki.", "Prends 200 G de farine.", False),
        ("Weź 200 g mąki.", "Prends 200 fleurs.", False),
        ("Lina 100 m, 2 m", "Corde de 100 m, 2 mille", False),
        ("2,5 kg ziemi", "2,5\u00a0kg de terre", True),
        ("2,5 kg ziemi", "2,5kg de terre", True),
        ("Jest 5 km stąd.", "5 km-re van.", True),
        ("Jedzie 80 km/h.", "Elle roule à 80 km.", False),
        ("Daje 10 l/min.", "Elle donne 10 l/min.", True),
        ("Daje 5 MW, 2 GHz i 3 kPa.", "Donne 5 MW, 2 GHz et 3 kPa.", True),
        ("Daje 5 MW, 2 GHz i 3 kPa.", "Donne 5 MW, 2 kHz et 3 kPa.", False),
        ("Ma 16 GB i 500 MB.", "Il a 16 GB et 500 GB.", False),
        ("Pole 5 m²", "Un champ de 5 m²", True),
        ("Trwa 5 min lub 3 h.", "Cela dure 5 minutes ou 3 heures.", True),
        ("12 in 5 am 3 A-B", "12 dans 5 le matin 3", True),
        ("Bieg 100 m-owy", "La course de cent mètres", True),
        ("Ma 200g.", "Il a 200 fleurs.", True),
        ("Ma 12 gal.", "Il a 12 Gall.", False),
        ("Ma 12 lbs.", "Il a 12 vies.", False),
        ("Ma 8 oz i 5 ft.", "Il a 8 oz et 5 ft.", True),
        ("Jest 70 °F, 5 mph.", "Il fait 70 °F, 5 mpf.", False),
        ("Ma 12 in.", "Il a 12.", False),
        ("Jest 420 ppm.", "Il est 420 heures.", False),
        ("Robi 1200 rpm.", "Il fait 1200 rpm.", True),
        ("Ma 15ft.", "Il a 15.", False),
        ("Ma ½ ft.", "Il a ½.", False),
        ("Ma 1½ kg.", "Il a 1½ kg.", True),
        ("Ma 15ft i 29kcal.", "Il a 15 ft et 29 kcal.", True),
        ("Działo 25mm", "Le canon de 25-mm", True),
    ],
)
def test_the_symbol_of_a_unit_must_be_in_the_translation(
    source: str, translation: str, came_through: bool
) -> None:
    assert RULE.came_through(Run(source), Run(translation)) is came_through


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("en de", "We meet at 5 pm.", "Wir treffen uns um 17:00 Uhr."),
        ("en de", "There are 3 bar stools.", "Es gibt 3 Barhocker."),
        ("en de", "Chapter 3 A New Hope", "Kapitel 3 Eine neue Hoffnung"),
        ("en de", "Add 5 fl oz.", "150 ml dazugeben."),
        ("en de", "There are 3 in the box.", "In der Schachtel sind 3."),
        ("en de", "We have 3 TV sets.", "Wir haben 3 Fernseher."),
        ("tr en", "Fiyatı 5 TL.", "It costs 5 lira."),
        ("it en", "Nel 2014 ha vinto.", "In 2014 she won."),
        ("it en", "Nel 2014 l'Italia ha vinto.", "In 2014, Italy won."),
        ("fr en", "En 2014 l’équipe a gagné.", "In 2014, the team won."),
        ("sv en", "Jag stannar 1 dag.", "I am staying for 1 day."),
    ],
)
def test_words_that_look_like_symbols_may_be_translated(
    languages: str, source: str, translation: str
) -> None:
    rule = Units(*map(profile, languages.split()))
    assert rule.came_through(Run(source), Run(translation))
    assert rule.protect(Run(source), Run(translation)) == Run(source)


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("de en", "Er trank 5 l Wasser.", "He drank 5 liters of water."),
        ("de en", "Er trank 5 l Wasser.", "He drank 5 litres of water."),
        ("de en", "Es wiegt 5 t.", "It weighs 5 tonnes."),
        ("en de", "a 20 km hike", "eine 20-Kilometer-Wanderung"),
        ("en pl", "5 kg and 120 m²", "5 kilogramów i 120 metrów kwadratowych"),
        ("en fi", "It is 5 km away.", "Se on 5 kilometrin päässä."),
        ("en de", "12 gal. of milk", "12 Gallonen Milch"),
        ("en de", "12 lbs. of milk", "12 Pfund Milch"),
        ("en de", "8 oz of milk", "8 Unzen Milch"),
        ("en de", "6 ft tall", "6 Fuß groß"),
        ("en de", "12 in. wide", "12 Zoll breit"),
        ("de en", "60 mph", "60 miles per hour"),
        ("de fr", "5 GB Speicher", "5 gigaoctets de mémoire"),
    ],
)
def test_a_unit_may_be_spelled_out(languages: str, source: str, translation: str) -> None:
    rule = Units(*map(profile, languages.split()))
    assert rule.came_through(Run(source), Run(translation))
    assert not rule.came_through(Run(source), Run("100 miles"))


@pytest.mark.parametrize("languages", [("pl", "ru"), ("zh", "fr"), ("ja", "ko"), ("", "fr")])
def test_languages_in_other_scripts_have_their_own_symbols(languages: tuple[str, str]) -> None:
    source, target = map(profile, languages)
    rule = Units(source, target)
    assert rule.came_through(Run("Weź 5 km"), Run("Возьми 5 км"))
    assert rule.protect(Run("Weź 5 km"), Run()) == Run("Weź 5 km")


def test_a_symbol_is_protected_with_its_number() -> None:
    text = "Weź 2–3 kg mąki, 1/2 l i 2 litry."
    protected = RULE.protect(Run(text), Run()).protected
    assert [text[one.begin : one.end] for one in protected] == ["2–3 kg", "1/2 l"]


@pytest.mark.parametrize(
    ("other", "raw"), [("Es sind 0,5 l.", "1,500 kg"), ("Es sind 0.5 l.", None)]
)
def test_protected_numbers_are_converted_unless_the_document_has_the_format_of_the_target(
    other: str, raw: str | None
) -> None:
    text = "Es sind 1.500 kg."
    rule = Units(profile("de"), profile("en")).adapted([text, other])
    [protected] = rule.protect(Run(text), Run()).protected
    assert protected.raw == raw


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("kg", True),
        ("(km/h)", True),
        ("lbs.", True),
        ("kg mąki", False),
        ("K", False),
        ("in", False),
    ],
)
def test_a_symbol_without_a_number_is_left_between_languages_in_latin_script(
    text: str, leaves: bool
) -> None:
    assert RULE.leaves(Run(text)) is leaves
    assert not Units(profile("pl"), profile("ru")).leaves(Run(text))


def test_lost_symbols_are_protected() -> None:
    pipeline = Pipeline([RULE])
    [sentence] = document.take_apart("Weź 200 g mąki.", "text", pipeline=pipeline).sentences
    assert not sentence.came_through("Prends 200 fleurs.")
    again = sentence.with_more_protected("Prends 200 fleurs.")
    assert again is not None
    [amount] = again.stand_ins
    assert again.text == f"Weź {amount.name} mąki."
    assert again.readable(f"Prends {amount.name} de farine.") == "Prends 200 g de farine."
