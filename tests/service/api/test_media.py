"""What a body is, and what its answer may be."""

import pytest
from fastapi.testclient import TestClient

from service.api.media import parse_value, preferred
from tests.growth import beyond_linear

JSON, PLAIN, EVENTS = OFFERS = "application/json", "text/plain", "text/event-stream"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("image/png", JSON),
        ("TEXT/PLAIN", PLAIN),
        ("text/plain; charset=utf-8", PLAIN),
        ("text/plain, application/json;q=0.5", PLAIN),
        ("text/plain;q=0.5, application/json", JSON),
        ("application/json, text/plain, */*", JSON),  # axios
        ("application/json, text/event-stream", JSON),  # clients of MCP
        ("Text/Event-Stream ; q=1", EVENTS),
        ("text/event-stream, */*", EVENTS),
        ("text/*", PLAIN),
        ("text/*, text/plain;q=0", EVENTS),
        ("text/plain;q=0, */*;q=0", JSON),
        ("text/plain;q=0", JSON),
        ("text/plain;q=2, text/event-stream;q=x", JSON),
        (",;,/;q=0.1,, text/plain", PLAIN),
    ],
)
def test_accept_is_read_as_http_says(accept: str, expected: str) -> None:
    assert preferred(accept, OFFERS) == expected


def test_the_answer_is_what_was_asked_for(client: TestClient) -> None:
    fields = {"q": "Der alte Hund schläft.", "source": "de", "target": "en"}
    for accept, kind in (
        ("TEXT/PLAIN, application/json;q=0.5", PLAIN),
        ("text/event-stream; charset=utf-8", EVENTS),
        ("application/json, text/plain, */*", JSON),
    ):
        answer = client.post("/translate", json=fields, headers={"accept": accept})
        assert answer.headers["content-type"].partition(";")[0] == kind
        assert "The old dog sleeps." in answer.text


def test_parameters_are_read_as_they_are_quoted() -> None:
    value = r'Multipart/Form-Data; a="x; name=\"y\""; NAME=z;name=w; b ; c='
    assert parse_value(value) == (
        "multipart/form-data",
        {"a": 'x; name="y"', "name": "z", "c": ""},
    )


@pytest.mark.parametrize("piece", ['"', ";", ';a="', ";a=\\", '";"', ' ;a="\\', "; ", "a", ";a"])
def test_a_hostile_header_takes_time_in_proportion(piece: str) -> None:
    length = 16_384 // len(piece)
    assert beyond_linear(parse_value, lambda times: 'a;b="' + piece * times * length) == ""
