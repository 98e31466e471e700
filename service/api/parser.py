"""h11's state of one connection, which also bounds a head and counts chunks, and says what is wrong."""

import re
from http import HTTPStatus
from typing import Any

import h11

MAX_FIELDS = 256
"""Header fields of a request: browsers behind several proxies send a quarter as many."""
MAX_CHUNKS = 4096
"""Of a chunked body; each costs as much as a kilobyte."""
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_START = re.compile(rb"\S{1,40}+ ([^\s?]{1,200}+)[\s?]")

Refusal = tuple[HTTPStatus, str, str]
"""Status, message and code of an error."""


class BoundedParser(h11.Connection):
    """Reads the requests of a client; whatever a head's pieces are, each byte of it is looked at once."""

    refusal: Refusal | None = None
    """What to say of the request that was refused here."""
    path = ""
    """Of the request whose head is coming, as soon as that is known."""
    _chunks = 0
    _scanned = 0
    """Bytes of the head so far in which fields were counted."""
    _fields = 0

    def __init__(self, max_head_bytes: int) -> None:
        """A server's side of a connection."""
        # h11's own limit is a little higher, so that ours, which says more, comes first
        super().__init__(h11.SERVER, max_incomplete_event_size=max_head_bytes + 4)
        self.max_head_bytes = max_head_bytes

    @property
    def has_unread(self) -> bool:
        """Whether bytes have come that belong to no event yet."""
        return bool(self._receive_buffer)

    @property
    def is_in_head(self) -> bool:
        """Whether a head has begun and is not complete."""
        return self.their_state is h11.IDLE and self.has_unread

    def next_event(self) -> Any:
        """The next event.

        Raises:
            h11.RemoteProtocolError: what comes is no HTTP, or more than may come.
        """
        if self.their_state is h11.IDLE:
            self._skip_empty_lines()
            self._note_path()
            self._count_fields()
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._scanned = self._fields = 0
            self.path = ""
        elif isinstance(event, h11.Data) and event.chunk_start:
            self._chunks += 1
            if self._chunks > MAX_CHUNKS:
                self._refuse(
                    HTTPStatus.BAD_REQUEST,
                    f"Invalid request: the body comes in more than {MAX_CHUNKS} chunks",
                    "too_many_chunks",
                )
        return event

    def _skip_empty_lines(self) -> None:
        """Empty lines in front of a request say nothing (RFC 9112, section 2.2)."""
        head = self._receive_buffer._data
        if not self._scanned and head.startswith((b"\r", b"\n")):
            del head[: len(head) - len(head.lstrip(b"\r\n"))]

    def _note_path(self) -> None:
        """Look for the path while it is there: what is wrong may be behind it."""
        if not self.path and (found := _START.match(self._receive_buffer._data)):
            self.path = found[1].decode("latin-1")

    def _count_fields(self) -> None:
        """Refuse a head of too many bytes or fields before each of them is looked at."""
        head = self._receive_buffer._data
        found = _END_OF_HEAD.search(head, self._scanned)
        # the last two bytes may be a part of the head's end, which is no field's
        end = found.start() if found else max(self._scanned, len(head) - 2)
        self._fields += head.count(b"\n", self._scanned, end)
        self._scanned = end
        if self._fields > MAX_FIELDS:
            self._refuse(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"Invalid request: the head has more than {MAX_FIELDS} fields",
                "headers_too_large",
            )
        if end > self.max_head_bytes:
            self._refuse_size()

    def _refuse_size(self) -> None:
        if self._fields:
            status, code = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large"
        else:
            status, code = HTTPStatus.REQUEST_URI_TOO_LONG, "address_too_long"
        limit = self.max_head_bytes
        message = f"Invalid request: address and header fields have more than {limit} bytes"
        self._refuse(status, message, code)

    def _refuse(self, *refusal: Any) -> None:
        self.refusal = refusal
        raise h11.RemoteProtocolError(refusal[1])
