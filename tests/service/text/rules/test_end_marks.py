"""A translation ends with the exclamation mark or full stop of its sentence."""

import pytest

from service.text.rules.end_marks import EndMarks
from service.text.run import Protected, Run, Tag


@pytest.mark.parametrize(
    ("source", "translation", "restored"),
    [
        ("Komm her!", "Come here.", "Come here!"),
        ("Come in.", "Komm herein!", "Komm herein."),
        ("Danke!", "Thanks!", "Thanks!"),
        ("Danke!", "Thanks", "Thanks"),
        ("Danke", "Thanks.", "Thanks."),
        ("Kommst du?", "Are you coming.", "Are you coming."),
        ("Komm!", "Are you coming?", "Are you coming?"),
        ("Halt!!", "Stop.", "Stop."),
        ("Halt!", "Stop...", "Stop..."),
        ("„Komm her!“", "“Come here.”", "“Come here!”"),
        ("(Komm her!)", "Come here.", "Come here!"),
        ("Komm her! Sofort.", "Come here! At once!", "Come here! At once."),
        ("过来！", "Come here.", "Come here!"),
        ("Come here!", "过来。", "过来！"),
        ("Come here.", "过来！", "过来。"),
        ("", "", ""),
    ],
)
def test_the_final_mark_is_that_of_the_sentence(
    source: str, translation: str, restored: str
) -> None:
    assert EndMarks().restore(Run(source), Run(translation)).text == restored


def test_tags_after_the_mark_stay_there() -> None:
    restored = EndMarks().restore(Run("Halt!"), Run("Stop.", [Tag(5, "</b>", "close")]))
    assert restored.written() == "Stop!</b>"


def test_a_protected_mark_stays() -> None:
    translation = Run("Search with Yahoo.", (), [Protected(12, 18)])
    assert EndMarks().restore(Run("Suche!"), translation) == translation
