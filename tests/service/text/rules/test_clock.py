"""Times of day of which a word tells the half."""

import pytest

from service.text.languages import profile
from service.text.rules.clock import Clock
from service.text.rules.numbers import Numbers
from service.text.run import Protected, Run


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("at 1:30 p.m.", ["13:30"]),
        ("from 1:30 to 3:00 p.m. in room 5", ["13:30", "15:00"]),
        ("2:00–4:00 pm", ["14:00", "16:00"]),
        ("11:00 to 2:00 p.m.", ["11:00", "14:00"]),
        ("10:00-12:00 am", ["22:00", "0:00"]),
        ("11:00 till 2:00 am", ["23:00", "2:00"]),
        ("at 4.30 p.m., 11.45 pm", ["16:30", "23:45"]),
        ("2.00 to 4.00 p.m.", ["14:00", "16:00"]),
        ("12:30 to 1:30 pm", ["12:30", "13:30"]),
        ("9:00 am to 5:00 pm", ["9:00", "17:00"]),
        ("9:15 to 11:00 a.m.", ["9:15", "11:00"]),
        ("2:1 to 3:00 pm", ["15:00"]),
        ("13:00 to 3:00 pm", ["15:00"]),
        ("1:30, 3:00 pm", ["15:00"]),
    ],
)
def test_both_times_of_a_range_are_in_the_half_that_its_end_says(
    text: str, times: list[str]
) -> None:
    assert [time.written for time in Clock(profile("en")).times(text)] == times


def test_half_of_a_range_in_the_24_hour_clock_is_noticed_and_protected() -> None:
    rule, source = Numbers(profile("en"), profile("de")), Run("from 1:30 to 3:00 p.m.")
    assert not rule.came_through(source, Run("von 1:30 bis 15:00 Uhr"))
    assert rule.came_through(source, Run("von 13:30 bis 15:00 Uhr"))
    protected = rule.protect(source, Run("von 1:30 bis 15:00 Uhr")).protected
    assert [part.raw for part in protected] == ["13:30", "15:00"]


@pytest.mark.parametrize(
    ("code", "text", "times"),
    [
        ("de", "um halb vier", ["3:30"]),
        ("de", "Halb eins oder Viertel vor eins?", ["12:30", "12:45"]),
        ("de", "um Viertel nach elf Uhr", ["11:15"]),
        ("de", "drei Viertel sieben, dreiviertel acht", ["6:45", "7:45"]),
        ("de", "um viertel vier", ["3:15"]),
        ("de", "fünf vor halb sieben, fünf nach halb sieben", ["6:25", "6:35"]),
        ("de", "zwanzig Minuten nach fünf", ["5:20"]),
        ("de", "halb leer, eine halbe Stunde, um drei, halb drei Leute", []),
        ("de", "fünf vor drei Jahren im Viertel vier", []),
        ("en", "at half past three", ["3:30"]),
        ("en", "a quarter past twelve, quarter to one", ["12:15", "12:45"]),
        ("en", "It's ten to nine. We came at twenty-five past six.", ["8:50", "6:25"]),
        ("en", "at half eight and until five after six", ["8:30", "6:05"]),
        ("en", "five minutes to ten o'clock", ["9:55"]),
        ("en", "The odds are ten to one. It takes five to seven days.", []),
        ("en", "at five to seven places, half an hour, half past", []),
    ],
)
def test_times_in_words_are_those_of_the_dial(code: str, text: str, times: list[str]) -> None:
    found = [time.value for time in Clock(profile(code)).in_words(text) if time.is_certain]
    assert found == times


@pytest.mark.parametrize(
    ("time", "german", "english"),
    [
        ("12:30", "halb eins", "half past twelve"),
        ("11:15", "Viertel nach elf", "quarter past eleven"),
        ("7:45", "Viertel vor acht", "quarter to eight"),
        ("12:50", "zehn vor eins", "ten minutes to one"),
        ("5:25", "fünf vor halb sechs", "twenty-five past five"),
        ("5:35", "fünf nach halb sechs", "twenty-five minutes to six"),
        ("6:07", "6:07", "6:07"),
    ],
)
def test_a_time_is_written_in_the_words_of_each_language(
    time: str, german: str, english: str
) -> None:
    assert Clock(profile("de")).written_in_words(time) == german
    assert Clock(profile("en")).written_in_words(time) == english


@pytest.mark.parametrize(
    ("source", "translation", "came_through"),
    [
        ("It is half past three.", "Es ist halb vier.", True),
        ("It is half past three.", "Es ist 15:30 Uhr.", True),
        ("It is half past three.", "Es ist 3.30 Uhr.", True),
        ("It is half past three.", "Es ist halb drei.", False),
        ("It is half past three.", "Es ist drei.", False),
        ("At half past two and half past three", "Um halb drei und halb vier", True),
        ("At half past two and half past three", "Um halb drei", False),
        ("It is ten to nine.", "Es ist zehn bis neun.", False),
        ("It takes ten to nine hours.", "Es dauert zehn bis neun Stunden.", True),
    ],
)
def test_times_in_words_are_compared(source: str, translation: str, came_through: bool) -> None:
    rule = Numbers(profile("en"), profile("de"))
    assert rule.came_through(Run(source), Run(translation)) is came_through
    # nothing is known of a language without such words
    assert Numbers(profile("en"), profile("qqq")).came_through(Run(source), Run(translation))


def test_a_protected_time_is_written_in_words_in_the_place_of_its_digits() -> None:
    rule = Numbers(profile("en"), profile("de"))
    source = rule.protect(Run("Half past three is fine."), Run("Halb drei ist gut."))
    assert [part.raw for part in source.protected] == ["3:30"]
    for text, expected in (
        ("3:30 ist gut.", "Halb vier ist gut."),
        ("Um 3:30 Uhr ist es gut.", "Um halb vier ist es gut."),
    ):
        begin = text.index("3:30")
        translation = Run(text, protected=[Protected(begin, begin + 4, "3:30")])
        assert rule.restore(source, translation).written() == expected
