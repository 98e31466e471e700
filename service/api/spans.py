"""A span for each request, in OpenTelemetry's stable names; needs the extra `tracing`. Pure ASGI."""

from http import HTTPMethod, HTTPStatus

from opentelemetry import propagate
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = frozenset(HTTPMethod)  # clients can make up any number of others
_UNTRACED = ("/health", "/v2/health", "/metrics")
_FREE_TEXT = (b"tracestate", b"baggage")  # fields of a trace whose values clients choose


class RequestSpans:
    """Starts a span with every request, and says in it how that ended.

    A span holds the attributes that are named here, and of errors the kind alone. The instrumentation for
    FastAPI also records addresses with their query, header fields and messages of exceptions: each may be a
    text or a key.
    """

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        """Wrap `app`."""
        self.app, self.tracer = app, tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http" or scope["path"].startswith(_UNTRACED):
            await self.app(scope, receive, send)
            return
        known = scope["method"] in _METHODS
        name = scope["method"] if known else "HTTP"
        with self.tracer.start_as_current_span(
            name,
            context=propagate.extract(_fields(scope)),
            kind=SpanKind.SERVER,
            attributes={
                "http.request.method": scope["method"] if known else "_OTHER",
                "url.scheme": scope["scheme"],
            },
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            answered = False

            async def send_and_note(message: Message) -> None:
                nonlocal answered
                if message["type"] == "http.response.start":
                    answered = True
                    _note_status(span, message["status"])
                await send(message)

            try:
                await self.app(scope, receive, send_and_note)
            except Exception as error:
                if not answered:  # what is around all middleware will do so
                    _note_status(span, HTTPStatus.INTERNAL_SERVER_ERROR)
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(StatusCode.ERROR)
                raise
            finally:
                if route := getattr(scope.get("route"), "path", None):
                    span.set_attribute("http.route", route)
                    span.update_name(f"{name} {route}")


def _fields(scope: Scope) -> dict[str, str]:
    """The header fields in which the caller's trace may be."""
    return {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in scope["headers"]
        if name not in _FREE_TEXT
    }


def _note_status(span: Span, status: int) -> None:
    span.set_attribute("http.response.status_code", int(status))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        span.set_attribute("error.type", str(int(status)))
        span.set_status(StatusCode.ERROR)
