"""Cross-origin requests from web pages."""

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response


class Cors(CORSMiddleware):
    """Starlette's middleware, except that every preflight gets 200 and lists what is allowed.

    So does LibreTranslate. The browser compares the lists with the request (Fetch standard, CORS-preflight
    fetch) and tells the page's developer what is not allowed; with another status, it reports only that.
    """

    def preflight_response(self, request_headers: Headers) -> Response:
        """Return what is allowed, whether or not it covers the request."""
        fields = super().preflight_response(request_headers).headers
        return Response(
            headers={name: fields[name] for name in fields if name.startswith(("access", "vary"))}
        )
