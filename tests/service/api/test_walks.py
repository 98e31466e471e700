"""Conversations in random order, with everything that may happen to them: what must hold behind each of them.

A walk is repeated by its seed: `pytest -k "walks and 17"`.
"""

import asyncio
import io
import json
import random
import signal
from collections import Counter
from dataclasses import dataclass
from http.client import HTTPResponse
from itertools import accumulate
from typing import Any, cast

import pytest

from service.settings import Settings
from tests.service.api.simulation import Clock, Loop, Simulation, Socket

WALKS = 80
ENGLISH = {
    "Der alte Hund schläft.": "The old dog sleeps.",
    "Die kleine Katze singt heute.": "The small cat sings today.",
    "Das rote Haus fällt dort.": "The red house falls there.",
}
FIELDS = {"source": "de", "target": "en"}
REFUSED = {429, 503}
KINDS = ("one", "list", "list", "stream", "stream", "deepl", "page", "mistake", "probe")
FRAMES = ("length", "length", "length", "chunks", "expect", "close", "old", "cut")


@dataclass
class Request:
    """What is sent, and which answers to it are right."""

    identity: str
    kind: str
    data: bytes
    statuses: set[int]
    texts: list[str]
    is_last: bool
    is_cut: bool


class Client:
    """One at the other end of a connection: sends requests without waiting for their answers."""

    def __init__(self, socket: Socket, requests: list[Request]) -> None:
        self.socket, self.requests = socket, requests
        self.left = b"".join(request.data for request in requests)
        self.has_ended = False

    @property
    def may_send(self) -> bool:
        socket = self.socket
        return socket.is_read and not (self.has_ended or socket.is_lost)

    @property
    def num_sent(self) -> int:
        """Requests that were sent as a whole."""
        sizes = accumulate(len(request.data) for request in self.requests)
        sent = sum(len(request.data) for request in self.requests) - len(self.left)
        return sum(size <= sent for size in sizes) - (not self.left and self.requests[-1].is_cut)

    def send(self, size: int) -> None:
        data, self.left = self.left[:size], self.left[size:]
        if data:
            self.socket.protocol.data_received(data)

    def end(self) -> None:
        """Close the client's own side."""
        self.has_ended = True
        if not self.socket.protocol.eof_received():
            self.socket.close()

    def answers(self) -> list[tuple[HTTPResponse, bytes]]:
        """All of them, in their order; http.client skips the interim ones."""
        stream, found = Unclosed(bytes(self.socket.received)), []
        while stream.tell() < len(stream.getbuffer()):
            answer = HTTPResponse(cast(Any, stream), method="POST")
            answer.begin()
            found.append((answer, answer.read()))
        return found


class Unclosed(io.BytesIO):
    """What a connection has given, for one answer after another."""

    def makefile(self, _: str) -> "Unclosed":
        return self

    def close(self) -> None:
        """There may be more."""


def request(rng: random.Random, identity: str) -> Request:
    """Any request, framed in any way."""
    kind, frame = rng.choice(KINDS), rng.choice(FRAMES)
    texts = rng.choices(list(ENGLISH), k=1 if kind == "one" else rng.randint(1, 30))
    path, fields, statuses = "/translate", [f"x-request-id: {identity}"], {200} | REFUSED
    body: dict[str, Any] = {"text": texts[0] if kind == "one" else texts, **FIELDS}
    if kind == "stream":
        fields.append("accept: text/event-stream")
    if kind == "page":
        fields.append("origin: http://there")
    if kind == "deepl":
        path, body = "/v2/translate", {"text": texts, "source_lang": "DE", "target_lang": "EN"}
    if kind == "mistake":
        body, statuses = rng.choice([{"text": 5}, {"text": "a", "target": "xx"}]), {400} | REFUSED
    if kind == "probe":
        path, body, statuses = "/health/live?a", {}, {405}
    data = json.dumps(body).encode() + b" " * rng.choice([0, 0, 0, 90_000])
    sent, version = data, "1.0" if frame == "old" else "1.1"
    if frame == "chunks":
        size = rng.randint(1, len(data))
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        sent = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])
        fields.append("transfer-encoding: chunked")
    else:
        fields.append(f"content-length: {len(data)}")
    fields += {"expect": ["expect: 100-continue"], "close": ["connection: close"]}.get(frame, [])
    if frame == "cut":
        sent, statuses = sent[: rng.randint(0, len(sent) - 1)], statuses | {400, 408}
    lines = [f"POST {path} HTTP/{version}", "host: a", "content-type: application/json", *fields]
    head = "\r\n".join(lines).encode() + b"\r\n\r\n"
    return Request(
        identity,
        kind,
        head + sent,
        statuses,
        texts,
        frame in ("close", "old", "cut"),
        frame == "cut",
    )


def requests(rng: random.Random, client: int) -> list[Request]:
    found: list[Request] = []
    while not found or not (found[-1].is_last or rng.random() < 0.3):
        found.append(request(rng, f"{client}-{len(found)}"))
    return found


class Walk:
    """Some clients, and what happens to them."""

    def __init__(self, simulation: Simulation, rng: random.Random) -> None:
        self.simulation, self.rng = simulation, rng
        simulation.begin(rng.choice([0, 2]), rng.choice([0, 0.05, 1, 20]))
        self.clients = [
            Client(simulation.connect(), requests(rng, number))
            for number in range(rng.randint(1, 4))
        ]
        self.may_step = True
        self.stopping: asyncio.Future[None] | None = None
        events = {"reset": 2, "end": 4, "unread": 4, "reload": 2, "stop": 2, "pause": 2}
        self.events = {name: one for name, one in events.items() if rng.random() < 0.4}
        self.events |= {"send": 20, "turns": 8, "time": 8}

    async def run(self) -> None:
        """Let things happen, then let everybody send and read the rest."""
        engines = asyncio.ensure_future(self.simulation.run_engines(lambda: self.may_step))
        for _ in range(self.rng.randint(10, 100)):
            [event] = self.rng.choices(list(self.events), list(self.events.values()))
            await self._happen(event, self.rng.choice(self.clients))
        self.may_step = True
        self.simulation.engines[0].work.set()
        for client in self.clients:
            client.socket.read()
        await self._all_have_left_or_sent()
        end = Clock.now + 200
        while not all(client.socket.is_lost for client in self.clients):
            assert Clock.now < end, "a connection is not closed"
            await asyncio.sleep(1)
        if self.stopping:
            await self.stopping
        await asyncio.sleep(1)
        engines.cancel()
        await asyncio.gather(engines, return_exceptions=True)

    async def _happen(self, event: str, client: Client) -> None:
        rng, socket = self.rng, client.socket
        if event == "send" and client.may_send:
            client.send(rng.choice([1, 3, 50, 200, 1000, 100_000]))
        elif event == "turns":
            for _ in range(rng.randint(1, 5)):
                await asyncio.sleep(0)
        elif event == "time":
            await asyncio.sleep(rng.choice([0.001, 0.004, 0.02, 0.06, 0.3, 3]))
        elif event == "unread":
            socket.read(not socket.reads)
        elif event == "reset":
            socket.reset()
            for _ in range(20):
                await asyncio.sleep(0)
            if all(client.socket.is_reset for client in self.clients):
                assert sum(engine.num_wanted for engine in self.simulation.engines) == 0
        elif event == "end" and client.may_send and (not client.left or rng.random() < 0.2):
            client.end()
        elif event == "reload":
            self.simulation.reload()
        elif event == "pause":
            self.may_step = not self.may_step
            self.simulation.engines[0].work.set()
        elif event == "stop" and not self.stopping:
            self.simulation.server.handle_exit(signal.SIGTERM, None)
            self.stopping = asyncio.ensure_future(self.simulation.server.shutdown())

    async def _all_have_left_or_sent(self) -> None:
        for _ in range(1000):
            for client in self.clients:
                if client.may_send:
                    client.send(100_000)
            await asyncio.sleep(0.01)
            if not any(client.left and client.may_send for client in self.clients):
                return

    def check_answers(self, booked: Counter[str]) -> None:
        """Each request was answered as a whole, in its turn, rightly, or its connection was closed."""
        told: Counter[str] = Counter()
        for client in self.clients:
            if client.socket.was_aborted:  # what has come of an answer may be half of it
                continue
            answers = client.answers()
            for (answer, body), sent in zip(answers, client.requests, strict=False):
                told[str(answer.status)] += 1
                self._check(sent, answer, body)
            assert len(answers) <= len(client.requests)
            is_over = answers and answers[-1][0].headers["connection"] == "close"
            assert is_over or self.stopping or len(answers) >= client.num_sent
        if not any(client.socket.was_aborted for client in self.clients):
            assert told == booked

    def _check(self, sent: Request, answer: HTTPResponse, body: bytes) -> None:
        found = json.loads(body) if answer.headers["content-type"] == "application/json" else {}
        if answer.status >= 400:
            assert set(found) in ({"error", "code"}, {"message", "detail"}), body
        is_refused = answer.headers["connection"] == "close" and answer.status in (400, 408, 503)
        assert answer.status in sent.statuses or is_refused, (sent, answer.status, body)
        assert answer.headers["x-request-id"] == sent.identity or is_refused
        if answer.status != 200:
            return
        if sent.kind == "stream":
            *segments, last, _ = body.decode().split("\n\n")
            name, _, data = last.partition("\ndata: ")
            if name == "event: error" and self.stopping:
                return
            assert (name, len(segments)) == ("event: done", len(sent.texts))
            found = json.loads(data)
        english = found.get("translatedText") or [one["text"] for one in found["translations"]]
        english = [english] if isinstance(english, str) else english
        assert english == [ENGLISH[text] for text in sent.texts]


@pytest.fixture(scope="module")
def simulation(settings: Settings) -> Simulation:
    update = {"max_requests": 6, "max_body_bytes": 100_000, "request_timeout_seconds": 30}
    return Simulation(settings.model_copy(update=update))


def booked_by(simulation: Simulation) -> Counter[str]:
    """Requests in the metrics, by status."""
    [metric] = simulation.metrics.requests.collect()
    samples = [sample for sample in metric.samples if sample.name.endswith("_total")]
    booked: Counter[str] = Counter()
    for sample in samples:
        booked[sample.labels["status"]] += int(sample.value)
    return booked


@pytest.mark.parametrize("seed", range(WALKS))
def test_walks_leave_nothing_behind(simulation: Simulation, seed: int) -> None:
    loop, before = Loop(), booked_by(simulation)
    failures: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))

    async def run() -> Walk:
        walk = Walk(simulation, random.Random(seed))
        await walk.run()
        return walk

    try:
        walk = loop.run_until_complete(run())
        assert asyncio.all_tasks(loop) == set()
        assert [timer for timer in loop._scheduled if not timer.cancelled()] == []  # type: ignore[attr-defined]
    finally:
        loop.close()
    assert failures == []
    assert [len(simulation.connections), len(simulation.state.tasks)] == [0, 0]
    for engine in simulation.engines:
        assert [engine.num_waiting, engine.num_running, engine.has_work] == [0, 0, False]
    admission = simulation.app.state.early_refusal.admission
    in_flight = simulation.metrics.registry.get_sample_value("attendant_requests_in_flight")
    assert [admission.in_flight, in_flight] == [0, 0]
    walk.check_answers(booked_by(simulation) - before)
