"""Ids, limits, and clients that go away."""

import asyncio
import time

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from service.api.dependencies import unless_client_leaves
from service.errors import CancelledError


def test_every_answer_has_an_id_and_a_clients_own_is_kept(client: TestClient) -> None:
    first, second = (client.get("/health").headers["x-request-id"] for _ in range(2))
    assert first != second
    answer = client.get("/health", headers={"x-request-id": "job-17.a"})
    assert answer.headers["x-request-id"] == "job-17.a"
    answer = client.get("/health", headers={"x-request-id": "no spaces, please"})
    assert answer.headers["x-request-id"] != "no spaces, please"


def test_a_body_over_the_limit_is_refused_announced_or_not(client: TestClient) -> None:
    announced = client.post("/translate", json={"q": "x" * 20_000})
    streamed = client.post("/translate", content=(b"x" * 1000 for _ in range(20)))
    for answer in (announced, streamed):
        assert answer.status_code == 413
        assert answer.json()["code"] == "body_too_large"
        assert "the limit is 10000" in answer.json()["error"]


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/translate", 405), ("GET", "/x", 404)]
)
def test_errors_of_the_framework_have_our_shape(
    client: TestClient, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.json().keys() == {"error", "code"}


def test_work_is_cancelled_when_its_client_leaves() -> None:
    cancelled = False

    async def receive() -> dict[str, str]:
        await asyncio.sleep(0.02)
        return {"type": "http.disconnect"}

    async def work() -> None:
        nonlocal cancelled
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled = True
            raise

    async def serve() -> None:
        await unless_client_leaves(Request({"type": "http"}, receive), work())

    started = time.monotonic()
    with pytest.raises(CancelledError, match="closed its connection"):
        asyncio.run(serve())
    assert cancelled
    assert time.monotonic() - started < 10
