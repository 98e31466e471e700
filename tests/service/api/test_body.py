"""Bodies are read as h11 reads them, and nothing after their end is consumed."""

import h11
import pytest

from service.api.body import MAX_CHUNKS, MAX_FRAMING_BYTES, ChunkedBody, SizedBody
from service.api.head import ProtocolError

CHUNKED = b"POST / HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n"


def taken(body: SizedBody | ChunkedBody, sent: bytes, size: int) -> tuple[bytes, bytes]:
    """Return the body found in `sent`, which arrives in pieces of `size` bytes, and the rest."""
    found, buffer = b"", bytearray()
    for at in range(0, len(sent), size):
        buffer += sent[at : at + size]
        if not body.is_complete:
            found += body.take(buffer)
    return found, bytes(buffer)


def by_h11(sent: bytes) -> bytes | None:
    """Return the content that h11 finds in a chunked body; None if it refuses the body."""
    oracle, found = h11.Connection(h11.SERVER), b""
    oracle.receive_data(CHUNKED + sent)
    try:
        while not isinstance(event := oracle.next_event(), h11.EndOfMessage):
            assert event is not h11.NEED_DATA
            found += event.data if isinstance(event, h11.Data) else b""
    except h11.RemoteProtocolError:
        return None
    return found


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_body_with_a_length_leaves_the_following_bytes(size: int) -> None:
    assert taken(SizedBody(5), b"texts and more", size) == (b"texts", b" and more")
    assert SizedBody(0).is_complete


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize(
    "sent",
    [
        b"0\r\n\r\n",
        b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
        b"A\r\n0123456789\r\n0\r\n\r\n",
        b"2;a=b\r\nab\r\n0\r\nx: y\r\n\r\n",
        b"4\r\n\r\n\r\n\r\n0\r\n\r\n",
    ],
)
def test_a_chunked_body_may_arrive_in_any_pieces(sent: bytes, size: int) -> None:
    for rest in (b"", b"GET / HTTP/1.1\r\nhost: here\r\n\r\n", b"nonsense\r\n"):
        body = ChunkedBody()
        assert taken(body, sent + rest, size) == (by_h11(sent), rest)
        assert body.is_complete


@pytest.mark.parametrize(
    "sent",
    [
        *(b"x", b"-1\r\n", b"0x1\r\n", b"\r\n", b"1 \r\n", b"1;\0\r\n", b"1;\r\r\n"),
        *(b"2\r\nabc", b"2\r\nab\n", b"2\nab\n", b"fffffffffffffffff\r\n"),
        *(
            b"0\r\n\n",
            b"0\r\na\r\n",
            b"0\r\n: b\r\n",
            b"0\r\na : b\r\n",
            b"0\r\na: \rb\r\n",
            b"0\r\n b: c\r\n",
        ),
    ],
)
def test_invalid_chunks_are_refused(sent: bytes) -> None:
    with pytest.raises(ProtocolError) as error:
        ChunkedBody().take(bytearray(sent))
    assert error.value.code == "invalid_http"


@pytest.mark.parametrize(
    "sent",
    [
        b"1\r\na\r\n" * (MAX_CHUNKS + 1),
        b"1;" + b"a" * (MAX_FRAMING_BYTES + 10),
        b"0\r\n" + b"a:\r\n" * MAX_CHUNKS,
        b"0\r\na: " + b"b" * (MAX_FRAMING_BYTES + 10),
    ],
)
def test_the_overhead_of_a_chunked_body_is_limited(sent: bytes) -> None:
    body = ChunkedBody()
    with pytest.raises(ProtocolError) as error:
        taken(body, sent, 1000)
    assert error.value.code == "too_many_chunks"
