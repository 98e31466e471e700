"""POST /translate and GET /languages, with a model that knows a toy language."""

import gzip
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sentencepiece import SentencePieceProcessor

TEXT, ENGLISH = "Der alte Hund schläft.", "The old dog sleeps."


@pytest.mark.parametrize("name", ["text", "q"])
def test_a_text_for_a_text(client: TestClient, name: str) -> None:
    answer = client.post(
        "/translate", json={name: "Das gute Kind wartet.", "source": "de", "target": "en"}
    )
    assert answer.status_code == 200
    assert answer.json() == {"translatedText": "The good child waits."}


def test_a_list_for_a_list_in_its_order(client: TestClient) -> None:
    texts = ["Der alte Hund schläft.", "", "42", "Die alte Frau fällt dort."]
    answer = client.post("/translate", json={"q": texts, "source": "de", "target": "en"})
    assert answer.json() == {
        "translatedText": ["The old dog sleeps.", "", "42", "The old woman falls there."]
    }


def test_both_directions_of_one_model(client: TestClient) -> None:
    answer = client.post(
        "/translate", json={"q": "The old woman waits.", "source": "en", "target": "de"}
    )
    assert answer.json()["translatedText"] == "Die alte Frau wartet."


def test_the_layout_survives(client: TestClient) -> None:
    text = "\n  - Der alte Hund schläft.\r\n\n\t* Die kleine Katze singt heute.  \n"
    answer = client.post("/translate", json={"text": text, "source": "de"})
    expected = "\n  - The old dog sleeps.\r\n\n\t* The small cat sings today.  \n"
    assert answer.json()["translatedText"] == expected


def test_codes_may_be_left_out_where_they_are_clear(client: TestClient) -> None:
    for body in ({"source": "de"}, {"target": "en"}):
        answer = client.post("/translate", json={"text": "Der alte Hund schläft.", **body})
        assert answer.json()["translatedText"] == "The old dog sleeps."


def test_alternatives_and_scores_when_asked(client: TestClient) -> None:
    body = {"source": "de", "target": "en", "alternatives": 2, "return_scores": True}
    answer = client.post("/translate", json={"text": "Der alte Hund schläft.", **body}).json()
    assert answer["translatedText"] == "The old dog sleeps."
    assert 1 <= len(answer["alternatives"]) <= 2
    assert answer["translatedText"] not in answer["alternatives"]
    [[details]] = answer["details"]
    assert details["source"] == "Der alte Hund schläft."
    assert details["target"] == "The old dog sleeps."
    assert -3 < details["score"] < 0
    several = client.post("/translate", json={"text": ["Der alte Hund schläft."], **body}).json()
    assert several["alternatives"] == [answer["alternatives"]]


def test_options_reach_the_search(client: TestClient, tiny_bundle: Path) -> None:
    body = {"text": "Der alte Hund schläft.", "source": "de", "return_scores": True}
    plain, penalized, greedy = (
        client.post("/translate", json={**body, **options}).json()["details"][0][0]
        for options in ({"length_penalty": 0.0}, {"length_penalty": 2.0}, {"beam_size": 1})
    )
    pieces = SentencePieceProcessor(model_file=str(tiny_bundle / "sentencepiece.model"))
    length = len(pieces.encode(plain["target"])) + 1  # with EOS, as Wu et al. (2016) count
    assert penalized["target"] == plain["target"] == greedy["target"]
    assert penalized["score"] == pytest.approx(plain["score"] * (6 / (5 + length)) ** 2, abs=1e-4)


def test_a_region_is_taken_for_its_language(client: TestClient) -> None:
    body = {"q": "Der alte Hund schläft.", "source": "de-AT", "target": "EN_us"}
    assert client.post("/translate", json=body).json() == {"translatedText": "The old dog sleeps."}


SUPPORTED = {"source": "de", "target": "en"}
MISTAKES: list[tuple[dict[str, object], str, str]] = [
    ({}, "missing_parameter", "Invalid request: missing q parameter"),
    ({"q": ""}, "missing_parameter", "Invalid request: missing q parameter"),
    ({"q": []}, "missing_parameter", "Invalid request: missing q parameter"),
    ({"q": "a"}, "missing_parameter", "Invalid request: missing target parameter"),
    ({"q": "a", "text": "b"}, "invalid_request", "two names for the same parameter"),
    ({"q": "a", "source": "zz", "target": "en"}, "unsupported_language", "zz is not supported"),
    ({"q": "a", "source": "de", "target": "xx"}, "unsupported_language", "xx is not supported"),
    (
        {"q": 5, **SUPPORTED},
        "invalid_request",
        "q parameter must be a string or a list of strings, but is 5",
    ),
    ({"q": ["a", 5], **SUPPORTED}, "invalid_request", "q.1 parameter must be a string, but is 5"),
    ({"q": "a", "format": "pdf", **SUPPORTED}, "invalid_request", "pdf format is not supported"),
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
def test_every_mistake_has_its_answer(
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
        ("alternatives", 1001, "must be <= 1000, but is 1001"),
        ("beam_size", 10**400, "must be <= 1000, but is 1000000"),
        ("beam_size", "9" * 5000, 'fewer digits, but is "9999'),
        ("max_decoding_length", 10**18, "must be <= 1000000, but is 1000000"),
        ("no_repeat_ngram_size", 1001, "must be <= 1000, but is 1001"),
        ("length_penalty", "nan", 'must be a number, but is "nan"'),
        ("timeout_seconds", "inf", 'must be a number, but is "inf"'),
        ("timeout_seconds", 1e9, "must be <= 86400, but is 1000000000.0"),
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


def test_as_many_texts_as_may_be_are_translated(client: TestClient) -> None:
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
        (b'{"q": "a", "length_penalty": NaN}', "must be a finite number, but is NaN"),
        (b'{"q": ' + b"[" * 900 + b"]" * 900 + b"}", r"string, but is \[{57}\.\.\."),
        (b"", "missing q parameter"),
    ],
)
def test_a_broken_body_is_told_where(client: TestClient, content: bytes, message: str) -> None:
    headers = {"content-type": "application/json"}
    answer = client.post("/translate", content=content, headers=headers)
    assert answer.status_code == 400
    assert re.search(message, answer.json()["error"])


@pytest.mark.parametrize(
    ("text", "quote"),
    [("%1$s " + "Hund " * 60, '"%1$s Hund Hund '), ("HUND " * 60, '"HUND HUND ')],
)
def test_a_sentence_that_is_too_long_is_quoted_as_the_client_wrote_it(
    client: TestClient, text: str, quote: str
) -> None:
    answer = client.post("/translate", json={"q": text, **SUPPORTED})
    assert answer.json()["code"] == "text_too_long"
    assert f"limit of 62: {quote}" in answer.json()["error"]


HUND, DOG = "Der alte Hund schläft.", "The old dog sleeps."
FRAU, WOMAN = "Die alte Frau wartet.", "The old woman waits."


def test_a_byte_order_mark_is_none_of_the_text(client: TestClient) -> None:
    marked = "\ufeff".encode()
    for kind, content in (("application/json", f'{{"q": "{HUND}"}}'), ("text/plain", HUND)):
        answer = client.post(
            "/translate",
            params={"source": "de"},
            content=marked + content.encode(),
            headers={"content-type": kind},
        )
        assert answer.json() == {"translatedText": DOG}


def test_a_form_does_as_well(client: TestClient) -> None:
    answer = client.post("/translate", data={"q": HUND, "source": "de", "api_key": ""})
    assert answer.json() == {"translatedText": DOG}
    answer = client.post(
        "/translate", data={"q": [HUND, FRAU], "target": "en", "alternatives": "1"}
    )
    assert answer.json()["translatedText"] == [DOG, WOMAN]
    assert len(answer.json()["alternatives"]) == 2


def test_a_query_without_a_body_does_as_well(client: TestClient) -> None:
    answer = client.post("/translate", params={"q": HUND, "source": "de", "target": "en"})
    assert answer.json() == {"translatedText": DOG}


def test_plain_text_in_and_out_works_in_a_pipe(client: TestClient) -> None:
    headers = {"content-type": "text/plain; charset=utf-8", "accept": "text/plain"}
    answer = client.post(
        "/translate?source=de&target=en", content=f"{HUND}\n{FRAU}\n", headers=headers
    )
    assert answer.text == f"{DOG}\n{WOMAN}\n"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_other_content_types_are_refused_by_name(client: TestClient) -> None:
    answer = client.post("/translate", content=b"x", headers={"content-type": "image/png"})
    assert answer.status_code == 400
    assert "content-type image/png is not supported" in answer.json()["error"]


def test_languages(client: TestClient) -> None:
    assert client.get("/languages").json() == [
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": ["de"]},
    ]


def test_a_form_in_several_parts_is_read_as_browsers_send_it(client: TestClient) -> None:
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
def test_a_form_in_parts_that_cannot_be_read_is_told(
    client: TestClient, kind: str, body: bytes, message: str
) -> None:
    answer = client.post("/translate", content=body, headers={"content-type": kind})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert message in answer.json()["error"]


@pytest.mark.parametrize("path", ["/translate", "/v2/translate"])
def test_a_text_in_the_target_language_stays_as_it_is(client: TestClient, path: str) -> None:
    fields = {"text": "Good  morning!", "source": "en", "target": "en"}
    deepl = {"text": ["Good  morning!"], "source_lang": "EN", "target_lang": "EN-US"}
    answer = client.post(path, json=deepl if "v2" in path else fields).json()
    assert "Good  morning!" in str(answer)


def test_null_is_absent_and_an_empty_language_is_missing(client: TestClient) -> None:
    fields = {"q": TEXT, "source": "de", "target": "en"}
    nulls = dict.fromkeys(("format", "alternatives", "api_key", "rerank", "target_prefix"))
    assert client.post("/translate", json={**fields, **nulls}).json()["translatedText"] == ENGLISH
    assert client.post("/translate", json={**fields, "format": ""}).status_code == 200
    for name in ("source", "target"):
        answer = client.post("/translate", json={**fields, name: ""})
        assert answer.status_code == 400
        assert answer.json()["error"] == f"Invalid request: missing {name} parameter"


def test_one_of_several_texts_that_is_too_long_fails_none_of_the_others(client: TestClient) -> None:
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
    assert plain.status_code == 400  # there is no place to say why
    assert plain.json()["error"].startswith("Invalid request: text 1: a sentence of ")


@pytest.mark.parametrize(
    ("splitting", "sentences"), [("0", 1), (0, 1), ("1", 3), (1, 3), ("nonewlines", 2), (None, 3)]
)
def test_lines_are_sentences_unless_the_client_says_otherwise(
    client: TestClient, splitting: object, sentences: int
) -> None:
    asked = {"q": "Der Hund\nschläft. Die Frau wartet.", "return_scores": True, **SUPPORTED}
    answer = client.post("/translate", json={**asked, "split_sentences": splitting}).json()
    assert len(answer["details"][0]) == sentences


@pytest.mark.parametrize(("form", "sentences"), [("text", 2), ("html", 1)])
def test_a_blank_line_ends_a_paragraph_of_plain_text_only(
    client: TestClient, form: str, sentences: int
) -> None:
    asked = {"q": "Der Hund\n\nschläft.", "format": form, "split_sentences": "nonewlines"}
    answer = client.post("/translate", json={**asked, "return_scores": True, **SUPPORTED}).json()
    assert len(answer["details"][0]) == sentences


def test_there_are_three_ways_to_split(client: TestClient) -> None:
    answer = client.post("/translate", json={"q": "a", "split_sentences": "2", **SUPPORTED})
    assert answer.status_code == 400
    assert "split_sentences" in answer.json()["error"]
