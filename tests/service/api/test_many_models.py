"""A folder of bundles: read at startup, loaded on demand, changed while the service runs."""

import asyncio
import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Message

from service.app import create_app
from service.errors import AttendantError, BundleError
from service.models.loading import ServedModel, start_model
from service.settings import Settings
from tests.conftest import TINY_BUNDLE, started
from tests.waiting import wait_until

CODES = ("fr", "it", "nl")
TEXT, TRANSLATION = "Der alte Hund schläft.", "The old dog sleeps."


def add(folder: Path, code: str, **changed: Any) -> Path:
    """Add a copy of the tiny bundle that declares another language instead of German."""
    path = folder / code
    shutil.copytree(TINY_BUNDLE, path, dirs_exist_ok=True)
    text = (TINY_BUNDLE / "manifest.json").read_text("utf-8").replace('"de"', f'"{code}"')
    manifest = {**json.loads(text), "name": f"tiny-{code}", **changed}
    (path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "no bundle").mkdir()
    for code in CODES:
        add(tmp_path, code)
    return tmp_path


def settings_of(folder: Path, **changed: Any) -> Settings:
    chosen = {
        "bundles": folder,
        "precision": "fp32",
        "device": "cpu",
        "num_workers": 1,
        "pivot": "off",
    }
    return Settings(**{**chosen, **changed})


def ask(client: TestClient, code: str, **fields: Any) -> Any:
    return client.post("/translate", json={"q": TEXT, "source": code, "target": "en", **fields})


def states(client: TestClient) -> dict[str, str]:
    found = client.get("/health/ready").json()["models"]
    return {one["bundle"].removeprefix("tiny-"): one["state"] for one in found}


def test_a_model_is_loaded_on_first_use(folder: Path) -> None:
    with started(settings_of(folder)) as client:
        assert states(client) == dict.fromkeys(CODES, "unloaded")
        assert client.get("/v2/models").json() == {"models": ["tiny-fr", "tiny-it", "tiny-nl"]}
        assert ask(client, "it").json() == {"translatedText": TRANSLATION}
        assert states(client) == {"fr": "unloaded", "it": "loaded", "nl": "unloaded"}
        listed = {one["code"]: one.get("unloaded") for one in client.get("/languages").json()}
        assert listed == {"en": ["fr", "nl"], "fr": ["en"], "it": None, "nl": ["en"]}
        index = {one.pop("name"): one for one in client.post("/v2/repository/index").json()}
        assert index["tiny-it"] == {"version": "1", "state": "READY", "reason": ""}
        assert index["tiny-fr"] == {"version": "1", "state": "UNAVAILABLE", "reason": "unloaded"}
        told = client.get("/metrics").text
        for line in (
            "attendant_models 3.0",
            "attendant_models_loaded 1.0",
            'attendant_model_loads_total{outcome="ok"} 1.0',
            'attendant_model_info{bundle="tiny-it",precision="fp32",provider="CPUExecutionProvider"} 1.0',
        ):
            assert line in told
        assert 'bundle="tiny-fr"' not in told


def test_detection_and_metadata_do_not_depend_on_loaded_models(folder: Path) -> None:
    add(folder, "de")
    with started(settings_of(folder)) as client:
        found = ask(client, "auto").json()
        assert (found["translatedText"], found["detectedLanguage"]["language"]) == (
            TRANSLATION,
            "de",
        )
        tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": [TEXT]}
        body = {"inputs": [tensor], "parameters": {"target": "en", "source": "nl"}}
        answer = client.post("/v2/models/tiny-nl/infer", json=body).json()
        assert answer["outputs"][0]["data"] == [TRANSLATION]
        assert states(client)["nl"] == "loaded"


def test_a_model_whose_name_has_a_slash_has_a_path(folder: Path) -> None:
    add(folder, "de", name="org/100% de")
    tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": [TEXT]}
    with started(settings_of(folder)) as client:
        path = "/v2/models/org%2F100%25%20de"
        assert client.get(path).json()["name"] == "org/100% de"
        assert client.get(path.replace("org", "%6Frg")).status_code == 404  # hidden from a proxy
        answer = client.post(
            f"{path}/versions/1/infer",
            json={"inputs": [tensor], "parameters": {"source": "de", "target": "en"}},
        )
    assert answer.json()["model_name"] == "org/100% de"
    assert answer.json()["outputs"][0]["data"] == [TRANSLATION]


@pytest.mark.parametrize(
    ("path", "status"), [("org%252Fde", 200), ("org%2Fde", 404), ("org%2Fde%252F", 404)]
)
def test_a_model_whose_name_has_a_percent_sign_has_a_path(
    folder: Path, path: str, status: int
) -> None:
    add(folder, "de", name="org%2Fde")
    with started(settings_of(folder)) as client:
        answer = client.get(f"/v2/models/{path}")
    assert answer.status_code == status
    assert (answer.json().get("name") == "org%2Fde") is (status == 200)


def test_preloaded_models_are_ready_with_the_service(folder: Path) -> None:
    with started(settings_of(folder, preload="tiny-nl,tiny-fr")) as client:
        assert states(client) == {"fr": "loaded", "it": "unloaded", "nl": "loaded"}


def test_a_reload_that_fails_loads_nothing(folder: Path, tmp_path_factory: Any) -> None:
    named = add(tmp_path_factory.mktemp("named"), "it")
    with started(settings_of(folder, preload="all", bundle=named)) as client:
        store = client.app.state.services.store  # type: ignore[attr-defined]
        add(folder, "es")
        (named / "manifest.json").unlink()
        with pytest.raises(BundleError):
            store.load()
        loads = len(CODES)
        assert (
            f'attendant_model_loads_total{{outcome="ok"}} {loads}.0' in client.get("/metrics").text
        )


def test_an_unknown_name_to_preload_ends_startup(folder: Path) -> None:
    reasons: list[str] = []
    with TestClient(create_app(settings_of(folder, preload=("tiny-xx",)), reasons.append)):
        wait_until(lambda: bool(reasons))
    assert reasons == [f"{folder} has no bundle named tiny-xx to preload"]


@pytest.mark.parametrize("preload", ["all", "tiny-it"])
def test_a_model_to_preload_that_cannot_be_loaded_ends_startup(folder: Path, preload: str) -> None:
    reasons: list[str] = []
    (folder / "it" / "decoder.fp32.onnx").write_bytes(b"broken")
    with TestClient(create_app(settings_of(folder, preload=preload), reasons.append)) as client:
        wait_until(lambda: bool(reasons))
        assert client.get("/health/ready").status_code == 503
    assert len(reasons) == 1
    assert reasons[0].startswith("tiny-it cannot be loaded: ")


def test_a_reload_goes_on_without_a_model_that_cannot_be_preloaded(folder: Path) -> None:
    with started(settings_of(folder, preload="all")) as client:
        (folder / "it" / "decoder.fp32.onnx").write_bytes(b"broken")
        (folder / "it" / "manifest.json").touch()
        add(folder, "es")
        client.app.state.services.store.load()  # type: ignore[attr-defined]
        expected = {"es": "loaded", "fr": "loaded", "it": "loaded", "nl": "loaded"}
        assert states(client) == expected


@pytest.mark.parametrize("broken", ["decoder.fp32.onnx", "manifest.json"])
def test_a_model_that_works_is_not_replaced_by_one_that_does_not(folder: Path, broken: str) -> None:
    with started(settings_of(folder)) as client:
        store = client.app.state.services.store  # type: ignore[attr-defined]
        assert ask(client, "it").status_code == 200
        add(folder, "es")
        manifest = folder / "it" / "manifest.json"
        good = json.loads(manifest.read_text())
        manifest.write_text(json.dumps(good | {"decoding": {"beam_size": 2}}))
        whole = (folder / "it" / broken).read_bytes()
        (folder / "it" / broken).write_bytes(whole[:-100])
        with pytest.raises(AttendantError, match="it"):
            store.load()
        assert states(client) == {"fr": "unloaded", "it": "loaded", "nl": "unloaded"}
        assert ask(client, "it").status_code == 200
        (folder / "it" / broken).write_bytes(whole)
        store.load()
        expected = {"es": "unloaded", "fr": "unloaded", "it": "loaded", "nl": "unloaded"}
        assert states(client) == expected
        assert ask(client, "it").status_code == 200


def test_a_folder_without_bundles_ends_startup(tmp_path: Path) -> None:
    reasons: list[str] = []
    with TestClient(create_app(settings_of(tmp_path), reasons.append)):
        wait_until(lambda: bool(reasons))
    assert reasons == [f"{tmp_path} has no subfolder with the manifest.json of a bundle"]


def test_a_folder_that_cannot_be_read_ends_startup(tmp_path: Path) -> None:
    reasons: list[str] = []
    file = tmp_path / "folder"
    file.touch()
    with TestClient(create_app(settings_of(file), reasons.append)):
        wait_until(lambda: bool(reasons))
    assert reasons == [f"{file}: cannot be read: Not a directory"]


def test_a_broken_bundle_only_affects_its_directions(folder: Path) -> None:
    (folder / "it" / "decoder.fp32.onnx").write_bytes(b"broken")
    (folder / "nl" / "manifest.json").write_text("{")
    with started(settings_of(folder)) as client:
        answer = ask(client, "it")
        assert (answer.status_code, answer.json()["code"]) == (503, "model_unavailable")
        assert answer.json()["error"].startswith(
            "tiny-it cannot be loaded: it/decoder.fp32.onnx is damaged"
        )
        assert int(answer.headers["Retry-After"]) > 1
        assert ask(client, "fr").json() == {"translatedText": TRANSLATION}
        assert states(client) == {"fr": "loaded", "it": "failed"}
        assert client.get("/v2/models/tiny-it/ready").status_code == 503
        assert client.get("/v2/models/tiny-fr/ready").status_code == 200
        assert ask(client, "nl").status_code == 400
        assert 'attendant_model_loads_total{outcome="failed"} 2.0' in client.get("/metrics").text


def test_a_reload_finds_new_changed_repaired_and_removed_bundles(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.models.model_store.GRACE_SECONDS", 0.0)
    decoder = folder / "nl" / "decoder.fp32.onnx"
    whole = decoder.read_bytes()
    decoder.write_bytes(b"broken")
    with started(settings_of(folder)) as client:
        assert [ask(client, code).status_code for code in CODES] == [200, 200, 503]
        store = client.app.state.services.store  # type: ignore[attr-defined]
        kept, changed, _ = store.current.pooled
        same = kept.loaded
        add(folder, "it", name="newer")
        add(folder, "es")
        decoder.write_bytes(whole)
        store.load()
        assert store.current.pooled[1].loaded is same
        assert {**states(client), "fr": "loaded"} == {
            **{"es": "unloaded", "fr": "loaded", "newer": "loaded", "nl": "unloaded"}
        }
        for code in ("es", "fr", "it", "nl"):
            assert ask(client, code).json() == {"translatedText": TRANSLATION}
        wait_until(lambda: changed.loaded is None)
        shutil.rmtree(folder / "fr")
        store.load()
        assert ask(client, "fr").status_code == 400
        wait_until(lambda: kept.loaded is None)
        counted = 'attendant_model_unloads_total{reason="removed"} 2.0'
        wait_until(lambda: counted in client.get("/metrics").text)


def test_a_named_bundle_takes_precedence(folder: Path) -> None:
    add(folder, "de", name="other")
    with started(settings_of(folder, bundle=(TINY_BUNDLE,))) as client:
        assert states(client) == {"tiny": "loaded", "other": "unloaded"} | dict.fromkeys(
            CODES, "unloaded"
        )
        assert ask(client, "de").json() == {"translatedText": TRANSLATION}
        assert states(client)["other"] == "unloaded"


def test_waiting_for_a_load_ends_at_the_deadline(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*args: Any) -> ServedModel:
        time.sleep(0.5)
        return start_model(*args)

    monkeypatch.setattr("service.models.model_store.start_model", slowly)
    with started(settings_of(folder)) as client:
        answer = ask(client, "fr", timeout_seconds=0.1)
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline_exceeded")
        assert ask(client, "fr").json() == {"translatedText": TRANSLATION}


async def unread(app: ASGIApp, code: str, told: list[Message]) -> None:
    """Request an event stream of two sentences, and stop reading after its head."""
    body = json.dumps({"q": f"{TEXT} {TEXT}", "source": code, "target": "en"}).encode()
    fields = [(b"content-type", b"application/json"), (b"accept", b"text/event-stream")]
    scope = {"type": "http", "method": "POST", "path": "/translate", "raw_path": b"/translate"}
    asked = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return asked.pop() if asked else await asyncio.Event().wait()  # type: ignore[return-value]

    async def send(message: Message) -> None:
        told.append(message)
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    await app({**scope, "query_string": b"", "headers": fields}, receive, send)


def test_an_unread_event_stream_does_not_hold_a_model(folder: Path) -> None:
    with started(settings_of(folder, max_memory_mb=1)) as client:
        told: list[Message] = []
        assert client.portal is not None
        stream = client.portal.start_task_soon(unread, client.app, "fr", told)
        wait_until(lambda: len(told) == 2, 60)
        assert ask(client, "it", timeout_seconds=30).json() == {"translatedText": TRANSLATION}
        assert states(client)["fr"] == "unloaded"
        assert not stream.done()
        stream.cancel()
