"""How long promised work will take, by hand-made figures."""

from contextlib import suppress

import pytest

from service.translation.backlog import Backlog


def measured(threads: int) -> Backlog:
    """One that needs 10 ms for each unit."""
    backlog = Backlog(threads)
    backlog.measured(30, 0.3)
    return backlog


def test_a_new_request_waits_for_at_most_its_own_amount_of_longer_ones() -> None:
    backlog = measured(threads=2)
    with backlog.promised(1000), backlog.promised(50), backlog.promised(100) as promise:
        assert promise.seconds == pytest.approx((100 + 50 + 100) / 2 * 0.01)
        assert backlog.seconds == pytest.approx(1000 * 0.01)  # which one thread alone does


def test_a_request_uses_one_thread_at_a_time() -> None:
    backlog = measured(threads=8)
    with backlog.promised(10), backlog.promised(200) as promise:
        assert promise.seconds == pytest.approx(2.0)
        assert backlog.seconds == pytest.approx(2.0)


def test_finished_and_cancelled_work_leaves_the_backlog() -> None:
    backlog = measured(threads=1)
    with backlog.promised(100) as done:
        with suppress(KeyError), backlog.promised(100):
            done.left -= 70
            assert backlog.seconds == pytest.approx(1.3)
            raise KeyError
        assert backlog.seconds == pytest.approx(0.3)
    assert backlog.seconds == 0


def test_there_is_no_wait_without_other_requests_or_measurements() -> None:
    backlog = measured(threads=1)
    with backlog.promised(0), backlog.promised(10**9) as promise:  # the first one asks for none
        assert promise.seconds == 0
    backlog = Backlog(threads=1)
    with backlog.promised(10), backlog.promised(10) as promise:
        assert promise.seconds == backlog.seconds == 0


def test_recent_measurements_count_most() -> None:
    backlog = measured(threads=1)
    for _ in range(500):
        backlog.measured(30, 3.0)
    with backlog.promised(10):
        assert backlog.seconds == pytest.approx(1.0, rel=0.05)
