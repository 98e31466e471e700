"""OpenTelemetry spans of requests, if the extra `tracing` is installed and the setting asks for them.

Where they go is said by OpenTelemetry's own variables, OTEL_EXPORTER_OTLP_ENDPOINT first among them. No span
holds a text or a key.
"""

from fastapi import FastAPI


class TracingError(RuntimeError):
    """Tracing is wanted and its packages are not there."""


def install(app: FastAPI) -> None:
    """Trace every request of `app` but those for health and metrics.

    Raises:
        TracingError: the extra is not installed.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise TracingError(
            f"ATTENDANT_TRACING=true needs the extra: pip install 'attendant[tracing]' ({error})"
        ) from None
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider(resource=Resource.create({"service.name": "attendant"}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
    FastAPIInstrumentor.instrument_app(
        app,
        tracer_provider=provider,
        excluded_urls="health,metrics",
        exclude_spans=["receive", "send"],
    )
