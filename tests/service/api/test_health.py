"""Health checks, readiness and metrics in every state of the engine."""

import asyncio
import platform
import re
from importlib.metadata import version
from typing import Any

import numpy as np
import onnxruntime
import pytest
from fastapi.testclient import TestClient

from service import app, metrics
from service.api.dependencies import Services
from service.api.middleware.early import EarlyRefusal
from service.app import create_app
from service.engine.model_runner import PackedRun, PackedState
from service.engine.runner import OnnxModelRunner
from service.errors import BundleError
from service.settings import Settings
from tests.conftest import started
from tests.waiting import wait_until


def test_a_healthy_service_reports_its_models(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/health/live").json() == {"status": "ok"}
    assert client.get("/health/ready").json() == {
        "status": "ok",
        "models": [
            {
                "bundle": "tiny",
                "state": "loaded",
                "provider": "CPUExecutionProvider",
                "device": "cpu",
                "precision": "fp32",
            }
        ],
    }


def test_before_startup_the_service_is_live_but_not_ready(settings: Settings) -> None:
    client = TestClient(create_app(settings))  # outside its context, nothing has started
    assert client.get("/health/live").status_code == 200
    for path in ("/health", "/health/ready"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
        assert answer.headers["retry-after"] == "1"
    answer = client.post("/translate", json={"q": "Hund", "source": "de"})
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")


def test_a_stopped_engine_is_not_ready(fresh_client: TestClient) -> None:
    fresh_client.app.state.services.store.current.close()  # type: ignore[attr-defined]
    assert fresh_client.get("/health/live").status_code == 200
    assert fresh_client.get("/health/ready").status_code == 503
    assert fresh_client.post("/translate", json={"q": "Hund", "source": "de"}).status_code == 503


def test_an_engine_that_fails_with_one_sentence_after_the_other_ends_the_service(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode, failures = OnnxModelRunner.decode, list[str]()

    def failing_late(runner: OnnxModelRunner, state: PackedState, *rest: Any) -> PackedRun:
        run = decode(runner, state, *rest)
        positions = state.rows["position"] + np.arange(len(run.scores))[:, None]
        run.scores = np.where((positions >= 3)[:, :, None], np.nan, run.scores)
        return run

    with TestClient(create_app(settings, failures.append)) as client:
        wait_until(lambda: client.get("/health/ready").status_code == 200, 60)
        monkeypatch.setattr(OnnxModelRunner, "decode", failing_late)
        question = {"source": "de", "target": "en"}
        statuses = []
        for number in range(30):
            text = "der Hund" if number % 2 else f"Der Hund sieht {number} kleine Katzen."
            statuses.append(client.post("/translate", json=question | {"q": text}).status_code)
        assert 503 in statuses
        assert statuses.count(500) <= 3, "the third failure is the last one"
        assert client.get("/health/ready").status_code == 503
        wait_until(lambda: bool(failures), 60)
    assert failures == ["tiny: 3 steps failed, and a known sentence fails, too"]


def test_once_the_stop_is_announced_the_service_is_live_but_not_ready(
    fresh_client: TestClient,
) -> None:
    fresh_client.app.state.services.store.announce_stop()  # type: ignore[attr-defined]
    assert fresh_client.get("/health/live").status_code == 200
    for path in ("/health", "/health/ready", "/v2/health/ready"):
        assert fresh_client.get(path).status_code == 503, path
    assert fresh_client.post("/translate", json={"q": "Hund", "source": "de"}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/translate", {"q": "Hund", "source": "de", "target": "en"}),
        ("/v2/translate", {"text": ["Hund"], "target_lang": "EN"}),
        (
            "/v2/models/tiny/infer",
            {
                "parameters": {"source": "de", "target": "en"},
                "inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["Hund"]}],
            },
        ),
    ],
)
def test_a_request_that_began_before_new_ones_are_refused_is_answered(
    fresh_client: TestClient, path: str, body: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    services: Services = fresh_client.app.state.services  # type: ignore[attr-defined]
    enter = services.gate.enter

    def enter_and_refuse(*arguments: Any) -> None:  # as if its body had waited for the parser
        enter(*arguments)
        services.store.refuse_new()

    monkeypatch.setattr(services.gate, "enter", enter_and_refuse)
    assert [fresh_client.post(path, json=body).status_code for _ in range(2)] == [200, 503]


def test_the_reason_of_a_failed_start_is_told_at_each_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(app, "WATCH_SECONDS", 0.0)

    async def run() -> list[str | None]:
        loading = asyncio.get_running_loop().create_future()
        loading.set_exception(BundleError("the disk is broken"))
        return [await app._failure_to_load(loading) for _ in range(2)]

    assert asyncio.run(run()) == ["the disk is broken"] * 2


def _value(text: str, series: str) -> float:
    match = re.search(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE)
    assert match, f"no {series}"
    return float(match[1])


def test_metrics_count_requests_and_sentences(fresh_client: TestClient) -> None:
    body = {
        "q": ["Der alte Hund schläft.", "Das gute Kind wartet."],
        "source": "de",
        "target": "en",
    }
    fresh_client.post("/translate", json=body)
    fresh_client.post("/translate", json={"q": ""})
    fresh_client.post("/translate", json={"q": "Hund", "source": "de", "target": "xx"})
    fresh_client.get("/nowhere/secret-text")
    text = fresh_client.get("/metrics").text
    series = 'attendant_requests_total{method="POST",route="/translate",status="%s"}'
    assert _value(text, series % 200) == 1
    assert _value(text, series % 400) == 2
    assert (
        _value(text, 'attendant_requests_total{method="GET",route="unmatched",status="404"}') == 1
    )
    assert _value(text, 'attendant_sentences_total{direction="de-en",outcome="ok"}') == 2
    seconds = 'attendant_request_duration_seconds_count{route="/translate",status="%s"}'
    assert (_value(text, seconds % "2xx"), _value(text, seconds % "4xx")) == (1, 2)
    versions = f'onnxruntime="{onnxruntime.__version__}",python="{platform.python_version()}"'
    own = f'version="{version("attendant")}"'
    assert _value(text, f"attendant_build_info{{{versions},{own}}}") == 1
    assert _value(text, "attendant_queue_wait_seconds_count") >= 2
    assert _value(text, "attendant_target_tokens_total") > 10
    assert _value(text, "attendant_engine_up") == 1
    assert _value(text, "attendant_sequences_running") == 0
    info = 'attendant_model_info{bundle="tiny",device="cpu",precision="fp32",provider="CPUExecutionProvider"}'
    assert _value(text, info) == 1
    assert "Hund" not in text
    assert "secret" not in text


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("GET", "/nowhere", "", "not_found"),
        ("GET", "/translate", "", "method_not_allowed"),
        ("POST", "/translate", "{", "invalid_request"),
        ("POST", "/translate", '{"q": "a", "beam_size": "x"}', "invalid_request"),
        (
            "POST",
            "/translate",
            '{"q": "a", "source": "de", "target": "en", "beam_size": 99}',
            "limit_exceeded",
        ),
        ("POST", "/v2/translate", '{"target_lang": "EN"}', "missing_parameter"),
        ("POST", "/translate", "a" * 2_000_000, "body_too_large"),
    ],
)
def test_every_error_is_counted_under_its_code(
    client: TestClient, method: str, path: str, body: str, code: str
) -> None:
    def count() -> float:
        registry = client.app.state.services.metrics.registry  # type: ignore[attr-defined]
        return float(registry.get_sample_value("attendant_errors_total", {"code": code}) or 0)

    before = count()
    answer = client.request(
        method, path, content=body, headers={"content-type": "application/json"}
    )
    assert code in answer.json().values()
    assert count() == before + 1


@pytest.mark.parametrize(
    ("path", "size", "in_flight", "answer"),
    [
        ("/translate", 20_000, 0, 413),
        ("/v2/translate", 20_000, 0, 413),
        ("/v2/usage", 20_000, 0, 413),
        ("/v2/models/{name}/infer", 20_000, 0, 413),
        ("/translate", 10, 10**6, 429),
        ("/detect", 10, 10**6, 429),
        ("/v2/models/{name}/infer", 10, 10**6, 429),
    ],
)
def test_a_refusal_before_routing_is_counted_with_its_route(
    settings: Settings, path: str, size: int, in_flight: int, answer: int
) -> None:
    with started(settings.model_copy(update={"max_requests": 1})) as client:
        early: EarlyRefusal = client.app.state.early_refusal  # type: ignore[attr-defined]
        early.admission.in_flight = in_flight
        url = path.format(name="secret-name")
        assert client.post(url, content="a" * size).status_code == answer
        text = client.get("/metrics").text
    assert (
        _value(text, f'attendant_requests_total{{method="POST",route="{path}",status="{answer}"}}')
        == 1
    )
    assert (
        _value(text, f'attendant_request_duration_seconds_count{{route="{path}",status="4xx"}}')
        == 1
    )
    assert "unmatched" not in text
    assert "secret" not in text


def test_unknown_methods_share_a_label(fresh_client: TestClient) -> None:
    for number in range(3):
        fresh_client.request(f"MADEUP{number}", "/translate")
    text = fresh_client.get("/metrics").text
    assert "MADEUP" not in text
    assert (
        _value(text, 'attendant_requests_total{method="other",route="/translate",status="405"}')
        == 3
    )


def test_open_inference_protocol_metadata_is_complete(client: TestClient) -> None:
    assert client.get("/v2/health/live").json() == {"live": True}
    assert client.get("/v2/health/ready").json() == {"ready": True}
    described = client.get("/v2/models/tiny").json()
    assert (described["name"], described["platform"]) == ("tiny", "onnx_onnxv1")
    [version] = described["versions"]
    assert client.get(f"/v2/models/tiny/versions/{version}").json() == described
    for path in ("/v2/models/tiny/ready", f"/v2/models/tiny/versions/{version}/ready"):
        assert client.get(path).json() == {"name": "tiny", "ready": True}
    for path in (
        "/v2/models/none",
        "/v2/models/tiny/versions/2",
        "/v2/models/tiny/versions/2/ready",
    ):
        answer = client.get(path)
        assert answer.status_code == 404
        assert "no " in answer.json()["error"]


def test_a_stopped_engine_is_not_ready_for_the_open_inference_protocol(
    fresh_client: TestClient,
) -> None:
    fresh_client.app.state.services.store.current.close()  # type: ignore[attr-defined]
    assert fresh_client.get("/v2/health/live").status_code == 200
    assert fresh_client.get("/v2/health/ready").status_code == 503
    assert fresh_client.get("/v2/models/tiny/ready").status_code == 503


def test_frequent_requests_share_a_rendering_of_metrics(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "RENDER_SECONDS", 60.0)
    first = client.get("/metrics").content
    assert client.get("/nowhere").status_code == 404
    assert client.get("/metrics").content == first
    monkeypatch.setattr(metrics, "RENDER_SECONDS", 0.0)
    assert 'route="unmatched"' in client.get("/metrics").text
