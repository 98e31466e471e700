"""The native dialect: LibreTranslate's, extended. What no other dialect has is of this one."""

from service.api.dialect import Dialect


def _error(message: str, code: str) -> dict[str, str]:
    return {"error": message, "code": code}


NATIVE = Dialect(
    prefixes=("",),
    error=_error,
    translates=lambda path: path == "/translate",
    probes=frozenset(["/health", "/health/live", "/health/ready", "/metrics"]),
)
