"""Translations as server-sent events."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import pytest
from fastapi import Request
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from service.api.client_state import KEY, ClientState
from service.api.middleware.admission import Admission, InFlightLimit
from service.api.middleware.context import RequestContext
from service.api.native.schemas import TranslateResponse
from service.api.stream import streamed
from service.errors import DeadlineExceededError
from service.metrics import Metrics
from service.translation.types import Done, Event, SentenceResult, TranslatedSentence

STREAM = {"accept": "text/event-stream"}
TEXTS = ["Der alte Hund schläft. Das gute Kind wartet.", "42", "Die alte Frau fällt dort."]


def events(text: str) -> list[tuple[str, dict[str, object]]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_a_stream_has_every_sentence_once_and_then_the_whole(client: TestClient) -> None:
    body = {"q": TEXTS, "source": "auto", "target": "en"}
    answer = client.post("/translate", json=body, headers=STREAM)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-accel-buffering"] == "no"
    *segments, (last, whole) = events(answer.text)
    assert {name for name, _ in segments} == {"segment"}
    assert sorted((one["text"], one["segment"], one["target"]) for _, one in segments) == [
        (0, 0, "The old dog sleeps."),
        (0, 1, "The good child waits."),
        (2, 0, "The old woman falls there."),
    ]
    assert last == "done"
    assert whole == client.post("/translate", json=body).json()


@pytest.mark.parametrize(
    ("failure", "message", "code"),
    [
        (DeadlineExceededError("not finished"), "not finished", "deadline_exceeded"),
        (KeyError("/a/path"), "internal error", "internal_error"),
    ],
)
def test_an_error_at_the_end_of_a_stream_is_told_and_counted(
    failure: Exception, message: str, code: str
) -> None:
    metrics = Metrics()
    sentence = TranslatedSentence("Hund", ("dog",), (-1.0,))
    sent = b""

    async def failing() -> AsyncGenerator[Event, None]:
        yield SentenceResult(0, 0, sentence)
        raise failure

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await streamed(Request(scope), failing(), Mock())
        await response(scope, receive, send)

    async def stay() -> Message:
        await asyncio.sleep(60)
        raise AssertionError("the stream did not end")

    async def send(message: Message) -> None:
        nonlocal sent
        sent += message.get("body", b"")

    async def run() -> None:
        scope = {"type": "http", "method": "POST", "path": "/translate", "headers": []}
        # what nobody expects is logged by the connection
        with suppress(KeyError):
            await RequestContext(app, metrics)(scope, stay, send)

    asyncio.run(run())
    assert events(sent.decode())[-1] == ("error", {"error": message, "code": code})
    assert metrics.registry.get_sample_value("attendant_errors_total", {"code": code}) == 1


@pytest.mark.parametrize("headers", [STREAM, {}])
def test_alignments_are_serialised_outside_the_event_loop(
    client: TestClient, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    written = TranslateResponse.model_dump_json

    def noting(self: TranslateResponse, **options: Any) -> str:
        threads.append(threading.current_thread())
        return written(self, **options)

    monkeypatch.setattr(TranslateResponse, "model_dump_json", noting)
    body = {"q": TEXTS[0], "source": "de", "target": "en"}
    for more in ({}, {"return_alignment": True}):
        assert client.post("/translate", json=body | more, headers=headers).status_code == 200
    event_loop, other = threads
    assert event_loop is not other


def test_an_invalid_request_gets_a_plain_error(client: TestClient) -> None:
    answer = client.post(
        "/translate", json={"q": "a", "source": "zz", "target": "en"}, headers=STREAM
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_language")


def test_an_empty_text_ends_the_stream_at_once(client: TestClient) -> None:
    answer = client.post("/translate", json={"q": "42", "source": "de"}, headers=STREAM)
    assert events(answer.text) == [("done", {"translatedText": "42"})]


def test_a_stream_that_waits_only_for_its_client_is_not_in_flight() -> None:
    admission = Admission(8, 60.0, lambda: None, lambda: None)
    counts = list[int]()

    async def one() -> AsyncGenerator[Event, None]:
        yield Done([])

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await streamed(Request(scope), one(), written)
        await response(scope, receive, send)

    async def written(_: object) -> str:
        counts.append(admission.in_flight)
        return "{}"

    async def send(message: Message) -> None:
        if message.get("body"):
            await asyncio.sleep(0.01)  # the client does not read
            counts.append(admission.in_flight)

    async def run() -> None:
        scope = {"type": "http", "method": "POST", "path": "/translate", KEY: ClientState()}
        await InFlightLimit(app, admission)(scope, Mock(), send)

    asyncio.run(run())
    assert counts == [1, 0]


def test_what_waits_for_the_client_is_held_until_it_leaves() -> None:
    client, sentence = (
        ClientState(),
        TranslatedSentence("Ja", ("yes",), (0.0,)),
    )
    closed = list[str]()

    async def two() -> AsyncGenerator[Event, None]:
        try:
            yield SentenceResult(0, 0, sentence)
            yield SentenceResult(0, 1, sentence)
            await asyncio.Event().wait()  # the rest is still being translated
        finally:
            closed.append("events")

    async def run() -> None:
        blocked = asyncio.Event()

        async def send(message: Message) -> None:
            if message.get("body"):
                sent.append(message["body"])
                await blocked.wait()

        sent = list[bytes]()
        scope = {"type": "http", "method": "POST", "path": "/translate", KEY: client}
        response = await streamed(Request(scope), two(), Mock())
        task = asyncio.ensure_future(response(scope, Mock(), send))
        while not (sent and client.num_held):
            await asyncio.sleep(0)
        assert client.num_held == len(sent[0])  # the second one is as long as the first
        assert not closed
        client.leave()
        blocked.set()
        await task

    asyncio.run(run())
    assert closed == ["events"]
