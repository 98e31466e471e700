"""What is refused behind a request's head alone, in front of the application.

Under overload most requests are refused. Their bodies need not be read for that, nor the application be
asked: it costs a fraction of what a request costs that is served. `Admission` decides, here as there.
"""

import time

from starlette.responses import Response
from starlette.types import Scope

from service.api.errors import identifying
from service.api.middleware.admission import Admission
from service.api.middleware.context import Books, identity_of
from service.api.middleware.shortcut import is_plain
from service.logs import request_id


class Front:
    """Refuses early, and keeps the books of what the application never sees."""

    def __init__(self, admission: Admission, books: Books) -> None:
        """Refuse by `admission`."""
        self.admission, self.books = admission, books

    def refusal(self, scope: Scope) -> Response | None:
        """The answer to a plain translation that cannot be admitted; None where it is the application's."""
        path, started = scope["path"], time.perf_counter()
        if not is_plain(scope):
            return None
        refusal = self.admission.refusal(path)
        if refusal is not None:
            seconds = time.perf_counter() - started
            self._enter(refusal, scope["request_id"], path, "POST", path, seconds)
        return refusal

    def note(self, response: Response, path: str) -> None:
        """Enter a refusal of what is no request, and give it an id."""
        self._enter(response, identity_of(()), path, "other", "unmatched", 0.0)

    def _enter(
        self,
        response: Response,
        identity: bytes,
        path: str,
        method: str,
        route: str,
        seconds: float,
    ) -> None:
        response.raw_headers += identifying(identity, path)
        before = request_id.set(identity.decode())
        self.books.enter(method, route, response.status_code, seconds)
        request_id.reset(before)  # other requests of the connection have their own
