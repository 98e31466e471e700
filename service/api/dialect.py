"""What the shared parts of the HTTP interface need to know about a dialect, apart from its routes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from service.errors import AttendantError


@dataclass(frozen=True)
class Dialect:
    """One of the HTTP interfaces, recognized by its paths."""

    prefixes: tuple[str, ...]
    """Beginnings of its paths; the longest prefix of any dialect that matches a path wins."""
    error: Callable[[str, str], dict[str, str]]
    """Returns the body of an error, given its message and its code."""
    translates: Callable[[str], bool]
    """Returns whether a path of this dialect requests a translation."""
    takes_key: Callable[[str], bool]
    """Returns whether requests for a path of this dialect may need an API key."""
    key_field: str
    """The field of a query or a body that may have the API key; "" if only `Authorization` may."""
    probes: frozenset[str] = frozenset()
    """Paths of health checks and metrics, which are answered even when other requests are refused."""
    statuses: Mapping[type[AttendantError], HTTPStatus] = field(default_factory=dict)
    """Statuses of errors that differ from those of the other dialects."""
    request_id_fields: tuple[bytes, ...] = (b"x-request-id",)
    """Header fields of an answer that contain the id of its request, in lower case."""
