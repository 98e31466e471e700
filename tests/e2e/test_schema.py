"""Requests made up from the documented interface, and raw ones: no failure, no undocumented answer."""

from collections.abc import Iterator
from itertools import islice

import pytest

from tests import fuzz


@pytest.fixture(scope="module", params=[False, True], ids=["open", "keys"])
def service(request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of one without API keys or with, and what a request to it needs."""
    with fuzz.served(request.param) as url:
        yield url, {"Authorization": f"Bearer {fuzz.KEY}"} if request.param else {}


@pytest.mark.slow
def test_generated_requests_get_documented_answers(service: tuple[str, dict[str, str]]) -> None:
    """Each phase runs once, since keys are checked before anything else; `make fuzz` runs all."""
    url, headers = service
    phases = "fuzzing" if headers else "coverage"
    assert fuzz.schemathesis(url, seed=1, examples=10, headers=headers, phases=phases) is None


@pytest.mark.slow
def test_random_raw_requests_get_valid_answers(
    service: tuple[str, dict[str, str]],
) -> None:
    url, headers = service
    port = int(url.rpartition(":")[2])
    faults = islice(fuzz.fuzz_raw(port, seed=len(headers)), 500)
    assert list(filter(None, faults)) == []
