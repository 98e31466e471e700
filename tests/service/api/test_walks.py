"""Conversations in random order, with everything that may happen to them: what must hold after each of them.

A walk is repeated by its seed: `pytest -k "walks and 17"`.
"""

import asyncio
import json
import random
import signal
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

import pytest

from service.settings import Settings
from tests.service.api.conversations import Client, Request, requests
from tests.service.api.model_folder import add
from tests.service.api.simulated_time import Clock, Loop, Thread, replace_clocks
from tests.service.api.simulation import Simulation, hangups_ignored

WALKS = 40
EVENTS = {
    "reset": 2,
    "end": 4,
    "unread": 4,
    "reload": 2,
    "stop": 2,
    "pause": 2,
    "break": 1,
    "fault": 3,
}
HEAD_CODES = {400: "request_incomplete", 408: "head_too_slow", 429: "queue_full", 503: "not_ready"}
"""The codes that errors without a body can have."""
LIMITS = ({"max_memory_mb": 150}, {"model_idle_seconds": 0.5, "cached_sentences": 100})
"""For a folder of models, of which each takes 100 MB."""


class Walk:
    """Some clients, and what happens to them."""

    def __init__(self, simulation: Simulation, rng: random.Random) -> None:
        self.simulation, self.rng = simulation, rng
        self.clients: list[Client] = []
        self.drain_seconds = rng.choice([0, 0.05, 1, 20])
        self.stopping: asyncio.Future[None] | None = None
        self.had_faults = self.were_bundles_broken = self.was_paused = False
        self.was_unready = self.was_stopped = False
        self.is_crowded = rng.random() < 0.3
        if self.is_crowded:
            simulation.connections.busy_limit = rng.choice([1, 2])
        chosen = {name: one for name, one in EVENTS.items() if rng.random() < 0.4}
        self.events = chosen | {"send": 20, "turns": 8, "time": 8}

    async def run(self) -> None:
        """Let things happen, then let everybody send and read the rest, and stop."""
        simulation, rng = self.simulation, self.rng
        await simulation.start(rng.choice([0, 2]), self.drain_seconds)
        self.was_unready = rng.random() < 0.2
        if not self.was_unready:
            await asyncio.sleep(10)
        for number in range(rng.randint(1, 4)):
            self.clients.append(Client(simulation.connect(), requests(rng, number)))
        for _ in range(rng.randint(10, 100)):
            [event] = rng.choices(list(self.events), list(self.events.values()))
            await self._happen(event, rng.choice(self.clients))
            self._check_connections()
            if simulation.failures:
                self._stop()
        simulation.may_step = True
        for client in self.clients:
            client.socket.read()
        await self._all_have_left_or_sent()
        end = Clock.now + 400
        while not all(client.socket.is_lost for client in self.clients):
            assert Clock.now < end, "a connection is not closed"
            if simulation.failures:
                self._stop()
            await asyncio.sleep(1)
        self.was_stopped = self.stopping is not None
        if not (self.was_stopped or simulation.fault):
            await asyncio.sleep(20)
            check_nothing_is_left(simulation)
        self._stop()
        assert self.stopping is not None
        await self.stopping
        simulation.fault = "error"  # which ends what hangs
        await asyncio.sleep(100)

    def _stop(self) -> None:
        if not self.stopping:
            number = self.rng.choice([signal.SIGTERM, signal.SIGTERM, signal.SIGINT])
            self.stopping = asyncio.ensure_future(self.simulation.stop(number))

    async def _happen(self, event: str, client: Client) -> None:
        rng, socket, simulation = self.rng, client.socket, self.simulation
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
            for leaver in rng.choice([[client], [client], self.clients]):
                leaver.socket.reset()
            for _ in range(50):  # no time passes
                await asyncio.sleep(0)
            if all(client.socket.is_reset for client in self.clients):
                assert simulation.num_wanted == 0
        elif event == "end" and client.may_send and (not client.left or rng.random() < 0.2):
            client.end()
        elif event == "reload":
            signal.raise_signal(signal.SIGHUP)
        elif event == "pause":
            simulation.may_step = not simulation.may_step
            self.was_paused = True
        elif event == "break":
            simulation.are_bundles_broken = not simulation.are_bundles_broken
            self.were_bundles_broken = True
        elif event == "fault":
            simulation.fault = rng.choice(["", "error", "nan", "hang"])
            self.had_faults = True
        elif event == "stop":
            self._stop()

    def _check_connections(self) -> None:
        """Only idle ones can be closed for others, and each waits for something, with a time limit."""
        connections = self.simulation.connections
        for one in connections._open:
            is_idle = one in connections._idle
            assert is_idle != one.is_busy or (is_idle and self.is_crowded)
            assert one.exchange or one._is_in_line or one.transport.is_closing() or one._timer
        assert len(connections._open) - len(connections._idle) <= connections.busy_limit

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
                if code := self._check(sent, answer, body):
                    told[code] += 1
            is_over = answers and answers[-1][0].headers["connection"] == "close"
            assert is_over or self.was_stopped or len(answers) >= client.num_sent
        if not any(client.socket.was_aborted for client in self.clients):
            assert told.total() == booked.total()
            assert told == booked or self.is_crowded  # a `HEAD` does not tell why it gets 503

    def _check(self, sent: Request, answer: HTTPResponse, body: bytes) -> str:
        """Check an answer; return the code of its error, "" if it is none."""
        is_refused = answer.headers["connection"] == "close" and answer.status in (400, 408, 503)
        assert answer.headers["x-request-id"] == sent.identity or is_refused
        if sent.method == "HEAD" or answer.headers["content-type"] == "text/plain":
            return HEAD_CODES.get(answer.status, "")
        if sent.kind == "stream" and answer.status == 200:
            return self._check_stream(sent, body.decode())
        found = json.loads(body) if sent.path != "/metrics" or answer.status >= 400 else {}
        if answer.status >= 400:
            assert set(found) in ({"error", "code"}, {"message", "detail"}), body
            code = str(found.get("code", found.get("detail")))
            is_expected = self._may_fail(sent, answer.status, code)
            assert is_expected or (is_refused and answer.status != 503), (sent, body)
            return code
        assert sent.kind == "ask" or _translations(found) == sent.translations
        return ""

    def _may_fail(self, sent: Request, status: int, code: str) -> bool:
        if status in sent.statuses - {503}:
            return True
        is_cut_off = self.was_stopped and self.drain_seconds < 20
        allowed = {
            "not_ready": self.was_unready or self.was_stopped,
            "too_many_connections": self.is_crowded,
            "cancelled": is_cut_off or self.had_faults or self.was_paused,
            "model_unavailable": self.were_bundles_broken,
            "engine_dead": self.had_faults,
            "step_failed": self.had_faults,
            "deadline_exceeded": self.had_faults or self.was_paused,
        }
        return allowed.get(code, False)

    def _check_stream(self, sent: Request, body: str) -> str:
        *segments, last, _ = body.split("\n\n")
        name, _, data = last.partition("\ndata: ")
        found = json.loads(data)
        if name == "event: error":
            status = {"deadline_exceeded": 504, "queue_full": 429}.get(found["code"], 500)
            assert self._may_fail(sent, status, found["code"]), found
            return str(found["code"])
        assert (name, len(segments)) == ("event: done", len(sent.texts))
        assert _translations(found) == sent.translations
        return ""


def _translations(found: Any) -> list[str]:
    """Return the translations in an answer of any dialect."""
    if "outputs" in found:
        return list(found["outputs"][0]["data"])
    if "translations" in found:
        return [one["text"] for one in found["translations"]]
    texts = found["translatedText"]
    return [texts] if isinstance(texts, str) else texts


@pytest.fixture(scope="module")
def simulations(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[list[Simulation], pytest.MonkeyPatch]]:
    """Yield services with two models, from German and from "Dutch", a copy of German, to English and back."""
    folder = tmp_path_factory.mktemp("bundles")
    bundles = add(folder, "de", name="tiny"), add(folder, "nl")
    with pytest.MonkeyPatch.context() as patch:
        replace_clocks(patch)
        settings = [settings_for(bundle=bundles)]
        settings += [settings_for(bundles=folder, **limits) for limits in LIMITS]
        yield [Simulation(one, patch) for one in settings], patch


def settings_for(**models: Any) -> Settings:
    return Settings(
        **models,
        precision="fp32",
        device="cpu",
        num_workers=1,
        max_requests=6,
        max_text_characters=3000,
        max_body_bytes=100_000,
        request_timeout_seconds=30,
        drain_seconds=5,
    )


def booked_by(simulation: Simulation) -> Counter[str]:
    """Return the requests in the metrics by status, and their errors by code."""
    booked: Counter[str] = Counter()
    for counter, label in (
        (simulation.metrics.requests, "status"),
        (simulation.metrics.errors, "code"),
    ):
        [metric] = counter.collect()
        for sample in metric.samples:
            if sample.name.endswith("_total"):
                booked[sample.labels[label]] += int(sample.value)
    return booked


@pytest.mark.parametrize("seed", range(WALKS))
def test_walks_leave_nothing_behind(
    simulations: tuple[list[Simulation], pytest.MonkeyPatch], seed: int
) -> None:
    rng = random.Random(seed)
    simulation = rng.choice(simulations[0])
    loop = Loop(rng)
    failures: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))
    simulation.begin(rng, simulations[1])
    before, walk = booked_by(simulation), Walk(simulation, rng)
    try:
        with hangups_ignored():
            loop.run_until_complete(walk.run())
        assert asyncio.all_tasks(loop) == set()
        assert [timer for timer in loop._scheduled if not timer.cancelled()] == []  # type: ignore[attr-defined]
    finally:
        loop.close()
    assert failures == []
    assert [thread.name for thread in Thread.all] == []
    check_nothing_is_left(simulation)
    walk.check_answers(booked_by(simulation) - before)


def check_nothing_is_left(simulation: Simulation) -> None:
    """Check that all places, leases, bytes and counters are given back."""
    assert [len(simulation.connections), len(simulation.state.tasks)] == [0, 0]
    for model in simulation.models:
        engine = model.engine
        assert [engine.num_waiting, engine.num_running, engine._workers[0].undelivered] == [
            0,
            0,
            [],
        ]
        assert not model.translator._backlog._promises | model.translator.aligner.backlog._promises
    admission = simulation.app.state.early_refusal.admission
    in_flight = simulation.metrics.registry.get_sample_value("attendant_requests_in_flight")
    held = [limit.held for limit in simulation.limits]
    assert {admission.in_flight, in_flight, *held} == {0}
    assert simulation.store._turns._free == 1
    for pooled in simulation.pooled:
        assert [pooled.users, pooled.waiting] == [0, {}]
