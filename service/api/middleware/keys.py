"""A wrong API key in a request's head is refused before the body is read."""

from starlette.types import ASGIApp, Receive, Scope, Send

from service.api.access import Gate
from service.api.dialects import dialect_of
from service.api.errors import ErrorAnswer, answer_to
from service.api.forms import urlencoded
from service.errors import AttendantError, InvalidRequestError


class KeyCheck:
    """Checks the keys in the heads of requests that may need one; those in bodies are checked later."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        """Wrap `app`."""
        self.app, self.gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        refusal = None if self.gate.keys is None else self._refusal(scope)
        if refusal is not None:
            refusal.headers["connection"] = "close"  # on which the body would still arrive
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> ErrorAnswer | None:
        """Return the answer that refuses a wrong key, or None if the head has none."""
        path = scope["path"]
        dialect = dialect_of(path)
        if not dialect.takes_key(path):
            return None
        try:
            self.gate.find(scope, _key_of_query(scope["query_string"], dialect.key_field))
        except AttendantError as error:
            return answer_to(error, path)
        return None


def _key_of_query(query: bytes, field: str) -> object:
    """Return the key in a query, which the application reads again and checks as a whole."""
    if not field or field.encode() not in query:
        return None
    try:
        return urlencoded(query, "query").get(field)
    except InvalidRequestError:
        return None
