"""Heads are read as h11 reads them, in pieces of any size, and their limits apply."""

import time

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as some

from service.api.head import (
    MAX_EMPTY_LINES,
    MAX_FIELDS,
    MAX_TARGET_BYTES,
    Head,
    HeadReader,
    ProtocolError,
)

HEAD = b"GET / HTTP/1.1\r\nhost: here\r\n"


def read_by_h11(sent: bytes) -> h11.Request | None:
    """Return the request that h11 finds, by the exact grammar of RFC 9112; None if it refuses it."""
    oracle = h11.Connection(h11.SERVER)
    oracle.receive_data(sent)
    try:
        event = oracle.next_event()
    except h11.RemoteProtocolError:
        return None
    assert isinstance(event, h11.Request)
    return event


def read(sent: bytes) -> Head | None:
    try:
        return HeadReader(10_000).read(bytearray(sent))
    except ProtocolError:
        return None


def check_against_h11(sent: bytes) -> None:
    """Check that h11 accepts every head that we accept, and reads it in the same way."""
    head, expected = read(sent), read_by_h11(sent)
    if head is None:
        return
    assert expected is not None
    assert head.method.encode() == expected.method
    assert head.target == expected.target
    assert head.version.encode() == expected.http_version
    assert [(name, value.lower()) for name, value in head.headers] == [
        (name, value.lower()) for name, value in expected.headers
    ]


FIELDS = [
    b"a:",
    b"a: ",
    b"a:\tb \t",
    b"A-b_c: d e",
    b"a: \xe9\xff",
    b"a : b",
    b" a: b",
    b"a: b\r\n c",
    b"a",
    b": b",
    b"a: b\x00c",
    b"a: b\x7fc",
    b"a: b\x0bc",
    b"a: b\rc",
    b"a: b\nc: d",
    b"\xe9: b",
    b"a(b): c",
    b"host: there",
    b"content-length: 5",
    b"content-length: +5",
    b"content-length: 5, 5",
    b"content-length: 0x5",
    b"content-length: 99999999999999999999999",
    b"content-length: " + b"0" * 4301,
    b"content-length: " + b"0" * 19 + b"1",
    b"content-length:",
    b"transfer-encoding: chunked",
    b"Transfer-Encoding: CHUNKED",
    b"transfer-encoding: gzip, chunked",
    b"transfer-encoding: chunked, chunked",
    b"transfer-encoding: identity",
    b"transfer-encoding: xchunked",
    b"transfer-encoding:\x0bchunked",
    b"connection: close",
    b"connection: keep-alive, Upgrade",
    b"upgrade: h2c",
    b"expect: 100-continue",
]
STARTS = [
    b"GET / HTTP/1.1",
    b"POST /translate?q=a%20b HTTP/1.1",
    b"GET http://here/ HTTP/1.1",
    b"OPTIONS * HTTP/1.1",
    b"GET /#a HTTP/1.1",
    b"GET / HTTP/1.0",
    b"GET / HTTP/1.2",
    b"GET / HTTP/2.0",
    b"GET / HTTP/11",
    b"GET / http/1.1",
    b"GET  / HTTP/1.1",
    b"GET /a b HTTP/1.1",
    b"GET /\xc3\xa9 HTTP/1.1",
    b"GET /\x00 HTTP/1.1",
    b"GET /",
    b"get / HTTP/1.1",
    b"G\x00T / HTTP/1.1",
    b"PRI * HTTP/2.0",
    b" GET / HTTP/1.1",
    b"CONNECT here:80 HTTP/1.1",
    b"HTTP/1.1 200 OK",
]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("field", FIELDS)
def test_heads_are_read_like_by_h11(start: bytes, field: bytes) -> None:
    for host in (b"host: here\r\n", b""):
        check_against_h11(start + b"\r\n" + host + field + b"\r\n\r\n")


@given(some.lists(some.sampled_from([*FIELDS, b"", b"\r", b"\x00", b"x" * 50]), max_size=6))
def test_combinations_of_fields_are_read_like_by_h11(fields: list[bytes]) -> None:
    check_against_h11(b"\r\n".join([HEAD + b"b: c", *fields]) + b"\r\n\r\n")


def test_valid_heads_are_read() -> None:
    head = read(
        b"POST /translate?q=a HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\nEmpty:\r\n"
        b"Connection: keep-alive, Upgrade\r\nUpgrade: h2c\r\nExpect: 100-Continue\r\n\r\n"
    )
    assert head is not None
    assert (head.method, head.target, head.version) == ("POST", b"/translate?q=a", "1.1")
    assert (head.length, head.is_last, head.expects_continue) == (5, False, True)
    assert head.headers[:3] == [(b"host", b"here"), (b"content-length", b"5"), (b"empty", b"")]
    head = read(b"POST / HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n")
    assert head is not None
    assert head.length is None


@pytest.mark.parametrize(("path", "noted"), [("/a", "/a"), (f"/{'a' * 300}", "")])
def test_the_method_is_known_before_the_head_is_complete(path: str, noted: str) -> None:
    reader = HeadReader(10_000)
    for sent, method, known in (
        ("HE", "", ""),
        ("HEAD /", "HEAD", ""),
        (f"HEAD {path} ", "HEAD", noted),
    ):
        assert reader.read(bytearray(sent.encode())) is None
        assert (reader.method, reader.path) == (method, known)


@pytest.mark.parametrize(
    ("sent", "is_last"),
    [
        (HEAD, False),
        (HEAD + b"connection: close\r\n", True),
        (HEAD + b"connection: a, CLOSE\r\n", True),
        (HEAD + b"connection: a\r\nconnection: close\r\n", True),
        (HEAD + b"connection: closed\r\n", False),
        (b"GET / HTTP/1.0\r\nconnection: keep-alive\r\n", True),
    ],
)
def test_the_last_request_of_a_connection_is_recognised(sent: bytes, is_last: bool) -> None:
    head = read(sent + b"\r\n")
    assert head is not None
    assert head.is_last == is_last


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\nhost: here\n\n",  # bare line feeds, a way to smuggle requests
        b"GET / HTTP/1.1\r\n\r\n",
        HEAD + b"host: there\r\n\r\n",
        b"\n" + HEAD + b"\r\n",
        b"\r\n\n" + HEAD + b"\r\n",
        b"\r" + HEAD + b"\r\n",
        HEAD.replace(b" / ", b" /#a ") + b"\r\n",
        HEAD + b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n",
        HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n",
        HEAD + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
        HEAD + b"content-length: 3\r\ncontent-length: 4\r\n\r\n",
        HEAD.replace(b"1.1", b"1.0") + b"transfer-encoding: chunked\r\n\r\n",
        HEAD + b"content-type: text/plain\r\nContent-Type: application/json\r\n\r\n",
        HEAD + b"authorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n",
    ],
)
def test_ambiguous_heads_are_refused(sent: bytes) -> None:
    assert read(sent) is None


HOSTS = {
    b"here": True,
    b"HERE.example.:8000": True,
    b"127.0.0.1:80": True,
    b"a_b-c.d%20~!$&'()*+,;=": True,
    b"[::1]:8000": True,
    b"[v1.a:b]": True,
    b"here:": True,
    b"": False,
    b":80": False,
    b"a b": False,
    b"a\tb": False,
    b"here:http": False,
    b"here:80:80": False,
    b"a/b": False,
    b"somebody@here": False,
    b"a,b?c": False,
    b"[::1": False,
    b"::1": False,
    b"%2": False,
    b"h\xc3\xb6r": False,
    b"<here>": False,
}
"""Hosts, valid or not by RFC 9110, section 7.2, and RFC 3986, section 3.2.2."""


@pytest.mark.parametrize(("host", "is_valid"), HOSTS.items())
def test_host_must_be_a_name_or_an_address_with_an_optional_port(
    host: bytes, is_valid: bool
) -> None:
    for version in (b"1.1", b"1.0"):
        head = read(b"GET / HTTP/%b\r\nhost: %b\r\n\r\n" % (version, host))
        assert (head is not None) == is_valid
    if b" " not in host and b"\t" not in host and b"?" not in host and b"/" not in host:
        head = read(b"GET http://%b/a HTTP/1.1\r\nhost: here\r\n\r\n" % host)
        assert (head is not None) == is_valid


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_empty_lines_before_a_request_are_ignored_in_any_pieces(size: int) -> None:
    sent, reader, buffer, found = (
        b"\r\n\r\n\r\n" + HEAD + b"\r\n",
        HeadReader(100),
        bytearray(),
        None,
    )
    for at in range(0, len(sent), size):
        assert found is None
        buffer += sent[at : at + size]
        found = reader.read(buffer)
    assert found is not None


def test_expect_continue_is_ignored_in_http_1_0() -> None:
    head = read(b"POST / HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n")
    assert head is not None
    assert not head.expects_continue


def seconds_for_a_byte(behind: int) -> float:
    """Return the least CPU time for 20 more bytes of a head, one by one, after `behind` bytes."""
    reader, buffer, durations = HeadReader(1_000_000), bytearray(HEAD + b"a: " + b"b" * behind), []
    reader.read(buffer)
    for _ in range(20):
        start = time.thread_time()
        for _ in range(20):
            buffer += b"b"
            assert reader.read(buffer) is None
        durations.append(time.thread_time() - start)
    return min(durations)


def test_reading_a_head_takes_linear_time() -> None:
    assert seconds_for_a_byte(500_000) < 20 * seconds_for_a_byte(500)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
@pytest.mark.parametrize("fields", [1, MAX_FIELDS, MAX_FIELDS + 1])
def test_the_limit_of_fields_does_not_depend_on_pieces(size: int, fields: int) -> None:
    head = (
        b"POST / HTTP/1.1\r\n" + b"a:\r\n" * (fields - 2) + b"host: here\r\ncontent-length: 9\r\n"
    )
    if fields == 1:
        head = HEAD
    sent = head + b"\r\n" + b"\n" * 900  # the body does not count
    reader, buffer, found, refusal = HeadReader(10_000), bytearray(), None, ""
    for at in range(0, len(sent), size):
        buffer += sent[at : at + size]
        try:
            found = found or reader.read(buffer)
        except ProtocolError as error:
            refusal = error.code
            break
    assert refusal == ("headers_too_large" if fields > MAX_FIELDS else "")
    if not refusal:
        assert found is not None
        assert len(found.headers) == fields
        assert buffer == b"\n" * 900


def test_empty_lines_before_a_request_are_limited() -> None:
    reader, buffer = HeadReader(10_000), bytearray()
    for _ in range(3):  # the count starts again with each request
        buffer += b"\r\n" * MAX_EMPTY_LINES
        assert reader.read(buffer) is None
        buffer += HEAD + b"\r\n"
        assert reader.read(buffer) is not None
    buffer += b"\r\n" * MAX_EMPTY_LINES
    assert reader.read(buffer) is None
    buffer += b"\r\n"
    with pytest.raises(ProtocolError, match=f"more than {MAX_EMPTY_LINES} empty lines"):
        reader.read(buffer)


@pytest.mark.parametrize("path", ["/translate", "/v2/translate", "/detect", "/health/live", "/v2"])
def test_only_addresses_of_translations_may_be_long(path: str) -> None:
    for size in (MAX_TARGET_BYTES, MAX_TARGET_BYTES + 1):
        query = "?text=".ljust(size - len(path), "%")
        raw = f"GET {path}{query} HTTP/1.1\r\nhost: here\r\n\r\n".encode()
        if size <= MAX_TARGET_BYTES or path.endswith("/translate"):
            assert len(Head(raw).target) == size
        else:
            with pytest.raises(ProtocolError, match="4097 bytes, the limit for this path is 4096"):
                Head(raw)


def test_cookies_are_left_out() -> None:
    head = Head(HEAD + b'COOKIE: a="' + rb"\"" * 100 + b'"\r\nAccept: */*\r\n\r\n')
    assert head.headers == [(b"host", b"here"), (b"accept", b"*/*")]
