"""A request's body, taken out of what a client sends, of a length that was told or in chunks."""

from http import HTTPStatus

import httptools

from service.api.head import Head, ProtocolError

MAX_CHUNKS = 4096
"""Of a chunked body; each costs as much as a kilobyte."""
MAX_FRAMING_BYTES = 65_536
"""Of a chunked body, beside its content: the chunks' lengths and extensions, and trailers."""


class SizedBody:
    """A body of a length that was told."""

    has_more_behind = False
    """Never in what is taken."""

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
    """A body in chunks, which llhttp finds; trailers say nothing to the service."""

    def __init__(self) -> None:
        """None of it has come."""
        self.is_complete = False
        self.has_more_behind = False
        """Whether there were bytes behind it, which are dropped: the parser does not tell where it ended."""
        self._pieces: list[bytes] = []
        self._chunks = self._framing = 0
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")

    def take(self, buffer: bytearray) -> bytes:
        """Take all out of the buffer; what belongs to it is returned.

        Raises:
            ProtocolError: it is not in chunks, or has too many, or too much beside its content.
        """
        size, wrong = len(buffer), ""
        try:
            self._parser.feed_data(buffer)
        except httptools.HttpParserError as error:
            wrong = "" if self.is_complete else str(error)
        buffer.clear()
        piece = b"".join(self._pieces)
        self._pieces.clear()
        self._framing += size - len(piece)
        if self._chunks > MAX_CHUNKS:
            raise _wrong(f"the body comes in more than {MAX_CHUNKS} chunks", "too_many_chunks")
        if self._framing > MAX_FRAMING_BYTES and not self.has_more_behind:
            reason = f"the body's chunks and trailers have more than {MAX_FRAMING_BYTES} bytes"
            raise _wrong(f"{reason} beside its content", "too_many_chunks")
        if wrong:
            raise _wrong(f"it is not HTTP/1.1: {wrong}", "invalid_http")
        if self.is_complete:
            del self._parser  # which knows this object
        return piece

    def on_chunk_header(self) -> None:
        """Count a chunk; called by the parser, as all below."""
        self._chunks += not self.is_complete

    def on_body(self, piece: bytes) -> None:
        """Take in some content."""
        if not self.is_complete:
            self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """The last chunk has come."""
        self.is_complete = True

    def on_message_begin(self) -> None:
        """Something comes behind it: another request, or what is none."""
        self.has_more_behind = self.is_complete


def body_of(head: Head) -> SizedBody | ChunkedBody:
    """What reads the body that a head announces."""
    return ChunkedBody() if head.length is None else SizedBody(head.length)


def _wrong(reason: str, code: str) -> ProtocolError:
    return ProtocolError(HTTPStatus.BAD_REQUEST, f"Invalid request: {reason}", code)
