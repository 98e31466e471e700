"""A request's head: its bytes until they are complete, bounded; llhttp, Node's parser, reads them."""

import re
from http import HTTPStatus

import httptools

from service.errors import quoted

MAX_FIELDS = 256
"""Header fields of a request: browsers behind several proxies send a quarter as many."""
MAX_EMPTY_LINES = 16
"""In front of a request: some clients send one behind a body."""
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_START = re.compile(rb"(\S{1,40}+) (?:([^\s?]{1,200}+)[\s?])?")
_CHUNKED = b"chunked"
_SINGLE = (b"host", b"transfer-encoding", b"content-type", b"authorization")
"""Of two, a proxy may have gone by the other."""
_HOST = re.compile(
    rb"(?:(?:[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})++|\[[\w.~!$&'()*+,;=:-]++\])(?::\d*+)?"
)
"""A name or an address, and perhaps a port (RFC 9110, section 7.2; 4.2.1 wants it not to be empty)."""
_ABSOLUTE = re.compile(rb"https?://([^/?]*+)", re.IGNORECASE)


class ProtocolError(Exception):
    """What comes is no HTTP/1.1, or more than may come."""

    def __init__(self, status: HTTPStatus, message: str, code: str) -> None:
        """What to answer."""
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class Head:
    """Method, target and fields of a request, and what they say of its body and its connection.

    Raises:
        ProtocolError: it is no head of HTTP/1.1, or says two things at once (RFC 9112, sections 3.2 and 6.3).
    """

    def __init__(self, raw: bytes) -> None:
        """Read a head that is complete, its empty line included."""
        self.target = b""
        self.headers: list[tuple[bytes, bytes]] = []
        """With names in small letters, as ASGI has them."""
        parser = httptools.HttpRequestParser(self)
        parser.set_dangerous_leniencies(lenient_version=True)  # others than 1 get a clearer answer
        try:
            parser.feed_data(raw)
        except httptools.HttpParserUpgrade:
            pass  # nobody takes an offer to upgrade, which Java's HttpClient makes in every request
        except httptools.HttpParserError as error:
            raise _no_http(str(error)) from None
        self.method = parser.get_method().decode("ascii")
        self.version = parser.get_http_version()
        start = b"%b %b HTTP/%b\r\n" % (parser.get_method(), self.target, self.version.encode())
        if not raw.startswith(start):  # llhttp takes more blanks, and none of a version
            raise _no_http("its first line is not METHOD TARGET HTTP/VERSION")
        self._understand(dict(self.headers))

    def _understand(self, fields: dict[bytes, bytes]) -> None:
        if len(fields) < len(self.headers):
            for name in _SINGLE:
                if len(self._values(name)) > 1:
                    raise _no_http(f"it has more than one {name.decode().title()}")
        self._check_hosts(fields.get(b"host"))
        if b"#" in self.target:
            raise _no_http("a target has no fragment")
        encoding = fields.get(b"transfer-encoding")
        if encoding is not None and (encoding.lower() != _CHUNKED or self.version == "1.0"):
            raise _no_http("Transfer-Encoding may be chunked only, and not in HTTP/1.0")
        self.length = None if encoding else int(fields.get(b"content-length", 0))
        """Of the body in bytes; None where it comes in chunks."""
        self.expects_continue = (
            self.version != "1.0" and fields.get(b"expect", b"").lower() == b"100-continue"
        )
        """Whether the client sends no body before it is told to."""
        self.is_last = (
            self.version == "1.0"
            or self.method == "CONNECT"
            or (b"connection" in fields and self._says_close())
        )
        """Whether the connection ends behind the answer."""

    def _check_hosts(self, given: bytes | None) -> None:
        """Refuse a host that a proxy may have understood otherwise, or not at all."""
        if given is None and self.version != "1.0":
            raise _no_http("it has no Host")
        hosts = [] if given is None else [given]
        if absolute := _ABSOLUTE.match(self.target):
            hosts.append(absolute[1])
        for host in hosts:
            if not _HOST.fullmatch(host):
                raise _no_http(f"{quoted(host.decode('latin-1'))} is no host")

    def _values(self, name: bytes) -> list[bytes]:
        return [value for field, value in self.headers if field == name]

    def _says_close(self) -> bool:
        return any(
            b"close" in [option.strip().lower() for option in value.split(b",")]
            for value in self._values(b"connection")
        )

    def on_url(self, part: bytes) -> None:
        """Take in some of the target; called by the parser."""
        self.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take in a field; called by the parser."""
        self.headers.append((name.lower(), value.rstrip(b" \t")))


class HeadReader:
    """Finds heads in what a client sends; whatever their pieces are, each byte is looked at once."""

    def __init__(self, max_bytes: int) -> None:
        """A head has at most `max_bytes`."""
        self.max_bytes = max_bytes
        self.method = self.path = ""
        """Of the request whose head is coming, as soon as they are known."""
        self._scanned = self._fields = self._empty_lines = 0

    def read(self, buffer: bytearray) -> Head | None:
        """Take the head out of the buffer that begins there; None while it is not complete.

        Raises:
            ProtocolError: it is no head, or too large.
        """
        if not self._scanned and buffer.startswith((b"\r", b"\n")):
            while buffer.startswith(b"\r\n"):  # RFC 9112, section 2.2
                self._empty_lines += 1
                if self._empty_lines > MAX_EMPTY_LINES:
                    raise _no_http(
                        f"there are more than {MAX_EMPTY_LINES} empty lines in front of it"
                    )
                del buffer[:2]
            if buffer.startswith((b"\r", b"\n")) and buffer != b"\r":
                raise _no_http("an empty line in front of it must end with CR LF")
        if not buffer:
            return None
        found = _END_OF_HEAD.search(buffer, self._scanned)
        # the last two bytes may be a part of the head's end, which is no field's
        end = found.start() if found else max(self._scanned, len(buffer) - 2)
        self._fields += buffer.count(b"\n", self._scanned, end)
        self._scanned = end
        if not found or end > self.max_bytes or self._fields > MAX_FIELDS:
            self._note_start(buffer)
            self._check_size(buffer)
            return None
        raw = bytes(buffer[: found.end()])
        try:
            head = Head(raw)
        except ProtocolError:
            self._note_start(buffer)
            raise
        del buffer[: found.end()]
        self.method = self.path = ""
        self._scanned = self._fields = self._empty_lines = 0
        return head

    def _note_start(self, buffer: bytearray) -> None:
        """Look for method and path while they are there: what is wrong may be behind them."""
        if not self.path and (found := _START.match(buffer)):
            self.method, self.path = (part.decode("latin-1") for part in found.groups(b""))

    def _check_size(self, buffer: bytearray) -> None:
        too_large = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large"
        if self._fields > MAX_FIELDS:
            status, code = too_large
            message = f"the head has more than {MAX_FIELDS} fields"
        elif self._scanned > self.max_bytes:
            too_long = HTTPStatus.REQUEST_URI_TOO_LONG, "address_too_long"
            status, code = too_large if b"\n" in buffer[: self.max_bytes] else too_long
            message = f"address and header fields have more than {self.max_bytes} bytes"
        else:
            return
        raise ProtocolError(status, f"Invalid request: {message}", code)


def _no_http(reason: str) -> ProtocolError:
    message = f"Invalid request: it is not HTTP/1.1: {reason}"
    return ProtocolError(HTTPStatus.BAD_REQUEST, message, "invalid_http")
