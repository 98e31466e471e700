"""A request's body, taken out of what a client sends, of a length that was told or in chunks."""

import re
from http import HTTPStatus

from service.api.head import Head, ProtocolError

MAX_CHUNKS = 4096
"""Of a chunked body, and trailers; each costs as much as a kilobyte."""
MAX_FRAMING_BYTES = 65_536
"""Of a chunked body, beside its content: the chunks' lengths and extensions, and trailers."""
_END = re.compile(rb"\r\n")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16}+)(?:;[\t -~\x80-\xff]*+)?+\r\n")
_TRAILER = re.compile(rb"[\w!#$%&'*+.^`|~-]++:[\t -~\x80-\xff]*+\r\n")
_BEGINS = {_END: b"\r", _SIZE: b"0123456789ABCDEFabcdef"}
"""With what a line begins that is not complete yet."""


class SizedBody:
    """A body of a length that was told."""

    def __init__(self, length: int) -> None:
        """None of it has come."""
        self._left = length
        self.is_complete = not length

    def take(self, buffer: bytearray) -> bytes:
        """Take out of the buffer what belongs to it."""
        piece = bytes(buffer[: self._left])
        del buffer[: self._left]
        self._left -= len(piece)
        self.is_complete = not self._left
        return piece


class ChunkedBody:
    """A body in chunks (RFC 9112, section 7.1); extensions and trailers say nothing to the service."""

    def __init__(self) -> None:
        """None of it has come."""
        self.is_complete = False
        self._left = 0  # of a chunk's content, in bytes
        self._awaited: re.Pattern[bytes] = _SIZE  # the line behind it
        self._scanned = 0  # bytes of that line, in which it does not end
        self._chunks = self._framing = 0

    def take(self, buffer: bytearray) -> bytes:
        """Take out of the buffer what belongs to it, but no part of a line; return its content.

        Raises:
            ProtocolError: it is not in chunks, or has too many, or too much beside its content.
        """
        pieces = []
        while buffer and not self.is_complete:
            if self._left:
                piece = bytes(buffer[: self._left])
                del buffer[: self._left]
                self._left -= len(piece)
                pieces.append(piece)
            elif line := self._line(buffer):
                self._understand(line)
            else:
                break
        return b"".join(pieces)

    def _line(self, buffer: bytearray) -> bytes:
        """Take the next line out of the buffer; nothing, while it is not complete."""
        end = buffer.find(b"\n", self._scanned)
        size = end + 1 or len(buffer)
        if self._framing + size > MAX_FRAMING_BYTES:
            reason = f"the body's chunks and trailers have more than {MAX_FRAMING_BYTES} bytes"
            raise _wrong(f"{reason} beside its content", "too_many_chunks")
        if buffer[0] not in _BEGINS.get(self._awaited, buffer):
            raise _no_chunks()
        if end < 0:
            self._scanned = size
            return b""
        line = bytes(buffer[:size])
        del buffer[:size]
        self._framing += size
        self._scanned = 0
        return line

    def _understand(self, line: bytes) -> None:
        """Go by a line: a chunk's length, the end of its content, a trailer or the end of all."""
        is_trailer = self._awaited is _TRAILER
        if is_trailer and line == b"\r\n":
            self.is_complete = True
            return
        found = self._awaited.fullmatch(line)
        if not found:
            raise _no_chunks()
        if self._awaited is _END:
            self._awaited = _SIZE
            return
        self._chunks += 1
        if self._chunks > MAX_CHUNKS:
            message = f"the body comes in more than {MAX_CHUNKS} chunks and trailers"
            raise _wrong(message, "too_many_chunks")
        if not is_trailer:
            self._left = int(found[1], 16)
            self._awaited = _END if self._left else _TRAILER


def body_of(head: Head) -> SizedBody | ChunkedBody:
    """What reads the body that a head announces."""
    return ChunkedBody() if head.length is None else SizedBody(head.length)


def _no_chunks() -> ProtocolError:
    return _wrong("it is not HTTP/1.1: the body is not in chunks", "invalid_http")


def _wrong(reason: str, code: str) -> ProtocolError:
    return ProtocolError(HTTPStatus.BAD_REQUEST, f"Invalid request: {reason}", code)
