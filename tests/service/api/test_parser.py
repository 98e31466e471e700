"""Heads in pieces: what the parser does for each piece does not depend on what has come before."""

import time

import h11
import pytest

from service.api.parser import MAX_FIELDS, BoundedParser

HEAD = b"GET / HTTP/1.1\r\nhost: here\r\n"


def seconds_for_a_byte(behind: int) -> float:
    """Time for one more byte of a head of which so many have come: the shortest of several looks."""
    parser, durations = BoundedParser(1_000_000), []
    parser.receive_data(HEAD + b"a: " + b"b" * behind)
    parser.next_event()
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(20):
            parser.receive_data(b"b")
            assert parser.next_event() is h11.NEED_DATA
            assert parser.is_in_head
        durations.append(time.perf_counter() - start)
    return min(durations)


def test_a_byte_of_a_long_head_costs_as_much_as_one_of_a_short_head() -> None:
    assert seconds_for_a_byte(500_000) < 5 * seconds_for_a_byte(500)


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
@pytest.mark.parametrize("fields", [1, MAX_FIELDS, MAX_FIELDS + 1])
def test_fields_are_counted_alike_whatever_the_pieces(size: int, fields: int, end: bytes) -> None:
    head = b"POST / HTTP/1.1\n" + b"a:\n" * (fields - 2) + b"host: here\ncontent-length: 900\n"
    if fields == 1:
        head = b"GET / HTTP/1.1\nhost: here\n"
    sent = head.replace(b"\n", end) + end + b"\n" * 900  # a body is none of the head
    parser, events = BoundedParser(10_000), []
    try:
        for at in range(0, len(sent), size):
            parser.receive_data(sent[at : at + size])
            while (event := parser.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                events.append(event)
                if isinstance(event, h11.EndOfMessage):
                    break
    except h11.RemoteProtocolError:
        assert fields > MAX_FIELDS
        assert parser.refusal is not None
        assert parser.refusal[2] == "headers_too_large"
    else:
        assert fields <= MAX_FIELDS
        assert isinstance(events[0], h11.Request)
        assert len(events[0].headers) == fields
