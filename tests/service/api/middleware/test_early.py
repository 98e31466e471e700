"""Refusals after a request's head, before the application is called."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.types import Scope

from service.api.errors import answer
from service.api.middleware.admission import Admission
from service.api.middleware.context import AccessLog, identity_of
from service.api.middleware.early import EarlyRefusal
from service.logs import request_id
from service.metrics import Metrics


def refusal_for(in_flight: int, metrics: Metrics) -> EarlyRefusal:
    """Return the early refusal of a service with a limit of one request in flight."""
    admission = Admission(1, 10.0, lambda: None, lambda: None)
    admission.in_flight = in_flight
    return EarlyRefusal(admission, AccessLog(metrics))


def scope_of(path: str = "/translate", method: str = "POST", **fields: str) -> Scope:
    headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
    raw = {"path": path, "raw_path": path.encode(), "method": method, "headers": headers}
    return {**raw, "request_id": identity_of(headers)}


def counted(metrics: Metrics, route: str, method: str, status: int) -> float | None:
    labels = {"route": route, "method": method, "status": str(status)}
    return metrics.registry.get_sample_value("attendant_requests_total", labels)


@pytest.mark.parametrize("path", ["/translate", "/v2/translate"])
def test_a_refused_translation_is_counted_and_has_an_id(path: str) -> None:
    metrics = Metrics()
    refusal = refusal_for(1, metrics).refusal(scope_of(path, x_request_id="job-17"))
    assert refusal is not None
    assert refusal.status_code == 429
    assert refusal.headers["retry-after"] == "1"
    assert refusal.headers["x-request-id"] == "job-17"
    assert refusal.headers.get("x-trace-id") == (None if path == "/translate" else "job-17")
    assert "1 requests are in flight, the limit is 1" in bytes(refusal.body).decode()
    assert counted(metrics, path, "POST", 429) == 1
    labels = {"code": "queue_full"}
    assert metrics.registry.get_sample_value("attendant_errors_total", labels) == 1


@pytest.mark.parametrize(
    ("in_flight", "scope"),
    [
        (0, scope_of()),
        (1, scope_of("/languages", "GET")),
        (1, scope_of("/translate", "OPTIONS")),
        (1, scope_of("/health/ready", "GET")),
        (1, scope_of(origin="https://here.test")),
        (1, {**scope_of(), "raw_path": b"/%74ranslate"}),
    ],
)
def test_other_requests_go_to_the_application(in_flight: int, scope: Any) -> None:
    metrics = Metrics()
    assert refusal_for(in_flight, metrics).refusal(scope) is None
    assert counted(metrics, "/translate", "POST", 429) is None


def test_an_invalid_request_is_logged_and_counted_and_has_an_id() -> None:
    metrics = Metrics()
    response = answer(400, "Invalid request: no", "invalid_http")
    refusal_for(0, metrics).note(response, "")
    assert len(response.headers["x-request-id"]) == 32
    assert json.loads(bytes(response.body))["code"] == "invalid_http"
    assert counted(metrics, "unmatched", "other", 400) == 1


def test_the_log_line_of_a_refusal_has_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    early_refusal, told = refusal_for(1, Metrics()), list[str]()
    monkeypatch.setattr(
        early_refusal.access_log, "record", lambda *_: told.append(request_id.get())
    )
    early_refusal.refusal(scope_of(x_request_id="job-17"))
    response = answer(400, "Invalid request: no", "invalid_http")
    early_refusal.note(response, "")
    assert told == ["job-17", response.headers["x-request-id"]]
    assert request_id.get() == "-"


def test_a_head_request_is_counted_as_head(client: TestClient) -> None:
    metrics: Metrics = client.app.state.services.metrics  # type: ignore[attr-defined]
    before = counted(metrics, "/health/live", "HEAD", 200) or 0
    assert client.head("/health/live").status_code == 200
    assert counted(metrics, "/health/live", "HEAD", 200) == before + 1
