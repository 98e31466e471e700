"""What sets the Open Inference Protocol apart, besides its routes: its paths begin as DeepL's do."""

from service.api.dialect import Dialect


def _error(message: str, code: str) -> dict[str, str]:
    return {"error": message, "code": code}


INFERENCE = Dialect(
    prefixes=(
        *("/v2/health", "/v2/models", "/v2/repository"),
        # Triton's extensions, which are not supported
        *("/v2/systemsharedmemory", "/v2/cudasharedmemory", "/v2/trace", "/v2/logging"),
    ),
    error=_error,
    translates=lambda path: path.startswith("/v2/models/") and path.endswith("/infer"),
    probes=frozenset(["/v2/health/live", "/v2/health/ready"]),
)
