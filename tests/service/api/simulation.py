"""A service in one thread, with simulated time, sockets and engine threads: every run can be repeated."""

import asyncio
import selectors
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import uvicorn
from uvicorn.server import ServerState

from service.api.connection import Connection
from service.api.connections import Connections
from service.api.server import Server, Stop
from service.app import create_app
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.runner import runners_for
from service.engine.types import SpecialIds
from service.errors import CancelledError
from service.metrics import Metrics
from service.models.bundle import load
from service.models.loading import ServedModel
from service.models.model_set import ModelSet
from service.models.model_store import ModelStore, Stage
from service.models.vocabularies import load_tokenizers
from service.settings import Settings
from service.translation.aligner import Aligner
from service.translation.cache import SentenceCache
from service.translation.decoding import SearchPolicy
from service.translation.searcher import Searcher
from service.translation.translator import ModelTranslator
from tests.conftest import TINY_BUNDLE

STEP_SECONDS = 0.004
HIGH_WATER_BYTES = 1000
"""Beyond which a connection is told that its client does not read."""


class Clock(selectors.DefaultSelector):
    """Where an event loop would wait, time passes at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "everybody waits, and nothing will happen"
        Clock.now += timeout
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    """An event loop by that clock, without threads."""

    def __init__(self) -> None:
        super().__init__(Clock())

    def time(self) -> float:
        return Clock.now

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


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
            elif len(self._unread) > HIGH_WATER_BYTES and not self._is_paused:
                self._is_paused = True
                self.protocol.pause_writing()

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


class SteppedEngine(Engine):
    """An engine whose worker takes a step whenever it is told to."""

    work = asyncio.Event()
    """Set when there may be some."""

    def start(self) -> None:
        self._shared.accepting = True

    @property
    def is_alive(self) -> bool:
        return True

    @property
    def has_work(self) -> bool:
        worker = self._workers[0]
        return bool(worker.undelivered or worker.batch or self.num_waiting > 0)

    @property
    def num_wanted(self) -> int:
        """Sentences that wait or run, and were not given up."""
        [running] = self._shared.scheduler.running
        return self.num_waiting + sum(not sequence.future.cancelled() for sequence in running)

    def submit(self, *args: Any, **named: Any) -> Any:
        self.work.set()
        return super().submit(*args, **named)

    def step(self) -> None:
        schedule = self._workers[0]._next_schedule()
        assert schedule is not None
        self._workers[0]._step_or_fail(schedule)

    def close(self, timeout: float = 0.0) -> bool:
        """Like the real one, but it can be used again."""
        self._shared.fail_everybody(partial(CancelledError, "the engine was closed"))
        return True


class Simulation:
    """The application with two models, one of which is the current one; it can be used for many walks."""

    def __init__(self, settings: Settings) -> None:
        self.app = create_app(settings)
        self.metrics: Metrics = self.app.state.services.metrics
        self.store: ModelStore = self.app.state.services.store
        self.sets = [self._models(), self._models()]
        self.config = uvicorn.Config(self.app, lifespan="off", log_config=None)
        self.config.loaded, self.config.loaded_app = True, self.app

    @property
    def engines(self) -> list[SteppedEngine]:
        return [cast(SteppedEngine, models.own[0].engine) for models in self.sets]

    def begin(self, delay_seconds: float, drain_seconds: float) -> None:
        """As after a start."""
        store = self.store
        store.stage = Stage.READY
        store.current = self.sets[0]
        self.connections, self.state = Connections(100), ServerState()
        stop = Stop(
            delay_seconds,
            drain_seconds,
            can_finish=lambda: True,
            announce=store.announce_stop,
            refuse=store.refuse_new,
            finish=lambda: None,
        )
        self.server = Server(self.config, self.connections, stop)
        self.server.servers, self.server.server_state = [], self.state
        self.server.lifespan = cast(Any, SimpleNamespace(shutdown=self._close))
        SteppedEngine.work = asyncio.Event()

    def connect(self) -> Socket:
        socket, early = Socket(), self.app.state.early_refusal
        socket.connect(
            Connection(self.config, self.state, {}, None, self.connections, early_refusal=early)
        )
        return socket

    def reload(self) -> None:
        """The other model serves from now on."""
        self.sets.reverse()
        self.store.current = self.sets[0]

    async def run_engines(self, may_step: Callable[[], bool]) -> None:
        """Take steps as long as there is work, and this may be."""
        while True:
            if not (may_step() and any(engine.has_work for engine in self.engines)):
                SteppedEngine.work.clear()
                await SteppedEngine.work.wait()
            await asyncio.sleep(STEP_SECONDS)
            for engine in self.engines:
                if may_step() and engine.has_work:
                    engine.step()

    async def _close(self) -> None:
        for engine in self.engines:
            engine.close()

    def _models(self) -> ModelSet:
        bundle = load(TINY_BUNDLE)
        manifest, tokenizers = bundle.manifest, load_tokenizers(bundle)
        special = manifest.special_tokens
        ids = SpecialIds(special.pad, special.bos, special.eos, manifest.vocab_size)
        encoder, decoder = bundle.graphs("fp32")
        engine = SteppedEngine(
            runners_for(1, encoder, decoder),
            ids,
            EngineConfig(num_workers=1),
            clock=lambda: Clock.now,
        )
        engine.start()
        translator = ModelTranslator(
            bundle,
            tokenizers,
            Searcher(engine, SentenceCache(0)),
            Aligner(tokenizers, special, None, 1, lambda: Clock.now),
            SearchPolicy(8, False),
            self.metrics,
        )
        return ModelSet([ServedModel(bundle, engine, translator, "fp32", "CPU")], 3000)
