"""Ids of requests, and those that are cut off."""

import asyncio
import json

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.service.api.asgi import ask


def test_every_answer_has_an_id_and_a_clients_own_is_kept(client: TestClient) -> None:
    first, second = (client.get("/health").headers["x-request-id"] for _ in range(2))
    assert first != second
    answer = client.get("/health", headers={"x-request-id": "job-17.a"})
    assert answer.headers["x-request-id"] == "job-17.a"
    answer = client.get("/health", headers={"x-request-id": "no spaces, please"})
    assert answer.headers["x-request-id"] != "no spaces, please"


def test_a_request_that_is_cut_off_as_the_service_stops_is_told_so(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> tuple[int, bytes]:
        task = asyncio.create_task(ask(create_app(settings), {"path": "/translate"}, 10, False))
        await asyncio.sleep(0.01)
        task.cancel()
        return await task

    status, body = asyncio.run(run())
    assert (status, json.loads(body)["code"]) == (503, "not_ready")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
