"""Spans of requests."""

import pytest
from fastapi.testclient import TestClient
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from service.app import create_app
from service.settings import Settings


def test_a_request_is_a_span_and_no_text_is_in_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    traced = settings.model_copy(update={"tracing": True})
    with TestClient(create_app(traced)) as client:
        client.get("/health/live")
        client.post("/translate", json={"q": "Geheim", "source": "zz", "target": "en"})
    [span] = exporter.get_finished_spans()
    assert span.name == "POST /translate"
    assert span.attributes is not None
    assert "Geheim" not in str(dict(span.attributes))
