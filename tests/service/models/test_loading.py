"""The checks of a model before it is served."""

import asyncio
import json
import shutil
import threading
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from service.engine.engine import Engine
from service.engine.model_runner import PackedRun, PackedState
from service.engine.runner import OnnxModelRunner
from service.engine.turns import Turns
from service.engine.types import DecodingOptions, RunPlan
from service.errors import BundleError
from service.metrics import Metrics
from service.models.bundle import load
from service.models.loading import ModelOptions, start_model
from service.models.model_set import ModelSet
from service.models.model_store import model_options
from service.models.proof import StuckError
from service.settings import Settings
from tests.conftest import TINY_BUNDLE
from tests.waiting import wait_until


@pytest.mark.parametrize(
    ("part", "message"), [("scorer", "first translation failed"), ("decoder", "cannot run on cpu")]
)
def test_a_wrong_graph_is_detected_before_the_first_request(
    tmp_path: Path, part: str, message: str
) -> None:
    folder = shutil.copytree(TINY_BUNDLE, tmp_path / "bundle")
    manifest = json.loads((folder / "manifest.json").read_text())
    where = manifest if part == "scorer" else manifest["graphs"]["int8"]
    where[part] = "encoder.int8.onnx"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    before = set(threading.enumerate())
    with pytest.raises(BundleError, match=message):
        start_model(load(folder), ModelOptions(precision="int8", device="cpu"))
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_a_model_leaves_no_thread_behind_if_one_of_its_threads_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = threading.Thread.start

    def limited(self: threading.Thread) -> None:
        if self.name == "engine-1":
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", limited)
    before = set(threading.enumerate())
    options = ModelOptions(precision="int8", device="cpu", num_workers=2)
    with pytest.raises(BundleError, match="can't start new thread"):
        start_model(load(TINY_BUNDLE), options)
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_a_model_that_hangs_during_the_check_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end = threading.Event()

    def hanging(*_: object) -> None:
        assert end.wait(60)

    monkeypatch.setattr("service.models.proof.OnnxModelRunner.align", hanging)
    monkeypatch.setattr("service.models.loading.PROOF_SECONDS", 0.05)
    try:
        with pytest.raises(
            BundleError, match="a first translation failed: StuckError: not done in time"
        ):
            start_model(load(TINY_BUNDLE), ModelOptions(precision="int8", device="cpu"))
    finally:
        end.set()


def test_a_model_whose_search_hangs_during_the_check_takes_no_turn_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns, end, decode = Turns(1), threading.Event(), OnnxModelRunner.decode
    options = ModelOptions("cpu", "int8", num_workers=1, single_sequence=False)

    def hanging(
        self: OnnxModelRunner, state: PackedState, caches: Any, cross: Any, plan: RunPlan
    ) -> PackedRun:
        assert plan.steps == 1 or end.wait(60), "only a search takes several steps at once"
        return decode(self, state, caches, cross, plan)

    with monkeypatch.context() as patched:
        patched.setattr(OnnxModelRunner, "decode", hanging)
        patched.setattr("service.models.proof.PROOF_SECONDS", 0.05)
        patched.setattr(Engine, "close", partialmethod(Engine.close, 0.05))
        with pytest.raises(BundleError, match="StuckError: not done in time") as told:
            start_model(load(TINY_BUNDLE), options, turns=turns)
    stuck = told.value.__cause__
    assert isinstance(stuck, StuckError)
    try:
        other = start_model(load(TINY_BUNDLE), options, turns=turns)
        [sequence] = other.engine.submit([((5, 6, 2), DecodingOptions(5))])
        assert sequence.future.result(60)
        assert other.close()
        assert not stuck.has_ended()
    finally:
        end.set()
    wait_until(stuck.has_ended)


@pytest.mark.parametrize(
    ("error", "reason"), [(MemoryError(), "out of memory"), (RuntimeError(), "RuntimeError")]
)
def test_an_error_without_a_message_is_described(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr("service.models.proof.OnnxModelRunner.align", failing)
    with pytest.raises(BundleError) as told:
        start_model(load(TINY_BUNDLE), ModelOptions(precision="int8", device="cpu"))
    assert str(told.value) == f"{TINY_BUNDLE}: a first translation failed: {reason}"


def test_runs_of_all_graphs_are_watched_and_counted(settings: Settings) -> None:
    metrics = Metrics()
    model = start_model(load(TINY_BUNDLE), model_options(settings), metrics)
    models = ModelSet([model], 1000)
    try:
        assert model.engine.config.stall_seconds == settings.stall_seconds
        assert models.check()
        assert models.failure is None
        model.engine.on_fault("step", 2)
        assert 'attendant_engine_faults_total{kind="step"} 2.0' in metrics.render().decode()
        assert 'attendant_engine_faults_total{kind="stall"} 0.0' in metrics.render().decode()
    finally:
        assert models.close()
    assert not models.check()


def test_a_hanging_alignment_stops_the_engine(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, begun, now = threading.Event(), threading.Event(), 0.0
    model = start_model(load(TINY_BUNDLE), model_options(settings))
    models = ModelSet([model], 1000)
    monkeypatch.setattr(model.engine.watch, "_clock", lambda: now)

    def hanging(*_: object) -> None:
        begun.set()
        assert end.wait(60)

    deadline = model.engine.clock() + 120
    work = model.translator.aligner.run(hanging, 1.0, deadline)
    thread = threading.Thread(target=asyncio.run, args=(work,))
    thread.start()
    try:
        assert begun.wait(60)
        assert models.check()
        for _ in range(60):
            now += 1.0
            alive = models.check()
        assert not alive
        assert not models.is_alive
        assert models.failure == "tiny: an alignment has not ended for 60 s"
    finally:
        end.set()
        thread.join()
        assert models.close()
