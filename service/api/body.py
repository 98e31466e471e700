"""Readers of a request's body: of known length, or in chunks."""

import re
from http import HTTPStatus

from service.api.head import Head, ProtocolError

MAX_CHUNKS = 4096
"""Limit on the chunks and trailers of a body; each costs as much time as a kilobyte of content."""
MAX_FRAMING_BYTES = 65_536
"""Limit on the bytes of a chunked body that are not content: sizes, extensions and trailers."""
_END = re.compile(rb"\r\n")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16}+)(?:;[\t -~\x80-\xff]*+)?+\r\n")
_TRAILER = re.compile(rb"[\w!#$%&'*+.^`|~-]++:[\t -~\x80-\xff]*+\r\n")
_FIRST_BYTES = {_END: b"\r", _SIZE: b"0123456789ABCDEFabcdef"}
"""First bytes of a valid line, to refuse an invalid one before it is complete."""


class SizedBody:
    """A body whose length is known from `Content-Length`."""

    def __init__(self, length: int) -> None:
        """Expect `length` bytes."""
        self._remaining = length
        self.is_complete = not length

    def take(self, buffer: bytearray) -> bytes:
        """Remove the bytes of this body from the buffer, and return them."""
        piece = bytes(buffer[: self._remaining])
        del buffer[: self._remaining]
        self._remaining -= len(piece)
        self.is_complete = not self._remaining
        return piece


class ChunkedBody:
    """A body in chunks (RFC 9112, section 7.1); extensions and trailers are ignored."""

    def __init__(self) -> None:
        """Expect the size of the first chunk."""
        self.is_complete = False
        self._remaining = 0  # bytes of the current chunk's content
        self._awaited: re.Pattern[bytes] = _SIZE  # the next line
        self._scanned = 0  # bytes of that line without a line end
        self._chunks = self._framing = 0

    def take(self, buffer: bytearray) -> bytes:
        """Remove the bytes of this body from the buffer, except an incomplete line, and return the content.

        Raises:
            ProtocolError: the chunks are malformed, or exceed `MAX_CHUNKS` or `MAX_FRAMING_BYTES`.
        """
        pieces = []
        while buffer and not self.is_complete:
            if self._remaining:
                piece = bytes(buffer[: self._remaining])
                del buffer[: self._remaining]
                self._remaining -= len(piece)
                pieces.append(piece)
            elif line := self._line(buffer):
                self._interpret(line)
            else:
                break
        return b"".join(pieces)

    def _line(self, buffer: bytearray) -> bytes:
        """Remove the next line from the buffer, and return it; return nothing while it is incomplete."""
        end = buffer.find(b"\n", self._scanned)
        size = end + 1 or len(buffer)
        if self._framing + size > MAX_FRAMING_BYTES:
            reason = f"the body's chunks and trailers have more than {MAX_FRAMING_BYTES} bytes"
            raise _bad_request(f"{reason} besides its content", "too_many_chunks")
        if buffer[0] not in _FIRST_BYTES.get(self._awaited, buffer):
            raise _malformed_chunks()
        if end < 0:
            self._scanned = size
            return b""
        line = bytes(buffer[:size])
        del buffer[:size]
        self._framing += size
        self._scanned = 0
        return line

    def _interpret(self, line: bytes) -> None:
        """Handle a line: a chunk's size, the end of its content, a trailer, or the end of the body."""
        is_trailer = self._awaited is _TRAILER
        if is_trailer and line == b"\r\n":
            self.is_complete = True
            return
        match = self._awaited.fullmatch(line)
        if not match:
            raise _malformed_chunks()
        if self._awaited is _END:
            self._awaited = _SIZE
            return
        self._chunks += 1
        if self._chunks > MAX_CHUNKS:
            message = f"the body has more than {MAX_CHUNKS} chunks and trailers"
            raise _bad_request(message, "too_many_chunks")
        if not is_trailer:
            self._remaining = int(match[1], 16)
            self._awaited = _END if self._remaining else _TRAILER


def body_of(head: Head) -> SizedBody | ChunkedBody:
    """Return a reader for the body that a head announces."""
    return ChunkedBody() if head.length is None else SizedBody(head.length)


def _malformed_chunks() -> ProtocolError:
    return _bad_request("it is not HTTP/1.1: the body's chunks are malformed", "invalid_http")


def _bad_request(reason: str, code: str) -> ProtocolError:
    return ProtocolError(HTTPStatus.BAD_REQUEST, f"Invalid request: {reason}", code)
