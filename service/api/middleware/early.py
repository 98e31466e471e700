"""What is refused behind a request's head alone, in front of the application.

Under overload most requests are refused. Their bodies need not be read for that, nor the application be
asked: it costs a fraction of what a request costs that is served. `Admission` decides, here as there.
"""

import time

from starlette.types import Scope

from service.api.errors import ErrorAnswer, identifying
from service.api.middleware.admission import LOOKED_AT, Admission
from service.api.middleware.context import AccessLog, identity_of
from service.api.middleware.shortcut import is_plain
from service.logs import request_id


class EarlyRefusal:
    """Refuses before the application is asked, and notes what that never sees."""

    def __init__(self, admission: Admission, access_log: AccessLog) -> None:
        """Refuse by `admission`."""
        self.admission, self.access_log = admission, access_log

    def refusal(self, scope: Scope) -> ErrorAnswer | None:
        """The answer to a plain translation that cannot be admitted; None where it is the application's."""
        path, started = scope["path"], time.perf_counter()
        if not is_plain(scope):
            return None
        refusal = self.admission.refusal(path)
        if refusal is None:
            scope[LOOKED_AT] = True
            return None
        seconds = time.perf_counter() - started
        self._note(refusal, scope["request_id"], path, "POST", path, seconds)
        return refusal

    def note(self, response: ErrorAnswer, path: str) -> None:
        """Note the refusal of something that is not a request, and give it an id."""
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
        before = request_id.set(identity.decode())
        self.access_log.record(method, route, response.status_code, seconds, response.code)
        request_id.reset(before)  # other requests of the connection have their own
