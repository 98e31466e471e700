"""The native dialect, LibreTranslate's with extensions; it has all paths that no other dialect has."""

from service.api.dialect import Dialect


def _error(message: str, code: str) -> dict[str, str]:
    return {"error": message, "code": code}


NATIVE = Dialect(
    prefixes=("",),
    error=_error,
    translates=lambda path: path == "/translate",
    takes_key=frozenset(["/translate", "/detect", "/admin/reload"]).__contains__,
    key_field="api_key",
    probes=frozenset(["/health", "/health/live", "/health/ready", "/metrics"]),
)
