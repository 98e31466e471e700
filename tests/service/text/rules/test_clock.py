"""Times of day of which a word tells the half."""

import pytest

from service.text.languages import profile
from service.text.rules.clock import Clock
from service.text.rules.numbers import Numbers
from service.text.run import Run


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
