"""The dialect of a path, known before routing and also for paths without a route."""

from functools import lru_cache

from service.api.deepl.dialect import DEEPL
from service.api.dialect import Dialect
from service.api.inference.dialect import INFERENCE
from service.api.native.dialect import NATIVE

DIALECTS = (NATIVE, DEEPL, INFERENCE)
_BY_PREFIX = sorted(
    ((prefix, dialect) for dialect in DIALECTS for prefix in dialect.prefixes),
    key=lambda entry: -len(entry[0]),
)


@lru_cache(64)  # called several times per request, mostly for the same few paths
def dialect_of(path: str) -> Dialect:
    """Return the dialect of a path; the native one if no other matches."""
    return next(dialect for prefix, dialect in _BY_PREFIX if path.startswith(prefix))


def is_probe(path: str) -> bool:
    """Return whether a path is a health check or metrics, answered even when others are refused."""
    return path in dialect_of(path).probes


def translates(path: str) -> bool:
    """Return whether a path requests a translation."""
    return dialect_of(path).translates(path)
