"""Reloads while models serve, several bundles at once, and engines that fail."""

import asyncio
import gc
import json
import shutil
import signal
import threading
import time
import weakref
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.app import _reload, create_app
from service.errors import BundleError
from service.metrics import Metrics
from service.models.model_store import ModelStore
from service.settings import Settings
from tests.conftest import TINY_BUNDLE, started
from tests.waiting import wait_until

BODY = {"q": "Der alte Hund schläft.", "source": "de", "target": "en"}
OF_A_MODEL = ("engine-", "aligner_")
"""Beginnings of the names of a model's threads."""


def bundle_of(directions: list[str], name: str, folder: Path) -> Path:
    """Return a copy of the tiny bundle with only some of its directions."""
    copy = folder / name
    shutil.copytree(TINY_BUNDLE, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["name"] = name
    manifest["directions"] = [one for one in manifest["directions"] if one["source"] in directions]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    return copy


def with_bundles(settings: Settings, *folders: Path) -> Settings:
    return settings.model_copy(update={"bundle": folders})


def test_a_hangup_before_there_are_models_does_nothing(settings: Settings) -> None:
    store = ModelStore(settings, Metrics())
    _reload(store)
    assert store.current is None
    first = store.load()
    _reload(store)
    assert store.current is not first
    store.stop()


def test_bundles_are_selected_by_direction(settings: Settings, tmp_path: Path) -> None:
    folders = [
        bundle_of(["de"], "from-german", tmp_path),
        bundle_of(["en"], "from-english", tmp_path),
    ]
    with started(with_bundles(settings, *folders)) as client:
        ready = client.get("/health/ready").json()
        assert [one["bundle"] for one in ready["models"]] == ["from-german", "from-english"]
        assert (
            client.post("/translate", json=BODY).json()["translatedText"] == "The old dog sleeps."
        )
        texts = ["Der alte Hund schläft.", "The old woman waits."]
        for target, expected in (
            ("en", ["The old dog sleeps.", "The old woman waits."]),
            ("de", ["Der alte Hund schläft.", "Die alte Frau wartet."]),
        ):
            body = {"q": texts, "source": "auto", "target": target}
            assert client.post("/translate", json=body).json()["translatedText"] == expected
        assert client.get("/v2/models/from-english/ready").status_code == 200
        assert client.get("/v2/models/other/ready").status_code == 404
        metrics = client.get("/metrics").text
        assert 'attendant_model_info{bundle="from-german",device="cpu",precision="fp32"' in metrics


def test_the_handler_of_sighup_is_restored(settings: Settings) -> None:
    app = create_app(with_bundles(settings, TINY_BUNDLE))

    async def handlers() -> tuple[object, object]:
        async with app.router.lifespan_context(app):
            inside = signal.getsignal(signal.SIGHUP)
        return inside, signal.getsignal(signal.SIGHUP)

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        inside, behind = asyncio.run(handlers())
    finally:
        signal.signal(signal.SIGHUP, before)
    assert callable(inside)
    assert behind == signal.SIG_IGN


def test_a_reload_under_load_loses_no_request(settings: Settings, tmp_path: Path) -> None:
    folder = bundle_of(["de", "en"], "served", tmp_path)
    with started(with_bundles(settings, folder)) as client:
        statuses: list[int] = []
        stop = threading.Event()

        def send() -> None:
            while not stop.is_set():
                statuses.append(client.post("/translate", json=BODY).status_code)

        senders = [threading.Thread(target=send) for _ in range(4)]
        for sender in senders:
            sender.start()
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps({**manifest, "name": "newer"}))
        store = client.app.state.services.store  # type: ignore[attr-defined]
        before = store.current
        store.load()
        time.sleep(0.2)
        stop.set()
        for sender in senders:
            sender.join()
        assert set(statuses) == {200}
        assert client.get("/health/ready").json()["models"][0]["bundle"] == "newer"
        wait_until(lambda: not before.is_alive)


def test_replaced_models_are_freed(settings: Settings) -> None:
    gc.collect()
    others = set(threading.enumerate())
    with started(settings) as client:
        body = {**BODY, "return_alignment": True}
        assert client.post("/translate", json=body).status_code == 200
        store = client.app.state.services.store  # type: ignore[attr-defined]
        [model] = store.current.models
        runner = model.engine._workers[0].batch.runner
        parts = [store.current, model.engine, model.translator, runner, runner.runner._decoder]
        left = [weakref.ref(part) for part in parts]
        started_now = set(threading.enumerate()) - others
        old_threads = {one for one in started_now if one.name.startswith(OF_A_MODEL)}
        assert {one.name for one in old_threads} == {"engine-0", "aligner_0"}
        del model, runner, parts
        gc.disable()  # the old models must be freed without the collector, except for the reload's own call
        try:
            store.load()
            for one in threading.enumerate():
                if one.name == "retire":
                    one.join(60)
        finally:
            gc.enable()
        assert [type(one()).__name__ for one in left if one() is not None] == []
        for one in old_threads:
            one.join(60)
            assert not one.is_alive()
        assert client.post("/translate", json=body).status_code == 200


def test_a_broken_bundle_leaves_the_current_models_in_service(
    settings: Settings, tmp_path: Path
) -> None:
    folder = bundle_of(["de", "en"], "served", tmp_path)
    with started(with_bundles(settings, folder)) as client:
        decoder = folder / "decoder.fp32.onnx"
        data = bytearray(decoder.read_bytes())
        data[len(data) // 2] ^= 1
        decoder.write_bytes(data)
        store = client.app.state.services.store  # type: ignore[attr-defined]
        with pytest.raises(BundleError, match=r"decoder\.fp32\.onnx"):
            store.load()
        assert (
            client.post("/translate", json=BODY).json()["translatedText"] == "The old dog sleeps."
        )
        assert client.get("/health/ready").status_code == 200


def test_a_failed_engine_is_reported_once(settings: Settings) -> None:
    reasons: list[str] = []
    with TestClient(create_app(settings, reasons.append)) as client:
        while client.get("/health/ready").status_code != 200:
            time.sleep(0.01)
        engine = client.app.state.services.store.current.models[0].engine  # type: ignore[attr-defined]
        engine._shared.give_up("broken")
        assert client.get("/health/ready").status_code == 503
        answer = client.post("/translate", json=BODY)
        assert (answer.status_code, answer.json()["code"]) == (503, "engine_dead")
        for _ in range(300):
            if reasons:
                break
            time.sleep(0.01)
    assert reasons == ["tiny: broken"]
