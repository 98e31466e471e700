"""Whether a request is admitted: whether too many are in flight, and whether there is time for one more.

Both are checked before the body is read, so that refusals are cheap under overload. The number is checked
once more behind it, so that slow senders do not count against the limit; the time, by the engine.
"""

from collections.abc import Callable
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.dialects import is_probe, translates
from service.api.errors import ErrorAnswer, answer

Wait = Callable[[], float | None]
LOOKED_AT = "admission_looked_at"
"""In the scope of a request for which both were checked as its head came."""


class Admission:
    """The books of what is in flight."""

    def __init__(
        self,
        limit: int,
        deadline_seconds: float,
        shortest_wait: Wait,
        expected_wait: Wait,
    ) -> None:
        """Nothing is in flight.

        Args:
            limit: requests that may be.
            deadline_seconds: the most that a request may ask for.
            shortest_wait: seconds that even the shortest translation may take, where that can be told.
            expected_wait: seconds that all that waits should take, for those who ask when to come again.
        """
        self.limit, self.deadline_seconds = limit, deadline_seconds
        self.shortest_wait, self.expected_wait = shortest_wait, expected_wait
        self.in_flight = 0

    def refusal(self, path: str) -> ErrorAnswer | None:
        """The answer to a request that cannot be admitted; None where it can."""
        if refusal := self.refusal_by_number(path):
            return refusal
        wait = self.shortest_wait() if translates(path) else None
        if wait is None or wait <= self.deadline_seconds:
            return None
        message = f"it may take {wait:.1f} s, and the deadline is {self.deadline_seconds:g} s"
        return self._refused(message, path)

    def refusal_by_number(self, path: str) -> ErrorAnswer | None:
        """The same where there is time for it."""
        if self.in_flight < self.limit:
            return None
        message = f"{self.in_flight} requests are in flight, the limit is {self.limit}"
        return self._refused(message, path)

    def _refused(self, message: str, path: str) -> ErrorAnswer:
        # by its deadline, whatever waits is done or given up
        told = min(self.expected_wait() or 0.0, self.deadline_seconds)
        status = HTTPStatus.TOO_MANY_REQUESTS
        return answer(status, f"Slowdown: {message}", "queue_full", told, path)


class AdmissionLimit:
    """Answers 429 to what cannot be admitted."""

    def __init__(self, app: ASGIApp, admission: Admission, counts: bool) -> None:
        """Wrap `app`; one of the two limits of a service `counts` what it lets through."""
        self.app, self.admission, self.counts = app, admission, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or is_probe(scope["path"]):
            await self.app(scope, receive, send)
            return
        if refusal := self._refusal(scope):
            await refusal(scope, receive, send)
            return
        if not self.counts:
            await self.app(scope, receive, send)
            return
        holds = True
        self.admission.in_flight += 1

        def give_back() -> None:
            nonlocal holds
            self.admission.in_flight -= holds
            holds = False

        async def send_ready(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_ready(message):
                give_back()  # what is ready and not read yet is no work
            await send(message)

        try:
            await self.app(scope, receive, send_ready)
        finally:
            give_back()

    def _refusal(self, scope: Scope) -> ErrorAnswer | None:
        if self.counts:
            return self.admission.refusal_by_number(scope["path"])
        return None if LOOKED_AT in scope else self.admission.refusal(scope["path"])


def _is_ready(start: Message) -> bool:
    """Whether an answer is there as a whole, which a stream is not."""
    return any(name == b"content-length" for name, _ in start.get("headers", ()))
