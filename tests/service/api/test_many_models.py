"""A folder of bundles: read at startup, loaded on demand, changed while the service runs."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message

from service.models.loading import ServedModel, start_model
from tests.conftest import TINY_BUNDLE, started
from tests.service.api.model_folder import (
    CODES,
    TEXT,
    TRANSLATION,
    add,
    ask,
    fill,
    settings_of,
    states,
)
from tests.waiting import wait_until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path)


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
            'attendant_model_info{bundle="tiny-it",device="cpu",precision="fp32",'
            'provider="CPUExecutionProvider"} 1.0',
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
