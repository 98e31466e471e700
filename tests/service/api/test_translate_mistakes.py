"""What POST /translate refuses: invalid fields, malformed bodies and values over a limit."""

import gzip
import re

import pytest
from fastapi.testclient import TestClient

from tests.service.api.toy_request import ENGLISH, SUPPORTED, TEXT

MISTAKES: list[tuple[dict[str, object], str, str]] = [
    ({}, "missing_parameter", r"^Invalid request: missing text \(or q\)$"),
    ({"q": ""}, "missing_parameter", r"^Invalid request: missing text \(or q\)$"),
    ({"q": []}, "missing_parameter", r"^Invalid request: missing text \(or q\)$"),
    ({"q": "a"}, "missing_parameter", "Invalid request: missing target parameter"),
    ({"q": "a", "text": "b"}, "invalid_request", "two names for the same parameter"),
    (
        {"q": "a", "source": "zz", "target": "en"},
        "unsupported_language",
        "^zz is not supported, only de, en, auto$",
    ),
    (
        {"q": "a", "source": "de", "target": "xx"},
        "unsupported_language",
        "^xx is not supported, only de, en$",
    ),
    (
        {"q": 5, **SUPPORTED},
        "invalid_request",
        "q parameter must be a string or a list of strings, but is 5",
    ),
    ({"q": ["a", 5], **SUPPORTED}, "invalid_request", "q.1 parameter must be a string, but is 5"),
    (
        {"q": "a", "format": "pdf", **SUPPORTED},
        "invalid_request",
        "pdf format is not supported, only text",
    ),
    (
        {"q": "a", **SUPPORTED, "alternatives": -1},
        "invalid_request",
        "alternatives parameter must be >= 0, but is -1",
    ),
    (
        {"q": "a", **SUPPORTED, "rerank": "perhaps"},
        "invalid_request",
        'rerank .* true or false, but is "perhaps"',
    ),
    ({"q": "a", **SUPPORTED, "rerank": {}}, "invalid_request", "true or false, but is {}"),
    ({"q": {"a": [None, True]}}, "invalid_request", r'but is {"a": \[null, true\]}'),
    (
        {"q": "a", **SUPPORTED, "beam_size": 2.5},
        "invalid_request",
        "must be an integer, but is 2.5",
    ),
    ({"q": "a", **SUPPORTED, "beam_size": "x"}, "invalid_request", 'an integer, but is "x"$'),
    ({"q": "a", **SUPPORTED, "alternatives": 8}, "limit_exceeded", r"must be <= 7 .*, but is 8"),
    ({"q": "a", **SUPPORTED, "beam_size": 9}, "limit_exceeded", "beam_size .* <= 8, but is 9"),
    ({"q": "a", **SUPPORTED, "beam_size": 2, "alternatives": 2}, "limit_exceeded", "must be <= 1"),
    ({"q": "ab" * 1001, **SUPPORTED}, "text_too_long", r"\(2002\) exceeds text limit \(2000\)"),
    (
        {"q": [*[""] * 1999, "ab"], **SUPPORTED},
        "text_too_long",
        r"\(2001\) exceeds text limit \(2000\)",
    ),
    ({"q": "Hund " * 60, **SUPPORTED}, "text_too_long", "tokens exceeds the model's limit of 62"),
]


@pytest.mark.parametrize(("body", "code", "message"), MISTAKES)
def test_invalid_requests_get_their_errors(
    client: TestClient, body: dict[str, object], code: str, message: str
) -> None:
    answer = client.post("/translate", json=body)
    assert answer.status_code == 400
    assert answer.json().keys() == {"error", "code"}
    assert answer.json()["code"] == code
    assert re.search(message, answer.json()["error"])
    after = client.post("/translate", json={"q": "Der alte Hund schläft.", "source": "de"})
    assert after.json() == {"translatedText": "The old dog sleeps."}


@pytest.mark.parametrize(
    ("field", "value", "limit"),
    [
        ("q", ["a"] * 2001, '2000 items, not 2001: ["a", "a", '),
        ("text", ["a"] * 2001, '2000 items, not 2001: ["a", "a", '),
        ("source", "-" * 4_000, '64 characters: "----'),
        ("target", "-" * 65, '64 characters: "----'),
        ("format", "h" * 17, '16 characters: "hhhh'),
        ("api_key", "k" * 257, '256 characters: "kkkk'),
        ("target_prefix", "T" * 1001, '1000 characters: "TTTT'),
        ("alternatives", 10**400, "must be <= 7 (one less than the beams), but is 1000000"),
        ("beam_size", 10**400, "must be <= 8, but is 1000000"),
        ("beam_size", "9" * 5000, 'fewer digits, but is "9999'),
        ("max_decoding_length", 10**400, "must be <= 128, but is 1000000"),
        ("no_repeat_ngram_size", 1001, "must be <= 1000, but is 1001"),
        ("length_penalty", "nan", 'must be a number, but is "nan"'),
        ("timeout_seconds", "inf", 'must be a number, but is "inf"'),
        ("timeout_seconds", 1e9, "must be <= 60, but is 1000000000"),
        ("timeout_seconds", 60.0000001, "must be <= 60, but is 60.0000001"),
        ("timeout_seconds", 10**400, "must be a number, but is 1000000"),
    ],
)
def test_every_field_has_a_limit(client: TestClient, field: str, value: object, limit: str) -> None:
    text = {} if field in ("q", "text") else {"q": "a"}
    answer = client.post("/translate", json={**text, **SUPPORTED, field: value})
    assert answer.status_code == 400
    said = answer.json()["error"]
    assert said.startswith(f"Invalid request: {field} parameter ")
    assert limit in said
    assert len(said) < 250


def test_the_maximum_number_of_texts_is_translated(client: TestClient) -> None:
    answer = client.post("/translate", json={"q": [","] * 2000, **SUPPORTED})
    assert answer.json() == {"translatedText": [","] * 2000}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"q": "a"', "not valid JSON: .* at character 9"),
        (b"[1]", "the body must be a JSON object"),
        (b"[" * 9000, "the JSON body is nested too deeply"),
        (
            b'{"q": "ab\\ud800", "source": "de"}',
            "q parameter has an unpaired surrogate at character 2",
        ),
        (
            b'{"q": "ab", "source": "\\ud800"}',
            r'source parameter has an unpaired surrogate.* "\\ud800"',
        ),
        (b'{"q": "\xff"}', "not valid UTF-8: invalid start byte at byte 7"),
        (
            gzip.compress(b'{"q": "Hallo"}', mtime=0),
            "the body is compressed by gzip, which is not supported",
        ),
        (b'{"q": "a", "alternatives": "x"}', "alternatives parameter is not a number"),
        (b'{"q": "a", "length_penalty": NaN}', "not valid JSON: NaN is not a number"),
        (b'{"q": ' + b"[" * 900 + b"]" * 900 + b"}", r"string, but is \[{57}\.\.\."),
        (b"", r"missing text \(or q\)"),
    ],
)
def test_invalid_json_is_reported_with_the_place(
    client: TestClient, content: bytes, message: str
) -> None:
    headers = {"content-type": "application/json"}
    answer = client.post("/translate", content=content, headers=headers)
    assert answer.status_code == 400
    assert re.search(message, answer.json()["error"])


@pytest.mark.parametrize(
    ("text", "quote"),
    [("%1$s " + "Hund " * 60, '"%1$s Hund Hund '), ("HUND " * 60, '"HUND HUND ')],
)
def test_a_sentence_that_is_too_long_is_quoted_as_written(
    client: TestClient, text: str, quote: str
) -> None:
    answer = client.post("/translate", json={"q": text, **SUPPORTED})
    assert answer.json()["code"] == "text_too_long"
    assert f"limit of 62: {quote}" in answer.json()["error"]


def test_null_is_absent_and_an_empty_language_is_missing(client: TestClient) -> None:
    fields = {"q": TEXT, "source": "de", "target": "en"}
    nulls = dict.fromkeys(("format", "alternatives", "api_key", "rerank", "target_prefix"))
    assert client.post("/translate", json={**fields, **nulls}).json()["translatedText"] == ENGLISH
    assert client.post("/translate", json={**fields, "format": ""}).status_code == 200
    for name in ("source", "target"):
        answer = client.post("/translate", json={**fields, name: ""})
        assert answer.status_code == 400
        assert answer.json()["error"] == f"Invalid request: missing {name} parameter"


def test_a_text_that_is_too_long_does_not_fail_the_others(client: TestClient) -> None:
    texts = ["Der Hund schläft.", "Hund " * 60, "Die Frau wartet."]
    alone = [
        client.post("/translate", json={"q": text, **SUPPORTED}).json()["translatedText"]
        for text in (texts[0], texts[2])
    ]
    answer = client.post("/translate", json={"q": texts, **SUPPORTED}).json()
    assert answer["translatedText"] == [alone[0], texts[1], alone[1]]
    [problem] = answer["details"][1]
    assert (problem["finish"], problem["target"]) == ("copied", texts[1])
    assert "tokens exceeds the model's limit of 62" in problem["problem"]
    assert not any("problem" in one for one in answer["details"][0])
    plain = client.post(
        "/translate", json={"q": texts, **SUPPORTED}, headers={"accept": "text/plain"}
    )
    assert plain.status_code == 400  # plain text has no place for the reason
    assert plain.json()["error"].startswith("Invalid request: text 1: a sentence of ")


def test_an_unknown_way_of_splitting_is_refused(client: TestClient) -> None:
    answer = client.post("/translate", json={"q": "a", "split_sentences": "2", **SUPPORTED})
    assert answer.status_code == 400
    assert "split_sentences" in answer.json()["error"]
