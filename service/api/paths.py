"""What must be known about a path before it is routed."""

_PROBES = frozenset(
    ["/health", "/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready", "/metrics"]
)


def is_probe(path: str) -> bool:
    """Whether it asks how the service is, which is answered whatever else is refused."""
    return path in _PROBES


def translates(path: str) -> bool:
    """Whether it asks for a translation."""
    return path in ("/translate", "/v2/translate") or (
        path.startswith("/v2/models/") and path.endswith("/infer")
    )


def is_deepl(path: str) -> bool:
    """Whether it is of DeepL's dialect, where errors have the shape that its clients read.

    All under /v2 and /v3 is but for what the Open Inference Protocol has there.
    """
    return path.startswith(("/v2/", "/v3/")) and not path.startswith(
        ("/v2/health", "/v2/models", "/v2/repository")
    )
