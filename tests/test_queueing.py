"""The simulation of replicas agrees with closed formulas of queueing theory."""

import math
import random

import pytest

from tests.bench.queueing import Throughput, breaking_load, percentile, simulate

MEAN = 0.1
ALONE = Throughput({1: 1.0})


def exponential(rng: random.Random) -> float:
    return rng.expovariate(1 / MEAN)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_one_replica_serving_one_at_a_time_is_m_m_1() -> None:
    load = 0.5
    times = simulate(1, load / MEAN, 40_000, ALONE, exponential)
    # response times of M/M/1 are exponential, with mean 1 / (mu - lambda)
    expected = MEAN / (1 - load)
    assert mean(times) == pytest.approx(expected, rel=0.06)
    for percent in (50, 95, 99):
        quantile = -math.log(1 - percent / 100) * expected
        assert percentile(times, percent) == pytest.approx(quantile, rel=0.1)


def erlang_c(servers: int, offered: float) -> float:
    """Return the probability that an arrival waits (Erlang, 1917)."""
    terms = [offered**k / math.factorial(k) for k in range(servers)]
    last = offered**servers / math.factorial(servers) * servers / (servers - offered)
    return last / (sum(terms) + last)


@pytest.mark.parametrize(("servers", "load"), [(4, 0.8), (16, 0.9)])
def test_one_replica_with_linear_speed_up_is_m_m_c(servers: int, load: float) -> None:
    even = Throughput({1: 1.0, servers: float(servers)})
    times = simulate(1, load * servers / MEAN, 60_000, even, exponential)
    waits = erlang_c(servers, load * servers) * MEAN / (servers * (1 - load))
    assert mean(times) == pytest.approx(MEAN + waits, rel=0.06)


def test_shared_throughput_is_processor_sharing_for_any_distribution() -> None:
    # the mean of M/G/1-PS depends only on the mean of the work (Kleinrock, 1976)
    shared = Throughput({1: 1.0, 400: 1.0})

    def uneven(rng: random.Random) -> float:
        return 5 * MEAN if rng.random() < 0.1 else 5 / 9 * MEAN

    for draw in (exponential, uneven):
        times = simulate(1, 0.6 / MEAN, 40_000, shared, draw)
        assert mean(times) == pytest.approx(MEAN / (1 - 0.6), rel=0.06)


def test_more_replicas_wait_less_and_no_request_waits_while_one_is_idle() -> None:
    def constant(_: random.Random) -> float:
        return MEAN

    # so many that some are always idle, and no request waits
    times = simulate(1000, 0.5 * 1000 / MEAN, 20_000, ALONE, constant)
    assert times[-1] == pytest.approx(MEAN)
    p99 = [
        percentile(simulate(n, 0.9 * n / MEAN, 20_000, ALONE, exponential), 99) for n in (1, 4, 32)
    ]
    assert p99[0] > p99[1] > p99[2] > -math.log(0.01) * MEAN * 0.9


def test_throughput_is_interpolated_linearly() -> None:
    measured = Throughput({1: 1.0, 8: 2.4, 32: 3.6})
    assert [measured.at(n) for n in (1, 8, 20, 32, 99)] == pytest.approx([1, 2.4, 3.0, 3.6, 3.6])


def test_the_breaking_load_matches_m_m_1() -> None:
    limit = 10 * MEAN
    # ln(100) / (mu - lambda) = limit at a load of 1 - ln(100) / 10
    found = breaking_load(1, ALONE, exponential, MEAN, limit, 20_000)
    assert found == pytest.approx(1 - math.log(100) / 10, abs=0.05)
