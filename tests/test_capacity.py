"""The arithmetic of docs/capacity.md, with small figures."""

import pytest

from tests.bench.capacity import Capacity, needed, page_part


@pytest.fixture
def capacity() -> Capacity:
    """A replica of two cores that serves 100 requests per second."""
    return Capacity(
        "a machine",
        cores=2,
        alone_ms=[10.0, 30.0],
        throughput={1: 50.0, 2: 80.0, 4: 100.0, 8: 98.0},
        simulated=[{"replicas": 1, "load": "50%"}, {"replicas": 10, "load": "80%"}],
    )


def test_the_number_of_replicas_accounts_for_the_size_of_the_fleet(capacity: Capacity) -> None:
    rows = {row["load"]: (row["replicas"], row["cores"]) for row in needed(capacity)}
    assert rows["10/s"] == ("1", "2")
    assert rows["100/s"] == ("2", "4"), "each by itself: 100 / 50"
    assert rows["1,000/s"] == ("13", "26"), "1,000 / 80"
    assert rows["a billion a day"] == ("145", "290"), "11,574 / 80"


def test_the_simulation_reproduces_the_measured_throughput(capacity: Capacity) -> None:
    assert capacity.mean_work == pytest.approx(0.02)
    # in seconds of work per second; more concurrency never reduces it
    assert capacity.curve.points == pytest.approx({1: 1.0, 2: 1.6, 4: 2.0, 8: 2.0})
    times = capacity.simulated_times(1, 0.01)
    assert sum(times) / len(times) == pytest.approx(0.02, rel=0.03)


def test_the_page_has_every_table(capacity: Capacity) -> None:
    part = page_part(capacity)
    assert "| 4 | 100.0 |" in part
    assert part.count("not measured") == 1, "the loads"
