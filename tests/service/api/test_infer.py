"""The Open Inference Protocol's inference, with the bytes that its clients send and expect."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response

from service.api.dialects import translates
from service.settings import Settings
from tests.conftest import TINY_BUNDLE, started

INFER = "/v2/models/tiny/infer"
TEXTS = ["Der alte Hund schläft.", "Das gute Kind wartet."]
TRANSLATIONS = ["The old dog sleeps.", "The good child waits."]
GERMAN = {"source": "de", "target": "en"}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    settings = Settings(
        bundle=(TINY_BUNDLE,),
        precision="fp32",
        device="cpu",
        num_workers=1,
        max_text_characters=2000,
    )
    with started(settings) as client:
        yield client


def tensor(**changes: object) -> dict[str, object]:
    """Return a valid input, with some fields changed or, if None, left out."""
    fields = {"name": "text", "shape": [2], "datatype": "BYTES", "data": TEXTS, **changes}
    return {name: value for name, value in fields.items() if value is not None}


def asking(name: str) -> dict[str, object]:
    return {"name": "text", "parameters": {name: 1}}


def asked(**changes: object) -> dict[str, object]:
    return {"parameters": GERMAN, "inputs": [tensor()], **changes}


def test_texts_are_translated_in_order(client: TestClient) -> None:
    answer = client.post(INFER, json=asked(id="42"))
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "id": "42",
        "model_name": "tiny",
        "model_version": "1",
        "outputs": [{"name": "text", "shape": [2], "datatype": "BYTES", "data": TRANSLATIONS}],
    }
    assert answer.headers["content-type"] == "application/json"
    version = client.post("/v2/models/tiny/versions/1/infer", json=asked(id="42"))
    assert version.json() == answer.json()


@pytest.mark.parametrize(
    ("shape", "data"),
    [
        ([2, 1], [[TEXTS[0]], [TEXTS[1]]]),
        ([1, 2], [TEXTS]),
        ([2, 1], TEXTS),
        ([1, 1, 2], [[TEXTS]]),
    ],
)
def test_data_may_be_nested_or_flat_and_keep_their_shape(
    client: TestClient, shape: list[int], data: object
) -> None:
    answer = client.post(INFER, json=asked(inputs=[tensor(shape=shape, data=data)]))
    [output] = answer.json()["outputs"]
    assert (output["shape"], output["data"]) == (shape, TRANSLATIONS)


@pytest.mark.parametrize(
    ("shape", "data", "rows"),
    [([2, 2], [["a"], ["b", "c", "d"]], "rows of 2 elements"), ([2, 0], [["a"]], "rows of 0")],
)
def test_rows_have_the_length_that_the_shape_says(
    client: TestClient, shape: list[int], data: object, rows: str
) -> None:
    answer = client.post(INFER, json=asked(inputs=[tensor(shape=shape, data=data)]))
    assert answer.status_code == 400
    assert rows in answer.json()["error"]


def test_null_counts_as_absent(client: TestClient) -> None:
    tensor_with_nulls = {**tensor(), "parameters": None}
    nulls = {"parameters": {**GERMAN, "format": None}, "outputs": None, "id": None}
    answer = client.post(INFER, json=asked(**nulls, inputs=[tensor_with_nulls]))
    assert answer.json()["outputs"][0]["data"] == TRANSLATIONS
    none = client.post(INFER, json=asked(parameters=None))
    assert none.json()["error"] == "Invalid request: missing target parameter"


def test_parameters_are_the_fields_of_a_translation(client: TestClient) -> None:
    for parameters in ({"beam_size": 1}, {"format": "html"}, {"target_prefix": "The good"}, {}):
        fields = {"q": TEXTS, **GERMAN, **parameters}
        expected = client.post("/translate", json=fields).json()["translatedText"]
        answer = client.post(INFER, json=asked(parameters={**GERMAN, **parameters}))
        assert answer.json()["outputs"][0]["data"] == expected
    prefixed = client.post(INFER, json=asked(parameters={**GERMAN, "target_prefix": "The good"}))
    assert prefixed.json()["outputs"][0]["data"] != TRANSLATIONS
    detected = client.post(INFER, json=asked(parameters={"source": "auto", "target": "en"}))
    assert detected.json()["outputs"][0]["data"] == TRANSLATIONS


def test_an_empty_list_of_texts_is_answered(client: TestClient) -> None:
    answer = client.post(INFER, json=asked(inputs=[tensor(shape=[0], data=[])]))
    assert answer.json()["outputs"][0] == {
        "name": "text",
        "shape": [0],
        "datatype": "BYTES",
        "data": [],
    }


def test_a_text_that_is_too_long_is_named_and_others_are_translated(client: TestClient) -> None:
    texts = [TEXTS[0], "Hund" * 400]
    answer = client.post(INFER, json=asked(inputs=[tensor(data=texts)])).json()
    native = client.post("/translate", json={"q": texts, **GERMAN}).json()
    [problem] = [one["problem"] for one in native["details"][1]]
    assert answer["parameters"] == {"problem_1": problem}
    assert answer["outputs"][0]["data"] == [TRANSLATIONS[0], texts[1]]


def in_binary(
    client: TestClient, request: object, binary: bytes, length: object = None
) -> Response:
    """Send a request with bytes after its JSON; `length` replaces the length of the JSON."""
    head = json.dumps(request).encode()
    sent: Response = client.post(
        INFER,
        content=head + binary,
        headers={
            "content-type": "application/octet-stream",
            "Inference-Header-Content-Length": str(len(head) if length is None else length),
        },
    )
    return sent


# "Hund", "schläft": lengths in four bytes, little-endian, and UTF-8
BINARY = b"\x04\x00\x00\x00Hund\x08\x00\x00\x00schl\xc3\xa4ft"


def test_texts_in_binary_get_translations_in_binary(client: TestClient) -> None:
    expected = client.post("/translate", json={"q": ["Hund", "schläft"], **GERMAN}).json()
    first, second = (text.encode() for text in expected["translatedText"])
    one = tensor(data=None, parameters={"binary_data_size": len(BINARY)})
    for wanted in (
        {"parameters": {**GERMAN, "binary_data_output": True}},
        {"outputs": [{"name": "text", "parameters": {"binary_data": True}}]},
    ):
        answer = in_binary(client, asked(inputs=[one], **wanted), BINARY)
        assert answer.status_code == 200, answer.text
        length = int(answer.headers["inference-header-content-length"])
        head, binary = json.loads(answer.content[:length]), answer.content[length:]
        assert binary == (
            bytes([len(first), 0, 0, 0]) + first + bytes([len(second), 0, 0, 0]) + second
        )
        assert head["outputs"] == [
            {
                "name": "text",
                "shape": [2],
                "datatype": "BYTES",
                "parameters": {"binary_data_size": len(binary)},
            }
        ]
    for unwanted in (
        {},
        {"parameters": {**GERMAN, "binary_data_output": "false"}},
        {
            "parameters": {**GERMAN, "binary_data_output": True},
            "outputs": [{"name": "text", "parameters": {"binary_data": "false"}}],
        },
    ):
        answer = in_binary(client, asked(inputs=[one], **unwanted), BINARY)
        assert answer.json()["outputs"][0]["data"] == expected["translatedText"]


def test_two_lengths_of_the_json_are_refused(client: TestClient) -> None:
    fields = [("Inference-Header-Content-Length", length) for length in ("2", "1")]
    answer = client.post(INFER, content=b"{}", headers=fields)
    assert answer.status_code == 400
    assert answer.json()["error"].endswith("must be a length of at most 2 bytes, but is 2, 1")


@pytest.mark.parametrize(
    ("binary", "size", "length", "message"),
    [
        (BINARY, 19, None, "20 bytes follow the JSON, but binary_data_size is 19"),
        (BINARY, 20, 10**30, "Inference-Header-Content-Length must be a length of at most"),
        (BINARY, 20, "0" * 4301, "Inference-Header-Content-Length must be a length of at most"),
        (BINARY, 20, "0" * 19 + "118", "Inference-Header-Content-Length must be a length of at"),
        (BINARY, 20, "-1", "but is -1"),
        (BINARY, 20, 3, "the body is not valid JSON"),
        (BINARY[:-1], 19, None, "end within element 1, which begins at byte 8"),
        (b"\x00\x00", 2, None, "end within element 0, which begins at byte 0"),
        (b"\xff\xff\xff\xffHund", 8, None, "end within element 0"),
        (b"\x02\x00\x00\x00\xc3\xc3", 6, None, "not valid UTF-8: invalid continuation byte"),
        (b"\x00\x00\x00\x00" * 2001, 8004, None, "at most 2000 elements"),
    ],
)
def test_invalid_binary_data_are_refused(
    client: TestClient, binary: bytes, size: int, length: object, message: str
) -> None:
    one = tensor(data=None, parameters={"binary_data_size": size})
    answer = in_binary(client, asked(inputs=[one]), binary, length)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (asked(inputs=[tensor(name="q")]), 'name parameter must be "text", but is "q"'),
        (asked(inputs=[tensor(datatype="FP32")]), 'must be "BYTES", but is "FP32"'),
        (asked(inputs=[tensor(shape=[3])]), "shape [3] has 3 elements, but data has 2"),
        (asked(inputs=[tensor(shape=[2, 10**30])]), "shape.1 parameter must be"),
        (asked(inputs=[tensor(shape=[-1])]), "shape.0 parameter must be >= 0, but is -1"),
        (asked(inputs=[tensor(shape=[1] * 9)]), "shape parameter must have at most 8 items"),
        (asked(inputs=[tensor(shape=None)]), "shape parameter is invalid: Field required"),
        (asked(inputs=[tensor(data=None)]), "must have either data or binary_data_size"),
        (asked(inputs=[tensor(data=[1, 2])]), "text.0 parameter must be a string, but is 1"),
        (asked(inputs=[tensor(data=["a", ["b"]])]), "text.1 parameter must be a string"),
        (asked(inputs=[tensor(data=["a", "\ud800"])]), "an unpaired surrogate"),
        (asked(inputs=[tensor(), tensor()]), "must be a list of one tensor, text"),
        (asked(inputs=[]), "must be a list of one tensor, text"),
        (asked(inputs=["text"]), "must be a list of one tensor, text"),
        (asked(inputs=None), "must be a list of one tensor, text"),
        (asked(outputs=[{"name": "scores"}]), "no output is named scores, only text"),
        (asked(outputs=[asking("classification")]), "classification is not supported"),
        (asked(outputs=[asking("shared_memory_region")]), "memory_region is not supported"),
        (asked(outputs=[{"name": "\ud800"}]), "an unpaired surrogate"),
        (asked(id="\ud800"), "an unpaired surrogate"),
        (asked(parameters={"\ud800": []}), "\\ud800 parameter must be a string, a number"),
        (asked(id="i" * 257), "id parameter must have at most 256 characters"),
        (
            asked(parameters={**GERMAN, "beam_size": 50}),
            "beam_size parameter must be <= 8, but is 50",
        ),
        (asked(parameters={"beam_size": "x"}), "beam_size parameter must be an integer"),
        (
            asked(parameters={"format": ["html"]}),
            'format parameter must be a string, a number or a boolean, but is ["html"]',
        ),
        (
            asked(parameters={"a" * 3000: []}),
            "a... parameter must be a string, a number or a boolean, but is []",
        ),
        (asked(parameters={"source": "xx"}), "xx is not supported"),
        (asked(parameters={"alternatives": 1}), "alternatives parameter is not supported here"),
        (asked(parameters={"q": "Hund"}), "q parameter is not supported here"),
        (asked(parameters=5), "parameters parameter"),
        (
            asked(parameters={**GERMAN, "binary_data_output": "some"}),
            'binary_data_output parameter must be true or false, but is "some"',
        ),
        (
            asked(outputs=[{"name": "text", "parameters": {"binary_data": 2.5}}]),
            "binary_data parameter must be true or false, but is 2.5",
        ),
        ([], "must be a JSON object"),
        (asked(inputs=[tensor(shape=[1], data=["Hund " * 500])]), "exceeds text limit (2000)"),
    ],
)
def test_errors_have_the_shape_of_the_protocol(
    client: TestClient, request_: Any, message: str
) -> None:
    answer = client.post(INFER, content=json.dumps(request_))
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert message in error
    assert len(error) < 300


def test_a_repeated_field_is_refused(client: TestClient) -> None:
    body = json.dumps(asked(id="1")).replace("{", '{"id": "2", ', 1)
    nested = json.dumps(asked()).replace('"BYTES"', '"BYTES", "datatype": "BYTES"')
    for content in (body, nested):
        answer = client.post(INFER, content=content)
        assert (answer.status_code, "more than once" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize("path", ["/v2/models/none/infer", "/v2/models/tiny/versions/2/infer"])
def test_an_unknown_model_is_refused(client: TestClient, path: str) -> None:
    answer = client.post(path, json=asked())
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert answer.json()["error"].startswith("no ")


def test_a_length_in_digits_of_another_script_is_refused(client: TestClient) -> None:
    headers = {b"inference-header-content-length": b"\xb2"}  # a superscript two
    answer = client.post(INFER, content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_inference_may_be_refused_before_its_body_is_read() -> None:
    assert translates(INFER)
    assert translates("/v2/models/tiny/versions/1/infer")
    assert not translates("/v2/models/tiny/ready")


def test_the_binary_extension_is_announced(client: TestClient) -> None:
    assert client.get("/v2").json()["extensions"] == ["binary_tensor_data"]
    assert client.get("/v2/").json() == client.get("/v2").json()
