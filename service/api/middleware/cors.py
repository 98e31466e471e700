"""Which web pages may call the service."""

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response


class Cors(CORSMiddleware):
    """Starlette's, but for preflights: each gets 200 and is told what is allowed, as LibreTranslate does.

    The browser compares (Fetch standard, CORS-preflight fetch) and tells a page's developer what is missing;
    of a preflight with another status it would tell that alone.
    """

    def preflight_response(self, request_headers: Headers) -> Response:
        """What is allowed, whether or not that is what is asked for."""
        found = super().preflight_response(request_headers).headers
        return Response(
            headers={name: found[name] for name in found if name.startswith(("access", "vary"))}
        )
