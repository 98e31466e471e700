"""Admission of requests: by the number in flight, and by the expected time of a translation.

Both are checked before the body is read, so that refusals are cheap under overload. After the body, the
number is checked again, so that slow senders do not count against the limit, and the engine checks the time.
"""

from collections.abc import Callable
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.dialects import is_probe, translates
from service.api.errors import ErrorAnswer, answer

Wait = Callable[[], float | None]
CHECKED = "admission_checked"
"""The key in a request's scope that says that both were already checked after its head."""
_RELEASE = "release_place"
"""The key of a function in a request's scope, see `release`."""


class Admission:
    """The decision whether to admit a request, and the number of requests in flight."""

    def __init__(
        self,
        limit: int,
        deadline_seconds: float,
        shortest_wait: Wait,
        expected_wait: Wait,
    ) -> None:
        """Start with no requests in flight.

        Args:
            limit: maximum number of requests in flight.
            deadline_seconds: the longest deadline that a request may have.
            shortest_wait: returns the seconds that even the shortest translation may take; None if unknown.
            expected_wait: returns the seconds until all waiting work is done, for `Retry-After`.
        """
        self.limit, self.deadline_seconds = limit, deadline_seconds
        self.shortest_wait, self.expected_wait = shortest_wait, expected_wait
        self.in_flight = 0

    def refusal(self, path: str) -> ErrorAnswer | None:
        """Return the answer that refuses a request, or None if it can be admitted."""
        if refusal := self.refusal_by_number(path):
            return refusal
        wait = self.shortest_wait() if translates(path) else None
        if wait is None or wait <= self.deadline_seconds:
            return None
        message = f"it may take {wait:.1f} s, and the deadline is {self.deadline_seconds:g} s"
        return self._refused(message, path)

    def refusal_by_number(self, path: str) -> ErrorAnswer | None:
        """Return the answer that refuses a request if too many are in flight, or None."""
        if self.in_flight < self.limit:
            return None
        message = f"{self.in_flight} requests are in flight, the limit is {self.limit}"
        return self._refused(message, path)

    def _refused(self, message: str, path: str) -> ErrorAnswer:
        # no deadline is later than this: all that waits now is done or abandoned by then
        retry_after = min(self.expected_wait() or 0.0, self.deadline_seconds)
        status = HTTPStatus.TOO_MANY_REQUESTS
        return answer(status, f"Slowdown: {message}", "queue_full", retry_after, path)


class AdmissionCheck:
    """Answers 429 to requests that cannot be admitted, before their bodies are read."""

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        """Wrap `app`."""
        self.app, self.admission = app, admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path = scope["path"]
        is_sure = CHECKED in scope or is_probe(path)
        refusal = None if is_sure else self.admission.refusal(path)
        await (refusal or self.app)(scope, receive, send)


class InFlightLimit:
    """Counts the requests in flight, whose bodies have been read; beyond the limit, they get 429."""

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        """Wrap `app`."""
        self.app, self.admission = app, admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if is_probe(scope["path"]):
            await self.app(scope, receive, send)
            return
        if refusal := self.admission.refusal_by_number(scope["path"]):
            await refusal(scope, receive, send)
            return
        is_counted = True
        self.admission.in_flight += 1

        def release() -> None:
            nonlocal is_counted
            self.admission.in_flight -= is_counted
            is_counted = False

        scope[_RELEASE] = release

        async def send_and_release(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_complete(message):
                release()  # an answer that its client has yet to read costs no more work
            await send(message)

        try:
            await self.app(scope, receive, send_and_release)
        finally:
            release()


def release(scope: Scope) -> None:
    """Record that only the client keeps the end of a request waiting, which is no longer in flight."""
    if _RELEASE in scope:
        scope[_RELEASE]()


def _is_complete(start: Message) -> bool:
    """Return whether the whole answer is known when its head is sent, unlike that of a stream."""
    return any(name == b"content-length" for name, _ in start.get("headers", ()))
