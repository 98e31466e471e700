"""Request heads: found in the received bytes, limited in size, and parsed by llhttp, Node's parser."""

import re
from http import HTTPStatus

import httptools

from service.errors import quoted

MAX_FIELDS = 256
"""Limit on a request's header fields; browsers behind several proxies send a quarter as many."""
MAX_TARGET_BYTES = 4096
"""Limit on a target that has no texts in its query: longer ones would only cost time."""
MAX_EMPTY_LINES = 16
"""Limit on the empty lines before a request; some clients send one after a body."""
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_START = re.compile(rb"(\S{1,40}+) (?:([^\s?]{1,200}+)[\s?])?")
_WITH_TEXTS = (b"/translate", b"/v2/translate")
_CHUNKED = b"chunked"
_SINGLE = (b"host", b"transfer-encoding", b"content-type", b"authorization")
"""Fields that must not be repeated: a proxy may have used the other value."""
MAX_DIGITS = 19
"""Digits of a length in a header field; Python refuses to read numbers of thousands."""
_HOST = re.compile(
    rb"""
    (?: (?: [\w.~!$&'()*+,;=-] | %[0-9A-Fa-f]{2} )++  # a name or IPv4 address
      | \[[\w.~!$&'()*+,;=:-]++\]                    # an IPv6 address
    )
    (?: :\d*+ )?
    """,
    re.VERBOSE,
)
"""A name or address with an optional port (RFC 9110, section 7.2); not empty (section 4.2.1)."""
_ABSOLUTE = re.compile(rb"https?://([^/?]*+)", re.IGNORECASE)


class ProtocolError(Exception):
    """The received bytes are not valid HTTP/1.1, or exceed a limit, as may the number of connections."""

    def __init__(self, status: HTTPStatus, message: str, code: str) -> None:
        """Describe the answer that the client gets."""
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class Head:
    """Method, target and fields of a request, with their consequences for its body and the connection."""

    def __init__(self, raw: bytes) -> None:
        """Parse a complete head, including its final empty line.

        Raises:
            ProtocolError: the head is not valid HTTP/1.1, or is ambiguous (RFC 9112, sections 3.2 and 6.3),
                or its target is too long.
        """
        self.target = b""
        self.headers: list[tuple[bytes, bytes]] = []
        """The fields, with lower-case names, as in ASGI."""
        parser = httptools.HttpRequestParser(self)
        # accepts all versions: unsupported ones are refused later, with a clearer message
        parser.set_dangerous_leniencies(lenient_version=True)
        try:
            parser.feed_data(raw)
        except httptools.HttpParserUpgrade:
            pass  # offers to upgrade are ignored; Java's HttpClient makes one in every request
        except httptools.HttpParserError as error:
            raise _invalid_http(str(error)) from None
        self.method = parser.get_method().decode("ascii")
        self.version = parser.get_http_version()
        start = b"%b %b HTTP/%b\r\n" % (parser.get_method(), self.target, self.version.encode())
        if not raw.startswith(start):  # llhttp also accepts more spaces, or no version
            raise _invalid_http("its first line is not METHOD TARGET HTTP/VERSION")
        self._interpret(dict(self.headers))

    def _interpret(self, fields: dict[bytes, bytes]) -> None:
        if len(fields) < len(self.headers):
            for name in _SINGLE:
                if len(self._values(name)) > 1:
                    raise _invalid_http(f"it has more than one {name.decode().title()}")
        self._check_hosts(fields.get(b"host"))
        size = len(self.target)
        if size > MAX_TARGET_BYTES and self.target.partition(b"?")[0] not in _WITH_TEXTS:
            message = f"the address has {size} bytes, the limit for this path is {MAX_TARGET_BYTES}"
            raise ProtocolError(
                HTTPStatus.REQUEST_URI_TOO_LONG, f"Invalid request: {message}", "address_too_long"
            )
        if b"#" in self.target:
            raise _invalid_http("its target has a fragment")
        encoding = fields.get(b"transfer-encoding")
        if encoding is not None and (encoding.lower() != _CHUNKED or self.version == "1.0"):
            raise _invalid_http("Transfer-Encoding must be chunked, and is not allowed in HTTP/1.0")
        length = fields.get(b"content-length", b"0")
        if len(length) > MAX_DIGITS:
            raise _invalid_http(f"its Content-Length has more than {MAX_DIGITS} digits")
        self.length = None if encoding else int(length)
        """Length of the body in bytes; None if it is sent in chunks."""
        self.has_body = self.length != 0
        self.expects_continue = (
            self.version != "1.0" and fields.get(b"expect", b"").lower() == b"100-continue"
        )
        """Whether the client waits for `100 Continue` before it sends its body."""
        self.is_last = (
            self.version == "1.0"
            or self.method == "CONNECT"
            or (b"connection" in fields and self._says_close())
        )
        """Whether the connection is closed after the answer."""

    def _check_hosts(self, host_field: bytes | None) -> None:
        """Refuse a missing or invalid host, which a proxy may have interpreted differently."""
        if host_field is None and self.version != "1.0":
            raise _invalid_http("it has no Host")
        hosts = [] if host_field is None else [host_field]
        if absolute := _ABSOLUTE.match(self.target):
            hosts.append(absolute[1])
        for host in hosts:
            if not _HOST.fullmatch(host):
                raise _invalid_http(f"{quoted(host.decode('latin-1'))} is not a valid host")

    def _values(self, name: bytes) -> list[bytes]:
        return [value for field, value in self.headers if field == name]

    def _says_close(self) -> bool:
        return any(
            b"close" in [option.strip().lower() for option in value.split(b",")]
            for value in self._values(b"connection")
        )

    def on_url(self, part: bytes) -> None:
        """Append a part of the target; called by the parser."""
        self.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a field, unless it is a cookie; called by the parser.

        Nothing needs cookies, but FastAPI reads them, and Python below 3.11.10 slowly (CVE-2024-7592).
        """
        if (lower := name.lower()) != b"cookie":
            self.headers.append((lower, value.rstrip(b" \t")))


class HeadReader:
    """Finds heads in the received bytes, scanning each byte only once."""

    def __init__(self, max_bytes: int) -> None:
        """Accept heads of up to `max_bytes` bytes."""
        self.max_bytes = max_bytes
        self.method = self.path = ""
        """Method and path of an incomplete or invalid head, once they are known."""
        self._scanned = self._fields = self._empty_lines = 0

    def read(self, buffer: bytearray) -> Head | None:
        """Remove a complete head from the start of the buffer, and return it; None while it is incomplete.

        Raises:
            ProtocolError: the head is invalid or too large.
        """
        if not self._scanned and buffer.startswith((b"\r", b"\n")):
            while buffer.startswith(b"\r\n"):  # RFC 9112, section 2.2
                self._empty_lines += 1
                if self._empty_lines > MAX_EMPTY_LINES:
                    raise _invalid_http(
                        f"there are more than {MAX_EMPTY_LINES} empty lines before it"
                    )
                del buffer[:2]
            if buffer.startswith((b"\r", b"\n")) and buffer != b"\r":
                raise _invalid_http("an empty line before it must end with CR LF")
        if not buffer:
            return None
        end_of_head = _END_OF_HEAD.search(buffer, self._scanned)
        # the last two bytes may be part of the head's end, and do not count as a field
        end = end_of_head.start() if end_of_head else max(self._scanned, len(buffer) - 2)
        self._fields += buffer.count(b"\n", self._scanned, end)
        self._scanned = end
        if not end_of_head or end > self.max_bytes or self._fields > MAX_FIELDS:
            self._note_start(buffer)
            self._check_size(buffer)
            return None
        raw = bytes(buffer[: end_of_head.end()])
        try:
            head = Head(raw)
        except ProtocolError:
            self._note_start(buffer)
            raise
        del buffer[: end_of_head.end()]
        self.method = self.path = ""
        self._scanned = self._fields = self._empty_lines = 0
        return head

    def _note_start(self, buffer: bytearray) -> None:
        """Record the method and path, if the buffer begins with them: the error may be after them."""
        if not self.path and (start := _START.match(buffer)):
            self.method, self.path = (part.decode("latin-1") for part in start.groups(b""))

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


def _invalid_http(reason: str) -> ProtocolError:
    message = f"Invalid request: it is not HTTP/1.1: {reason}"
    return ProtocolError(HTTPStatus.BAD_REQUEST, message, "invalid_http")
