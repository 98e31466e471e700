"""What the shared parts of the interface must know of a dialect, before and beside its routes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from service.errors import AttendantError


@dataclass(frozen=True)
class Dialect:
    """One interface among several, told apart by its paths; each room of a dialect has its own."""

    prefixes: tuple[str, ...]
    """How its paths begin; of all dialects', the longest that fits a path counts."""
    error: Callable[[str, str], dict[str, str]]
    """The body of an error, of its message and its code."""
    translates: Callable[[str], bool]
    """Whether one of its paths asks for a translation."""
    probes: frozenset[str] = frozenset()
    """Its paths that ask how the service is, which are answered whatever else is refused."""
    statuses: Mapping[type[AttendantError], HTTPStatus] = field(default_factory=dict)
    """Of errors that its clients know by another status than others do."""
    request_id_fields: tuple[bytes, ...] = (b"x-request-id",)
    """Header fields of an answer that tell the id of its request."""
