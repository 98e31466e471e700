"""Fields of forms, queries and JSON objects: valid, truncated, repeated and malicious."""

from functools import partial
from urllib.parse import parse_qs, urlencode

import httpx
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from service.api.forms import Fields, multipart, urlencoded
from service.errors import InvalidRequestError
from tests.growth import beyond_linear
from tests.service.api.toy_request import ENGLISH

FORM = "application/x-www-form-urlencoded"
PART = b'--b\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n'
WHOLE = PART % (b"q", b"Hund") + PART % (b"source", b"de") + b"--b--\r\n"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_forms_of_another_encoder_are_read(text: str) -> None:
    assert urlencoded(urlencode({"q": text}).encode(), "form") == {"q": text}
    request = httpx.Request("POST", "http://here", files=[("q", (None, text.encode()))])
    _, _, boundary = request.headers["content-type"].partition("boundary=")
    assert multipart(request.read(), boundary) == {"q": text}


@given(st.lists(st.sampled_from(["%", "%4", "%41", "%C3%BC", "%zz", "+", "x", "ü", "%25", "="])))
def test_a_percent_sign_without_digits_is_literal(pieces: list[str]) -> None:
    encoded = "q=x" + "".join(pieces)
    assert urlencoded(encoded.encode(), "form")["q"] == parse_qs(encoded)["q"][0]


@pytest.mark.parametrize("piece", [b"%", b"%%%4", b"%41", b"%41a"])
def test_a_form_of_percent_signs_takes_linear_time(piece: bytes) -> None:
    count = 262_144 // len(piece)
    read = partial(urlencoded, place="form")
    assert beyond_linear(read, lambda times: b"text=" + piece * times * count) == ""


def test_a_multipart_form_is_read_up_to_its_end() -> None:
    assert multipart(WHOLE, "b") == {"q": "Hund", "source": "de"}
    assert multipart(b"for people\r\n" + WHOLE + PART % (b"q", b"x"), "b") == {
        "q": "Hund",
        "source": "de",
    }
    assert multipart(WHOLE.replace(b"Hund", b"--b- \r\n-b--"), "b")["q"] == "--b- \r\n-b--"
    assert multipart(b"--b--", "b") == {}


@pytest.mark.parametrize("boundary", ["", "ü", "b" * 71])
def test_a_multipart_form_needs_a_valid_boundary(boundary: str) -> None:
    form = WHOLE.replace(b"--b", b"--" + boundary.encode())
    with pytest.raises(InvalidRequestError, match="has no valid boundary"):
        multipart(form, boundary)
    assert multipart(WHOLE.replace(b"--b", b"--" + b"b" * 70), "b" * 70) == multipart(WHOLE, "b")


def test_a_truncated_multipart_form_is_refused() -> None:
    for length in range(len(WHOLE) - 2):  # the line end after the last boundary is optional
        with pytest.raises(InvalidRequestError, match="boundary"):
            multipart(WHOLE[:length], "b")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"--b\r\n\r\nx\r\n--b--", "a part has no name"),
        (b"--b\r\nx\r\n--b--", "a part has no name"),
        (PART % (b'q"; filename*="a', b"") + b"--b--", "a part is a file"),
        (PART % (b"a", b"") * 4097 + b"--b--", "the form has 4097 fields, the limit is 4096"),
        (PART % (b"a" * 4096, b"") + b"--b--", "of a part have 4137 bytes, the limit is 4096"),
        (
            PART.replace(b"\r\n\r\n", b"\r\ncontent-type: text/plain; charset=utf-16\r\n\r\n")
            % (b"q", b"a")
            + b"--b--",
            "charset utf-16 is not supported",
        ),
        *(
            (PART.replace(b"\r\n\r\n", b"\r\n%b\r\n\r\n" % head) % (b"q", b"a") + b"--b--", message)
            for head, message in (
                (b"Content-Transfer-Encoding: Base64", "a part is encoded as base64"),
                (b"content-type: multipart/mixed; boundary=c", "a part has parts itself"),
                (b'content-disposition: form-data; name="a"', "content-disposition is given more"),
            )
        ),
        (PART % (b'q"; name="a', b"") + b"--b--", "name is given more than once"),
        (
            PART % (b"q\"; name*=utf-8''source; x=\"", b"") + b"--b--",
            "name is given more than once",
        ),
        (PART % (b'q"; Name*0="sou"; name*1="rce', b"") + b"--b--", "name is given more than once"),
        (PART % (b'q"; filename*0="a', b"") + b"--b--", "a part is a file"),
        *(
            (PART.replace(b"\r\n\r\n", head + b"\r\n\r\n") % (b"q", b"a") + b"--b--", message)
            for head, message in (
                (b"\nContent-Type: a/b", "has the invalid header field .*"),
                (b"\n", "has the invalid header field"),
                (b"\rX: y", "has the invalid header field"),
                (b"\0", "has the invalid header field"),
                (b'\r\n ; name="source"', "has the invalid header field"),
                (b"\r\nX : y", 'has the invalid header field "X : y"'),
                (b"\r\nno field", 'has the invalid header field "no field"'),
            )
        ),
        (WHOLE.replace(b"Hund", b"a\n--b\nX: y"), "follows a line feed without a carriage return"),
        (b"\n" + WHOLE, "its first boundary is not a line of its own"),
        (b"--b" + WHOLE, "its first boundary is not a line of its own"),
        (WHOLE.rstrip() + b"x\r\n", "does not end with its boundary"),
    ],
)
def test_invalid_parts_are_refused(body: bytes, message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        multipart(body, "b")


def test_non_empty_values_of_query_and_body_are_merged() -> None:
    query, body = Fields([("key", "a"), ("source", "")]), Fields([("key", None), ("source", "de")])
    assert query.beside(body) == body.beside(query) == {"key": "a", "source": "de"}
    assert not query.beside(body).repeated
    assert query.beside(query).repeated == "key"


TWICE = [
    ("/translate", "application/json", '{"source": "de", "source": "en", "q": "Hund"}', "source"),
    ("/translate", "application/json", '{"q": "Hund", "q": "Katze"}', "q"),
    ("/translate", "application/json", '{"q": "Hund", "a\\ud800": 1, "a\\ud800": 2}', r"a\ud800"),
    ("/translate?q=Katze", "application/json", '{"q": "Hund", "source": "de"}', "q"),
    ("/translate?q=Katze", "text/plain", "Hund", "q"),
    ("/translate?target=en&target=de", FORM, "q=Hund", "target"),
    ("/translate", FORM, "source=de&source=en&q=Hund", "source"),
    ("/v2/translate?target_lang=EN", FORM, "text=Hund&target_lang=DE", "target_lang"),
    ("/v2/usage?auth_key=a&auth_key=b", FORM, "", "auth_key"),
]


def test_repeated_fields_are_refused_except_lists_and_empty_values(client: TestClient) -> None:
    for path, kind, content, name in TWICE:
        answer = client.post(path, content=content, headers={"content-type": kind})
        message = f"Invalid request: {name} parameter is given more than once"
        assert (answer.status_code, message in answer.json().values()) == (400, True), answer.text
    once = "q=Der alte Hund schläft.&q=42&source=&source=de&target=en"
    for path, body in (
        ("/translate", once),
        ("/translate?source=de&api_key=", once.replace("&source=de", "&source=") + "&api_key=x"),
    ):
        answer = client.post(path, content=body, headers={"content-type": FORM})
        assert answer.json() == {"translatedText": [ENGLISH, "42"]}, path


def test_plain_text_is_translated_in_either_dialect(client: TestClient) -> None:
    kind = {"content-type": "text/plain; charset=UTF-8"}
    answer = client.post(
        "/v2/translate?target_lang=EN", content="Der alte Hund schläft.", headers=kind
    )
    assert answer.json()["translations"][0]["text"] == ENGLISH


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"q": "a\nb"}', "not valid JSON: Invalid control character at character 8"),
        ('{"q": "a', "not valid JSON: Unterminated string starting at character 6"),
        ('{"q": "a", "length_penalty": 1e999}', "is too large: 1e999"),
        ('{"q": "a", "other": NaN}', "not valid JSON: NaN is not a number"),
        ('{"q": "a", "other": {"deep": [Infinity]}}', "not valid JSON: Infinity is not a number"),
        ('{"q": "a", "other": -Infinity}', "not valid JSON: -Infinity is not a number"),
        ('{"q": "a", "length_penalty": "1_0"}', 'must be a number, but is "1_0"'),
        ('{"q": "a", "length_penalty": true}', "must be a number, but is true"),
        ('{"q": "a", "beam_size": "1_0"}', 'must be an integer, but is "1_0"'),
        ('{"q": "a", "beam_size": true}', "must be an integer, but is true"),
        ('{"q": "a", "no_repeat_ngram_size": " 5"}', 'must be an integer, but is " 5"'),
        ('{"q": "a", "alternatives": "+1"}', "alternatives parameter is not a number"),
        ('{"q": "a", "timeout_seconds": "05"}', 'must be a number, but is "05"'),
    ],
)
def test_error_messages_quote_json_as_it_was_written(
    client: TestClient, content: str, message: str
) -> None:
    answer = client.post("/translate", content=content)
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(message)


def test_other_character_encodings_are_refused(client: TestClient) -> None:
    for kind in (
        "application/json; charset=utf-7",
        "text/plain;Charset=ISO-8859-1",
        FORM + '; charset="UTF-16"',
    ):
        answer = client.post("/translate", content="{}", headers={"content-type": kind})
        assert answer.status_code == 400
        assert "is not supported; send UTF-8" in answer.json()["error"]
    for kind in ("application/json; charset=utf8", 'text/plain; charset="US-ASCII"'):
        answer = client.post("/translate", content="{}", headers={"content-type": kind})
        assert "charset" not in answer.text
