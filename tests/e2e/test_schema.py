"""Requests made up from the documented interface, and raw ones: no failure, no undocumented answer."""

import time

import pytest

from tests import fuzz


@pytest.mark.slow
@pytest.mark.parametrize("keys", [False, True])
def test_made_up_requests_get_documented_answers(keys: bool) -> None:
    with fuzz.served(keys) as url:
        headers = {"Authorization": f"Bearer {fuzz.KEY}"} if keys else {}
        assert fuzz.schemathesis(url, seed=1, examples=10, headers=headers) is None


@pytest.mark.slow
@pytest.mark.parametrize("keys", [False, True])
def test_raw_requests_at_random_get_an_answer_of_the_right_shape(keys: bool) -> None:
    with fuzz.served(keys) as url:
        port = int(url.rpartition(":")[2])
        assert list(fuzz.fuzz_raw(port, 1, time.monotonic() + 5)) == []
