"""Spans of requests: their contents, which never include a text or a key."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv.attributes import http_attributes, url_attributes
from opentelemetry.trace import SpanKind, StatusCode

from service.api import tracing
from service.app import create_app
from service.settings import Settings

SECRET = "Geheim"
MODES = (None, "http", "http/dup")


@contextmanager
def traced(settings: Settings) -> Iterator[tuple[TestClient, InMemorySpanExporter]]:
    """Run a service whose spans are kept in memory."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    app = create_app(settings)
    tracing.install(app, provider)

    @app.get("/broken")
    async def broken(q: str) -> None:
        raise ValueError(q)

    with TestClient(app, raise_server_exceptions=False) as client:
        yield client, exporter


def test_a_span_has_the_outcome_of_the_request(settings: Settings) -> None:
    with traced(settings) as (client, exporter):
        for path in ("/health/live", "/health/ready", "/v2/health/live", "/metrics"):
            client.get(path)
        client.get("/v2/models/none")
        client.get("/broken?q=1")
        client.request("BREW", "/coffee")
    found = [
        (span.name, span.status.status_code, dict(span.attributes or {}))
        for span in exporter.get_finished_spans()
    ]
    method, status = http_attributes.HTTP_REQUEST_METHOD, http_attributes.HTTP_RESPONSE_STATUS_CODE
    route, scheme = http_attributes.HTTP_ROUTE, url_attributes.URL_SCHEME
    get = {method: "GET", scheme: "http"}
    model = "/v2/models/{name}"
    assert found[0][2][status] in (404, 503), "the models are loaded, or not yet"
    assert (found[0][0], found[0][2][route]) == (f"GET {model}", model)
    assert found[1:] == [
        (
            "GET /broken",
            StatusCode.ERROR,
            {**get, status: 500, route: "/broken", "error.type": "ValueError"},
        ),
        ("HTTP", StatusCode.UNSET, {method: "_OTHER", scheme: "http", status: 404}),
    ]


@pytest.mark.parametrize("mode", MODES)
def test_spans_contain_no_text_or_key(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, mode: str | None
) -> None:
    if mode:
        monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", mode)
    for side in ("REQUEST", "RESPONSE"):
        monkeypatch.setenv(f"OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_{side}", ".*")
    fields = {
        "Authorization": f"Bearer {SECRET}",
        "X-Api-Key": SECRET,
        "X-Request-ID": SECRET,
        "Cookie": SECRET,
        "User-Agent": SECRET,
        "Referer": f"http://x/{SECRET}",
        "Host": f"{SECRET}.example",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "tracestate": f"vendor={SECRET}",
        "baggage": f"text={SECRET}",
    }
    query = {"q": SECRET, "api_key": SECRET, "source": "de", "target": "en", SECRET: "1"}
    with traced(settings) as (client, exporter):
        for path in ("/translate", "/v2/translate", "/broken", f"/{SECRET}"):
            client.get(path, params=query, headers=fields)
            client.post(path, params=query, headers=fields)
            client.post(path, data={"q": SECRET, "source": SECRET, "target": "en"}, headers=fields)
            client.post(path, json={"q": SECRET, "source": "zz", "target": "en"}, headers=fields)
        client.request(SECRET, "/translate", headers=fields)
        client.get(f"/translate?q={SECRET}%ff\xff", headers=fields)
    spans = exporter.get_finished_spans()
    assert len(spans) == 18
    for span in spans:
        assert SECRET.lower() not in span.to_json().lower()
        assert not span.events
        assert span.status.description is None
        assert span.kind == SpanKind.SERVER
        assert span.parent is not None
        assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331", "the caller's trace goes on"


def test_fastapis_own_telemetry_is_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    for config, spans in ((None, 1), (tracing.FASTAPI_TELEMETRY, 0)):
        exporter.clear()
        with TestClient(FastAPI(telemetry=config)) as client:
            client.get("/", params={"q": SECRET})
        assert len(exporter.get_finished_spans()) == spans


def test_spans_go_to_the_provider_of_the_process(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    with TestClient(create_app(settings.model_copy(update={"tracing": True}))) as client:
        client.get("/frontend/settings")
    [span] = exporter.get_finished_spans()
    assert span.instrumentation_scope is not None
    assert span.instrumentation_scope.name == "attendant", "and FastAPI's own telemetry is off"


def test_a_collector_that_does_not_answer_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stuck(InMemorySpanExporter):
        def shutdown(self) -> None:
            is_sending.set()
            assert answers.wait(60)
            super().shutdown()

    is_sending, answers = threading.Event(), threading.Event()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(Stuck()))
    monkeypatch.setattr(tracing, "REST_SECONDS", 0.01)
    tracing.send_rest(provider)
    assert is_sending.wait(60)
    answers.set()


@pytest.mark.parametrize("name", ["OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"])
def test_an_invalid_variable_of_opentelemetry_is_told(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "-1")
    with pytest.raises(tracing.TracingError, match=r"\(OTEL_\.\.\.\) are invalid: .+"):
        tracing.install(FastAPI())


def test_a_collectors_key_is_not_logged_even_if_it_is_misspelt(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization {SECRET}")
    tracing.install(FastAPI())
    assert "Header format invalid" in caplog.text
    assert SECRET not in caplog.text


def test_an_unknown_propagator_ends_the_start_with_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "service"],
        env={**os.environ, "OTEL_PROPAGATORS": "none-such"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("Propagator none-such not found")
