"""OpenTelemetry spans of requests, if the setting `tracing` is on.

They need the extra `tracing`. OpenTelemetry's own environment variables, such as OTEL_EXPORTER_OTLP_ENDPOINT,
determine where they are sent. No span contains a text or a key.
"""

import atexit
import logging
import threading
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
"""For `FastAPI(telemetry=...)`: its own records, which contain queries and exception messages, are off."""


REST_SECONDS = 5.0
"""Time limit for sending the last spans when the process ends."""


class TracingError(RuntimeError):
    """Tracing is turned on, but its packages are missing, or a variable of OpenTelemetry is invalid."""


def install(app: FastAPI, provider: "TracerProvider | None" = None) -> None:
    """Trace every request of `app`, except health checks and metrics.

    Args:
        app: the application, created with `telemetry=FASTAPI_TELEMETRY`.
        provider: receives the spans; by default the process's provider, if set, otherwise an OTLP exporter.

    Raises:
        TracingError: the extra `tracing` is not installed, or one of OpenTelemetry's variables is invalid.
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
            "ATTENDANT_TRACING=true needs the extra tracing: "
            f"pip install -e '.[tracing]' in a clone of Attendant ({error})"
        ) from None
    if provider is None:
        of_process = trace.get_tracer_provider()
        provider = of_process if isinstance(of_process, TracerProvider) else None
    if provider is None:
        # not set for the whole process: other libraries would then record spans of their own
        logging.getLogger("opentelemetry.util.re").addFilter(_without_secret)
        try:
            resource = Resource.create({"service.name": "attendant"})
            provider = TracerProvider(resource=resource, shutdown_on_exit=False)
            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        except ValueError as error:
            raise TracingError(
                f"OpenTelemetry's variables (OTEL_...) are invalid: {error}"
            ) from None
        atexit.register(send_rest, provider)
    app.add_middleware(RequestSpans, tracer=provider.get_tracer("attendant"))


def _without_secret(record: logging.LogRecord) -> bool:
    """Hide the value of OTEL_EXPORTER_OTLP_HEADERS, which may be a key, in a warning that it is invalid."""
    record.args = ("(not shown)",)
    return True


def send_rest(provider: "TracerProvider") -> None:
    """Send the last spans; a collector that does not answer delays the end of the process only briefly."""
    sending = threading.Thread(target=provider.shutdown, name="spans", daemon=True)
    sending.start()
    sending.join(REST_SECONDS)
