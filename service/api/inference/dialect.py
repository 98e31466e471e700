"""What sets the Open Inference Protocol apart, besides its routes: its paths begin as DeepL's do."""

from service.api.dialect import Dialect


def _error(message: str, code: str) -> dict[str, str]:
    return {"error": message, "code": code}


def _translates(path: str) -> bool:
    return path.startswith("/v2/models/") and path.endswith("/infer")


INFERENCE = Dialect(
    prefixes=(
        *("/v2/health", "/v2/models", "/v2/repository"),
        # Triton's extensions, which are not supported
        *("/v2/systemsharedmemory", "/v2/cudasharedmemory", "/v2/trace", "/v2/logging"),
    ),
    error=_error,
    translates=_translates,
    takes_key=_translates,
    key_field="",
    probes=frozenset(["/v2/health/live", "/v2/health/ready"]),
)
