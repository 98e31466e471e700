"""Positions in a text after replacements, and protected spans."""

from service.text.run import Protected, Run, replaced, shifted


def test_positions_follow_replacements() -> None:
    places = [(1, 3, "xyz"), (5, 5, "_"), (6, 9, "")]
    assert replaced("abcdefghij", places) == "axyzde_fj"
    assert shifted([0, 1, 2, 3, 5, 6, 7, 9, 10], places) == [0, 1, 4, 4, 7, 8, 8, 8, 9]
    assert shifted([], places) == []


def test_overlapping_protection_excludes_what_is_already_protected() -> None:
    run = Run("ab%d²c d", protected=[Protected(2, 4), Protected(7, 8)])
    found = run.protecting([(0, 5), (5, 8)]).protected
    assert [(one.begin, one.end) for one in found] == [(0, 2), (2, 4), (4, 5), (5, 7), (7, 8)]
    assert run.protecting([(2, 4), (3, 3)]) == run


def test_a_stretch_that_is_partly_protected_is_written_as_its_text() -> None:
    run = Run("um 10 Mio. da").protecting([(6, 9)]).protecting([(3, 10, "10 million")])
    assert run.written() == "um 10 Mio. da"


def test_of_two_stretches_that_overlap_the_first_is_protected() -> None:
    run = Run("5 Mio. Euro 7").protecting([(7, 13), (0, 11, "5 million euros")])
    assert run.written() == "5 million euros 7"
    assert [(one.begin, one.end) for one in run.protected] == [(0, 11)]
