"""Positions in a text of which stretches are replaced."""

from service.text.run import replaced, shifted


def test_positions_follow_what_is_replaced() -> None:
    places = [(1, 3, "xyz"), (5, 5, "_"), (6, 9, "")]
    assert replaced("abcdefghij", places) == "axyzde_fj"
    assert shifted([0, 1, 2, 3, 5, 6, 7, 9, 10], places) == [0, 1, 4, 4, 7, 8, 8, 8, 9]
    assert shifted([], places) == []
