"""OpenTelemetry spans of requests, if the extra `tracing` is installed and the setting is on.

OpenTelemetry's own variables, above all OTEL_EXPORTER_OTLP_ENDPOINT, say where they are sent. No span
contains a text or a key.
"""

from typing import TYPE_CHECKING

from fastapi import FastAPI

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig
    from opentelemetry.sdk.trace import TracerProvider

FASTAPI_TELEMETRY: "TelemetryConfig" = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""For `FastAPI(telemetry=...)`: what it records of itself has queries and messages of exceptions in it."""


class TracingError(RuntimeError):
    """Tracing is wanted and its packages are not there."""


def install(app: FastAPI, provider: "TracerProvider | None" = None) -> None:
    """Trace every request of `app` but those for health and metrics.

    Args:
        app: made with `telemetry=FASTAPI_TELEMETRY`.
        provider: where spans go; by default the process's, if it has one, else one that exports by OTLP.

    Raises:
        TracingError: the extra is not installed.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        from service.api.spans import RequestSpans
    except ImportError as error:
        raise TracingError(
            f"ATTENDANT_TRACING=true needs the extra tracing: pip install 'attendant[tracing]' ({error})"
        ) from None
    if provider is None:
        of_process = trace.get_tracer_provider()
        provider = of_process if isinstance(of_process, TracerProvider) else None
    if provider is None:
        # the process's own stays unset: libraries that find one record more than is said here
        provider = TracerProvider(resource=Resource.create({"service.name": "attendant"}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    app.add_middleware(RequestSpans, tracer=provider.get_tracer("attendant"))
