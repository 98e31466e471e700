"""Content types of bodies, and preferences for answers."""

import json
from contextlib import suppress

import pytest
from fastapi.testclient import TestClient

from service.api.media import parse_value, preferred
from service.errors import InvalidRequestError
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
def test_accept_is_read_by_the_rules_of_http(accept: str, expected: str) -> None:
    assert preferred(accept, OFFERS) == expected


def test_the_answer_has_the_requested_type(client: TestClient) -> None:
    fields = {"q": "Der alte Hund schläft.", "source": "de", "target": "en"}
    for accept, kind in (
        ("TEXT/PLAIN, application/json;q=0.5", PLAIN),
        ("text/event-stream; charset=utf-8", EVENTS),
        ("application/json, text/plain, */*", JSON),
    ):
        answer = client.post("/translate", json=fields, headers={"accept": accept})
        assert answer.headers["content-type"].partition(";")[0] == kind
        assert "The old dog sleeps." in answer.text


def test_quoted_parameters_are_read() -> None:
    value = r'Multipart/Form-Data; a="x; name=\"y\""; NAME=z; b ; c='
    assert parse_value(value) == (
        "multipart/form-data",
        {"a": 'x; name="y"', "name": "z", "c": ""},
    )


def test_a_repeated_parameter_is_refused_or_ignored() -> None:
    with pytest.raises(
        InvalidRequestError, match="Boundary is given more than once in a; boundary"
    ):
        parse_value("a; boundary=x; Boundary=y")
    assert preferred("text/plain;q=1;q=0, text/event-stream;q=0.1", OFFERS) == EVENTS


@pytest.mark.parametrize("coding", ["", "utf-8", "Identity, identity"])
def test_the_identity_coding_is_accepted(client: TestClient, coding: str) -> None:
    headers = {"content-encoding": coding, "content-type": JSON}
    body = json.dumps({"q": "ja", "source": "de", "target": "en"})
    assert client.post("/translate", content=body, headers=headers).status_code == 200


def test_a_parameter_may_be_repeated_but_not_contradict_itself() -> None:
    assert parse_value("a/b; charset=utf-8; Charset=utf-8") == ("a/b", {"charset": "utf-8"})
    with pytest.raises(InvalidRequestError, match="charset is given more than once in a/b;"):
        parse_value(" a/b; charset=utf-8; charset=latin-1")


@pytest.mark.parametrize("coding", ["br", "GZIP", "deflate, gzip", "identity, gzip"])
@pytest.mark.parametrize(
    "path", ["/translate", "/detect", "/v2/translate", "/v2/models/tiny/infer"]
)
def test_a_body_declared_to_be_compressed_is_refused(
    client: TestClient, path: str, coding: str
) -> None:
    headers = {"content-encoding": coding, "content-type": JSON}
    answer = client.post(path, content="{}", headers=headers)
    assert answer.status_code == 400
    assert f"content-encoding {coding} is not supported" in answer.text


@pytest.mark.parametrize("piece", ['"', ";", ';a="', ";a=\\", '";"', ' ;a="\\', "; ", "a", ";a"])
def test_a_hostile_header_takes_linear_time(piece: str) -> None:
    length = 16_384 // len(piece)

    def parse(value: str) -> None:
        with suppress(InvalidRequestError):
            parse_value(value)

    assert beyond_linear(parse, lambda times: 'a;b="' + piece * times * length) == ""


@pytest.mark.parametrize("name", ["accept", "content-type", "content-encoding"])
@pytest.mark.parametrize("unit", [",", ";a=", "a;q=1,"])
def test_a_long_field_is_refused_without_reading_its_parts(
    client: TestClient, name: str, unit: str
) -> None:
    fields = {"content-type": "text/plain", name: unit * 10_000}
    answer = client.post("/translate?source=de&target=en", content="Hund", headers=fields)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    characters = 10_000 * len(unit)
    assert f"has {characters} characters, the limit is 2048: {unit}" in answer.json()["error"]
