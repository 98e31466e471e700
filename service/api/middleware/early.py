"""Refusals after a request's head, before the application is called.

Under overload, most requests are refused. To refuse one here, without its body or the application, costs a
fraction of serving it. `Admission` decides, as in the application.
"""

import time

from starlette.types import Scope

from service.api.errors import ErrorAnswer, identifying
from service.api.middleware.admission import CHECKED, Admission
from service.api.middleware.context import AccessLog, identity_of
from service.api.middleware.shortcut import is_plain
from service.logs import request_id


class EarlyRefusal:
    """Refuses requests before the application is called, and logs what the application never sees."""

    def __init__(self, admission: Admission, access_log: AccessLog) -> None:
        """Refuse as `admission` decides, and record refusals in `access_log`."""
        self.admission, self.access_log = admission, access_log

    def refusal(self, scope: Scope) -> ErrorAnswer | None:
        """Return the answer that refuses a plain translation; None if the application must answer."""
        if not is_plain(scope):
            return None
        path, started = scope["path"], time.perf_counter()
        refusal = self.admission.refusal(path)
        if refusal is None:
            scope[CHECKED] = True
        else:
            seconds = time.perf_counter() - started
            self._note(refusal, scope["request_id"], path, scope["method"], path, seconds)
        return refusal

    def note(self, response: ErrorAnswer, path: str) -> None:
        """Record the refusal of an invalid request, and give it an id."""
        self._note(response, identity_of(()), path, "other", "unmatched", 0.0)

    def _note(
        self,
        response: ErrorAnswer,
        identity: bytes,
        path: str,
        method: str,
        route: str,
        seconds: float,
    ) -> None:
        response.raw_headers += identifying(identity, path)
        token = request_id.set(identity.decode())
        self.access_log.record(method, route, response.status_code, seconds, response.code)
        request_id.reset(token)  # other requests of the connection have ids of their own
