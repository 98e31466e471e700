"""A service in one thread at a time, with simulated time, sockets and loads: every run can be repeated."""

import asyncio
import json
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, TypeVar, cast

import numpy as np
import pytest
import uvicorn
from uvicorn.server import ServerState

from service.api.connection import Connection
from service.api.connections import Connections
from service.api.middleware.limits import BodyLimit
from service.api.server import Server, Stop
from service.app import create_app
from service.engine.engine import Engine
from service.engine.model_runner import PackedRun
from service.engine.runner import OnnxModelRunner, runners_for
from service.engine.turns import Turns
from service.engine.types import Placement, SpecialIds
from service.errors import BundleError
from service.metrics import Metrics
from service.models.bundle import Bundle
from service.models.loading import ModelOptions, ServedModel
from service.models.model_store import ModelStore
from service.models.pool import ModelPool
from service.models.pooled_model import PooledModel
from service.models.vocabularies import load_tokenizers
from service.settings import Settings
from service.translation.aligner import Aligner
from service.translation.cache import SentenceCache
from service.translation.decoding import SearchPolicy
from service.translation.searcher import Searcher
from service.translation.translator import ModelTranslator
from tests.service.api.simulated_time import Clock, sleep

STEP_SECONDS = 0.004
LOAD_SECONDS = (0.0, 0.05, 2.0)
MODEL_BYTES = 100_000_000
Made = TypeVar("Made")
Fault = Literal["", "error", "nan", "hang"]


class Socket(asyncio.Transport):
    """A connection's transport, and the client at its other end."""

    def __init__(self) -> None:
        super().__init__()
        self.received, self._unread = bytearray(), bytearray()
        self.reads = self.is_read = True
        self.is_lost = self.is_reset = self.was_aborted = self.has_ended = False
        self._is_closing = self._is_paused = False
        self.protocol: Connection

    def connect(self, protocol: Connection) -> None:
        self.protocol = protocol
        protocol.connection_made(self)

    def reset(self) -> None:
        """What the client does: whatever it has not read is lost."""
        self.is_reset = True
        self.abort()

    def read(self, reads: bool = True) -> None:
        """The client reads what there is, or stops doing so."""
        self.reads = reads
        if reads and not self.is_lost:
            self.received += self._unread
            self._unread.clear()
            if self._is_paused:
                self._is_paused = False
                self.protocol.resume_writing()
            if self._is_closing:
                self._lose()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        error = SimpleNamespace(getsockopt=lambda *_: int(self.is_reset))
        return {"socket": error, "peername": ("127.0.0.1", 1)}.get(name, default)

    def write(self, data: Any) -> None:
        assert not self.has_ended, "written behind the end"
        if not self.is_lost:
            self._unread += data
            if self.reads:
                self.read()
            elif len(self._unread) > self._high_water and not self._is_paused:
                self._is_paused = True
                self.protocol.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high is not None
        self._high_water = high

    def get_write_buffer_size(self) -> int:
        return len(self._unread)

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = not self._is_closing

    def write_eof(self) -> None:
        self.has_ended = True

    def close(self) -> None:
        self._is_closing, self.is_read = True, False
        if not self._unread:
            self._lose()

    def abort(self) -> None:
        self.was_aborted = True
        self._unread.clear()
        self.close()

    def _lose(self) -> None:
        if not self.is_lost:
            self.is_lost = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)


class Runner:
    """A model's graphs, which take simulated time and can fail."""

    def __init__(self, runner: OnnxModelRunner, simulation: "Simulation") -> None:
        self._runner, self._simulation = runner, simulation

    def encode(self, *arguments: Any) -> Any:
        return self._runner.encode(*arguments)

    def new_sources(self, pad_id: int) -> Any:
        return self._runner.new_sources(pad_id)

    def decode(self, *arguments: Any) -> PackedRun:
        self._simulation.take_time()
        run = self._runner.decode(*arguments)
        if self._simulation.fault == "nan":
            return replace(run, scores=np.full_like(run.scores, np.nan))
        return run

    def score(self, *arguments: Any) -> Any:
        self._simulation.take_time()
        return self._runner.score(*arguments)

    def align(self, *arguments: Any) -> Any:
        return self._runner.align(*arguments)

    def release_memory(self, caches: Any) -> None:
        self._runner.release_memory(caches)


class Simulation:
    """A service that can be started again for every walk."""

    def __init__(self, settings: Settings, patch: pytest.MonkeyPatch) -> None:
        """Build the application; what `patch` replaces must stay so for all walks."""
        self.settings = settings
        self.failures: list[str] = []
        self.models: list[ServedModel] = []
        """All models that were loaded since the start."""
        self.pooled: list[PooledModel] = []
        self.limits: list[BodyLimit] = []
        patch.setattr("service.app.BodyLimit", _noting(BodyLimit, self.limits))
        patch.setattr("service.models.folder.ModelPool", lambda *_: None)  # has a thread
        self.app = create_app(settings, self.failures.append)
        self.metrics: Metrics = self.app.state.services.metrics
        self.store: ModelStore = self.app.state.services.store
        self.config = uvicorn.Config(self.app, lifespan="off", log_config=None)
        self.config.loaded, self.config.loaded_app = True, self.app

    def begin(self, rng: random.Random, patch: pytest.MonkeyPatch) -> None:
        """Become what a new process has."""
        self.rng = rng
        self.fault: Fault = ""
        self.may_step = True
        self.are_bundles_broken = False
        for noted in (self.failures, self.models, self.pooled):
            noted.clear()
        patch.setattr("service.models.model_store.PooledModel", _noting(PooledModel, self.pooled))
        patch.setattr("service.models.model_store.start_model", self._start_model)
        patch.setattr("service.models.folder.ModelPool", self._pool)
        self.store.__init__(self.settings, self.metrics, self.settings.drain_seconds)  # type: ignore[misc]
        self.connections, self.state = Connections(100), ServerState()

    async def start(self, delay_seconds: float, drain_seconds: float) -> None:
        """Start as `service.process` does."""
        store = self.store
        stop = Stop(
            delay_seconds,
            drain_seconds,
            can_finish=lambda: store.current is None or store.current.is_alive,
            announce=store.announce_stop,
            refuse=store.refuse_new,
            finish=lambda: None,
        )
        self.server = Server(self.config, self.connections, stop)
        self.server.servers, self.server.server_state = [], self.state
        lifespan = self.app.router.lifespan_context(self.app)
        await lifespan.__aenter__()

        async def shutdown() -> None:
            await lifespan.__aexit__(None, None, None)

        self.server.lifespan = cast(Any, SimpleNamespace(shutdown=shutdown))

    async def stop(self, number: int = signal.SIGTERM) -> None:
        self.server.handle_exit(number, None)
        await self.server.shutdown()

    def connect(self) -> Socket:
        socket, early = Socket(), self.app.state.early_refusal
        socket.connect(
            Connection(self.config, self.state, {}, None, self.connections, early_refusal=early)
        )
        return socket

    def take_time(self) -> None:
        """Take the time of a step, and fail if that is wanted."""
        sleep(STEP_SECONDS)
        while not self.may_step or self.fault == "hang":
            sleep(0.05)
        if self.fault == "error":
            raise RuntimeError("a step of a walk fails")

    @property
    def engines(self) -> list[Engine]:
        return [model.engine for model in self.models]

    @property
    def num_wanted(self) -> int:
        """Sentences that wait or run, and were not given up."""
        running = [one for engine in self.engines for one in engine._shared.scheduler.running[0]]
        waiting = sum(engine.num_waiting for engine in self.engines)
        return waiting + sum(not sequence.future.done() for sequence in running)

    def _start_model(
        self, bundle: Bundle, options: ModelOptions, observer: Metrics, turns: Turns
    ) -> ServedModel:
        """Do what `service.models.loading` does, without the check of the first translations."""
        sleep(self.rng.choice(LOAD_SECONDS))
        if self.are_bundles_broken:
            raise BundleError(" is damaged", bundle.folder)
        tokenizers, special = load_tokenizers(bundle), bundle.manifest.special_tokens
        ids = SpecialIds(special.pad, special.bos, special.eos, bundle.manifest.vocab_size)
        runner = Runner(_graphs(bundle.folder), self)
        config = replace(options.engine, num_workers=1)
        engine = Engine(
            [runner],
            ids,
            config,
            observer.on_step,
            lambda: Clock.now,
            on_fault=observer.on_fault,
        )
        engine.share(turns)
        aligner = Aligner(tokenizers, special, runner.align, 1, lambda: Clock.now)
        searcher = Searcher(engine, SentenceCache(options.cached_sentences))
        policy = SearchPolicy(options.max_beam_size, options.rerank)
        translator = ModelTranslator(bundle, tokenizers, searcher, aligner, policy, observer)
        engine.start()
        self.models.append(
            ServedModel(
                bundle, engine, translator, "fp32", Placement("CPUExecutionProvider", "cpu")
            )
        )
        return self.models[-1]

    def _pool(
        self,
        start: Callable[[Bundle], ServedModel],
        max_bytes: int,
        idle_seconds: float,
        observer: Metrics,
    ) -> ModelPool:
        def resident() -> int:
            return MODEL_BYTES * sum(engine.is_alive for engine in self.engines)

        return ModelPool(start, max_bytes, idle_seconds, observer, resident, lambda: Clock.now)


def _noting(make: Callable[..., Made], made: list[Made]) -> Callable[..., Made]:
    """Return a function that does the same, and adds what it makes to a list."""

    def noting(*arguments: Any) -> Made:
        made.append(make(*arguments))
        return made[-1]

    return noting


@cache
def _graphs(folder: Path) -> OnnxModelRunner:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    graphs = manifest["graphs"]["fp32"]
    files = folder / graphs["encoder"], folder / graphs["decoder"]
    [runner] = runners_for(1, *files, "cpu", folder / manifest["scorer"])
    return runner


@contextmanager
def hangups_ignored() -> Iterator[None]:
    """Ignore SIGHUP except while a service handles it, as `service.__main__` does."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
