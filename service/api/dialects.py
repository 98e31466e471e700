"""Which dialect a path is of: known before any route is looked at, and where there is no route."""

from functools import lru_cache

from service.api.deepl.dialect import DEEPL
from service.api.dialect import Dialect
from service.api.inference.dialect import INFERENCE
from service.api.native.dialect import NATIVE

DIALECTS = (NATIVE, DEEPL, INFERENCE)
_BY_PREFIX = sorted(
    ((prefix, dialect) for dialect in DIALECTS for prefix in dialect.prefixes),
    key=lambda one: -len(one[0]),
)


@lru_cache(64)  # it is asked for several times in each request, mostly for one of a few paths
def dialect_of(path: str) -> Dialect:
    """The dialect of a path; the native one where no other has it."""
    return next(dialect for prefix, dialect in _BY_PREFIX if path.startswith(prefix))


def is_probe(path: str) -> bool:
    """Whether a path asks how the service is, which is answered whatever else is refused."""
    return path in dialect_of(path).probes


def translates(path: str) -> bool:
    """Whether a path asks for a translation."""
    return dialect_of(path).translates(path)
