"""How long promised work will take, by hand-made figures."""

from contextlib import suppress

import pytest

from service.translation.backlog import Backlog


def measured(threads: int) -> Backlog:
    """One that needs 10 ms for each unit."""
    backlog = Backlog(threads)
    backlog.measured(30, 0.3)
    return backlog


def test_of_longer_ones_no_more_comes_before_than_a_new_one_has_itself() -> None:
    backlog = measured(threads=2)
    with backlog.promised(1000), backlog.promised(50), backlog.promised(100) as promise:
        assert promise.seconds == pytest.approx((100 + 50 + 100) / 2 * 0.01)
        assert backlog.seconds == pytest.approx(1000 * 0.01)  # which one thread alone does


def test_one_request_is_never_on_two_threads_at_once() -> None:
    backlog = measured(threads=8)
    with backlog.promised(10), backlog.promised(200) as promise:
        assert promise.seconds == pytest.approx(2.0)
        assert backlog.seconds == pytest.approx(2.0)


def test_what_is_done_or_given_up_is_owed_no_more() -> None:
    backlog = measured(threads=1)
    with backlog.promised(100) as done:
        with suppress(KeyError), backlog.promised(100):
            done.left -= 70
            assert backlog.seconds == pytest.approx(1.3)
            raise KeyError
        assert backlog.seconds == pytest.approx(0.3)
    assert backlog.seconds == 0


def test_who_is_alone_is_told_of_no_wait_and_neither_is_anybody_before_a_measurement() -> None:
    backlog = measured(threads=1)
    with backlog.promised(0), backlog.promised(10**9) as promise:  # the first one asks for none
        assert promise.seconds == 0
    backlog = Backlog(threads=1)
    with backlog.promised(10), backlog.promised(10) as promise:
        assert promise.seconds == backlog.seconds == 0


def test_the_last_measurements_count_most() -> None:
    backlog = measured(threads=1)
    for _ in range(500):
        backlog.measured(30, 3.0)
    with backlog.promised(10):
        assert backlog.seconds == pytest.approx(1.0, rel=0.05)
