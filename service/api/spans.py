"""ASGI middleware that records an OpenTelemetry span per request; needs the extra `tracing`."""

from http import HTTPMethod, HTTPStatus

from opentelemetry import propagate
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = frozenset(HTTPMethod)  # clients can make up any number of others
_UNTRACED = ("/health", "/v2/health", "/metrics")
_FREE_TEXT = (b"tracestate", b"baggage")  # trace fields with arbitrary values


class RequestSpans:
    """Records a span for every request, with OpenTelemetry's stable attribute names.

    A span has only the attributes that are set here, and only the type of an error. OpenTelemetry's
    instrumentation for FastAPI also records URLs with their query, header fields and exception messages,
    which may contain texts or keys.
    """

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        """Wrap `app`."""
        self.app, self.tracer = app, tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http" or scope["path"].startswith(_UNTRACED):
            await self.app(scope, receive, send)
            return
        is_known = scope["method"] in _METHODS
        name = scope["method"] if is_known else "HTTP"
        with self.tracer.start_as_current_span(
            name,
            context=propagate.extract(_fields(scope)),
            kind=SpanKind.SERVER,
            attributes={
                "http.request.method": scope["method"] if is_known else "_OTHER",
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
                if not answered:  # the outermost handler will answer
                    _note_status(span, HTTPStatus.INTERNAL_SERVER_ERROR)
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(StatusCode.ERROR)
                raise
            finally:
                if route := getattr(scope.get("route"), "path", None):
                    span.set_attribute("http.route", route)
                    span.update_name(f"{name} {route}")


def _fields(scope: Scope) -> dict[str, str]:
    """Return the header fields that may contain the caller's trace."""
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
