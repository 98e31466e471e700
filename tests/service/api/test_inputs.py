"""Bodies of every type, and queries."""

import asyncio
import json
import sys
import threading
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi import Request
from fastapi.testclient import TestClient
from pydantic import BaseModel, ValidationError

from service.api import client_state, inputs
from service.api.client_state import ClientState
from service.api.deepl import schemas as deepl
from service.api.forms import urlencoded
from service.api.inference import infer
from service.api.inference.tensors import InputTensor
from service.api.native import schemas as native
from service.errors import InvalidRequestError
from tests.service.api.toy_request import ENGLISH, TEXT

FRAU, WOMAN = "Die alte Frau wartet.", "The old woman waits."


def test_a_byte_order_mark_is_ignored(client: TestClient) -> None:
    marked = "\ufeff".encode()
    for kind, content in (("application/json", f'{{"q": "{TEXT}"}}'), ("text/plain", TEXT)):
        answer = client.post(
            "/translate",
            params={"source": "de"},
            content=marked + content.encode(),
            headers={"content-type": kind},
        )
        assert answer.json() == {"translatedText": ENGLISH}


def test_forms_are_accepted(client: TestClient) -> None:
    answer = client.post("/translate", data={"q": TEXT, "source": "de", "api_key": ""})
    assert answer.json() == {"translatedText": ENGLISH}
    answer = client.post(
        "/translate", data={"q": [TEXT, FRAU], "target": "en", "alternatives": "1"}
    )
    assert answer.json()["translatedText"] == [ENGLISH, WOMAN]
    assert len(answer.json()["alternatives"]) == 2


def test_a_query_without_a_body_is_accepted(client: TestClient) -> None:
    answer = client.post("/translate", params={"q": TEXT, "source": "de", "target": "en"})
    assert answer.json() == {"translatedText": ENGLISH}


def test_plain_text_in_and_out_works_in_a_pipe(client: TestClient) -> None:
    headers = {"content-type": "text/plain; charset=utf-8", "accept": "text/plain"}
    answer = client.post(
        "/translate?source=de&target=en", content=f"{TEXT}\n{FRAU}\n", headers=headers
    )
    assert answer.text == f"{ENGLISH}\n{WOMAN}\n"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_other_content_types_are_refused_by_name(client: TestClient) -> None:
    answer = client.post("/translate", content=b"x", headers={"content-type": "image/png"})
    assert answer.status_code == 400
    assert "content-type image/png is not supported" in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/translate", '{"q": "Hund & Katze", "target": "en"}'),
        ("/detect", '{"q": "Hund"}\n'),
        ("/v2/translate", '{"text": ["Hund"], "target_lang": "EN"}'),
    ],
)
def test_json_that_is_declared_to_be_a_form_is_refused_with_the_cure(
    client: TestClient, path: str, body: str
) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}  # curl -d sends it by default
    answer = client.post(path, content=body, headers=headers)
    assert answer.status_code == 400
    assert (
        "the body is JSON, but its content-type is application/x-www-form-urlencoded; "
        "send it with the header content-type: application/json"
    ) in answer.text


def test_multipart_forms_of_browsers_are_read(client: TestClient) -> None:
    parts = {"source": (None, "de"), "target": (None, "en"), "format": (None, "")}
    one = client.post("/translate", files={"q": (None, TEXT), **parts})
    assert one.json() == {"translatedText": ENGLISH}
    several = [("q", (None, TEXT)), ("q", (None, "42")), *parts.items()]
    assert client.post("/translate", files=several).json() == {"translatedText": [ENGLISH, "42"]}


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        ("multipart/form-data", b"--b--\r\n", "the content-type has no valid boundary"),
        ("multipart/form-data; boundary=b", b"no part", "cannot be read"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\ncontent-disposition: form-data; name="q"; filename="a"\r\n\r\nx\r\n--b--\r\n',
            "a part is a file",
        ),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\ncontent-disposition: form-data; name="q"\r\n\r\n\xff\r\n--b--\r\n',
            "not valid UTF-8",
        ),
    ],
)
def test_an_invalid_multipart_form_is_refused(
    client: TestClient, kind: str, body: bytes, message: str
) -> None:
    answer = client.post("/translate", content=body, headers={"content-type": kind})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert message in answer.json()["error"]


@pytest.mark.parametrize("place", ["form", "query"])
def test_forms_with_too_many_fields_or_without_text_are_refused(
    client: TestClient, place: str
) -> None:
    for sent, message in (("a&" * 4096, "has 4097 fields, the limit is 4096"), ("q=%ff", "UTF-8")):
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = (
            client.post("/translate", content=sent, headers=kind)
            if place == "form"
            else client.post(f"/translate?{sent}")
        )
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
        assert f"the {place} " in answer.json()["error"]
        assert message in answer.json()["error"]


def test_a_body_of_many_objects_takes_little_memory() -> None:
    body = '{"q":"Hund","source":"de","target":"en","x":[' + ",".join(["{}"] * 100_000) + "]}"
    fields = asyncio.run(inputs.json_fields(Request({"type": "http"}), body.encode()))
    assert {type(one) for one in fields["x"]} == {dict}
    assert sys.getsizeof(fields["x"][0]) <= 64


@pytest.mark.parametrize("size", [10, 2 * inputs.PARSED_ON_LOOP_BYTES])
@pytest.mark.parametrize("content", ['{"q": "%s"}', "[%s"])
def test_a_body_counts_until_it_is_parsed(size: int, content: str) -> None:
    events: list[str] = []
    scope = {"type": "http", "release_body": lambda: events.append("released")}
    with suppress(InvalidRequestError):
        body = (content % ("a" * size)).encode()
        asyncio.run(inputs.json_fields(Request(scope), body))
    assert events == ["released"]


def test_the_wait_for_the_parser_counts_for_the_deadline() -> None:
    async def run() -> float:
        client = ClientState()
        request = Request({"type": "http", client_state.KEY: client})
        async with inputs._QUEUE.turn(1):
            body = json.dumps({"q": "a" * inputs.PARSED_ON_LOOP_BYTES}).encode()
            fields = asyncio.create_task(inputs.json_fields(request, body))
            await asyncio.sleep(0.05)
            assert not fields.done()
        await fields
        return client.seconds_in_line

    assert asyncio.run(run()) >= 0.04


def test_a_large_body_is_parsed_outside_the_event_loop(client: TestClient) -> None:
    text = "Der alte Hund schläft. " * 60
    body = urlencode({"q": text, "source": "de", "target": "en"})
    assert 1_000 < len(body) < inputs.PARSED_ON_LOOP_BYTES
    kind = {"content-type": "application/x-www-form-urlencoded"}
    threads: list[str] = []

    def watched(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.current_thread().name)
        return urlencoded(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "urlencoded", watched)
        client.post("/translate", content=body, headers=kind)
        assert not threads[-1].startswith("parser")
        patch.setattr(inputs, "PARSED_ON_LOOP_BYTES", 1000)
        client.post("/translate", content=body, headers=kind)
        assert threads[-1].startswith("parser")


@pytest.mark.parametrize(
    "model",
    [
        deepl.TranslateRequest,
        deepl.UsageRequest,
        infer.InferRequest,
        infer.Texts,
        InputTensor,
        native.DetectRequest,
        native.TranslateRequest,
    ],
)
@pytest.mark.parametrize("wrong", [[], {}, 1.5, "x", None, "\ud800"])
def test_few_errors_are_collected_of_many(model: type[BaseModel], wrong: object) -> None:
    many = 1_000
    unknown: dict[str, object] = {str(number): wrong for number in range(many)}
    assert num_errors(model, unknown) < 20
    for name in model.model_fields:
        assert num_errors(model, {name: [wrong] * many}) < 20, name
        assert num_errors(model, {name: unknown}) < 20, name


def num_errors(model: type[BaseModel], fields: dict[str, object]) -> int:
    try:
        model.model_validate(fields)
    except ValidationError as error:
        return error.error_count()
    except InvalidRequestError:
        return 1
    return 0


def test_a_target_prefix_is_in_no_cache() -> None:
    first, second = (
        native.TranslateRequest.model_validate({"q": "Hund", "target_prefix": "dog"}).options()
        for _ in range(2)
    )
    assert first == second
    assert first is not second
