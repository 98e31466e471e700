"""DeepL's dialect, as DeepL's clients use it."""

import pytest
from fastapi.testclient import TestClient

TEXT = "Der alte Hund schläft."


def test_translate_accepts_every_content_type(client: TestClient) -> None:
    expected = {
        "translations": [
            {
                "detected_source_language": "DE",
                "text": "The old dog sleeps.",
                "billed_characters": 22,
            }
        ]
    }
    fields = {"text": [TEXT], "target_lang": "EN-US", "source_lang": "DE"}
    one = {**fields, "text": TEXT}
    for answer in (
        client.post("/v2/translate", json=fields),
        client.post("/v2/translate", json={**one, "source_lang": "de", "target_lang": "en"}),
        client.post("/v2/translate", data=fields),
        client.get("/v2/translate", params=fields),
        client.post("/v2/translate", json={k: v for k, v in fields.items() if k != "source_lang"}),
    ):
        assert answer.status_code == 200, answer.text
        assert answer.json() == expected
        assert answer.headers["x-trace-id"]


def test_several_texts_are_translated_in_order(client: TestClient) -> None:
    texts = ["Das gute Kind wartet.", TEXT]
    answer = client.post("/v2/translate", data={"text": texts, "target_lang": "EN-GB"}).json()
    assert [one["text"] for one in answer["translations"]] == [
        "The good child waits.",
        "The old dog sleeps.",
    ]


@pytest.mark.parametrize(
    ("fields", "message", "code"),
    [
        (
            {"text": [TEXT], "target_lang": "XX"},
            "Value for 'target_lang' not supported, only DE, EN",
            "unsupported_language",
        ),
        (
            {"text": [TEXT], "target_lang": "EN", "source_lang": "QQ"},
            "Value for 'source_lang' not supported, only DE, EN",
            "unsupported_language",
        ),
        (
            {"text": [TEXT]},
            "Bad request. Reason: Value for 'target_lang' missing.",
            "missing_parameter",
        ),
        (
            {"target_lang": "EN"},
            "Bad request. Reason: Value for 'text' missing.",
            "missing_parameter",
        ),
        (
            {"text": [TEXT], "target_lang": "EN", "formality": "more"},
            "Target language 'EN' doesn't support formality.",
            "invalid_request",
        ),
    ],
)
def test_invalid_requests_are_refused(
    client: TestClient, fields: dict[str, object], message: str, code: str
) -> None:
    answer = client.post("/v2/translate", json=fields)
    assert (answer.status_code, answer.json()) == (400, {"message": message, "detail": code})


@pytest.mark.parametrize(
    ("field", "value", "limit"),
    [
        ("text", ["a"] * 2001, "2000 items"),
        ("target_lang", "-" * 4_000, "64 characters"),
        ("source_lang", "-" * 65, "64 characters"),
        ("auth_key", "k" * 257, "256 characters"),
        ("ignore_tags", ["a"] * 101, "100 items"),
        ("ignore_tags", "a," * 100, "100 items"),
        ("ignore_tags", ["a" * 65], "64 characters"),
    ],
)
def test_every_field_has_a_limit(client: TestClient, field: str, value: object, limit: str) -> None:
    answer = client.post("/v2/translate", json={"text": TEXT, "target_lang": "EN", field: value})
    said = answer.json()["message"]
    assert (answer.status_code, limit in said, len(said) < 250) == (400, True, True)
    assert said.startswith(f"Invalid request: {field}")


@pytest.mark.parametrize("path", ["/v2/languages", "/v2/usage"])
@pytest.mark.parametrize(
    "value", ["5", '["a"]', '"\\ud800"', f'"{"k" * 257}"'], ids=["int", "list", "half", "long"]
)
def test_an_invalid_type_of_key_is_refused(client: TestClient, path: str, value: str) -> None:
    answer = client.request("GET", path, content=f'{{"auth_key": {value}}}')
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("Invalid request: auth_key parameter ")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('"sideways"', "Value for 'type' not supported."),
        ("5", "Invalid request: type parameter must be a string, but is 5"),
    ],
)
def test_an_invalid_type_of_languages_is_refused(
    client: TestClient, value: str, message: str
) -> None:
    answer = client.request("GET", "/v2/languages", content=f'{{"type": {value}}}')
    assert (answer.status_code, answer.json()["message"]) == (400, message)


def test_options_without_effect_are_accepted(client: TestClient) -> None:
    fields = {"text": [TEXT], "target_lang": "EN", "context": "Pets.", "formality": "prefer_more"}
    more: dict[str, object] = {
        **{"show_billed_characters": True, "formality": None, "ignore_tags": None},
        **{"outline_detection": True, "splitting_tags": [], "non_splitting_tags": None},
    }
    answer = client.post("/v2/translate", json={**fields, **more})
    assert answer.status_code == 200
    assert "model_type_used" not in answer.json()["translations"][0]


@pytest.mark.parametrize(
    ("asked", "used"),
    [
        ("latency_optimized", "latency_optimized"),
        ("prefer_quality_optimized", "quality_optimized"),
    ],
)
def test_the_requested_model_type_is_returned(client: TestClient, asked: str, used: str) -> None:
    fields = {"text": [TEXT], "target_lang": "EN", "model_type": asked}
    answer = client.post("/v2/translate", json=fields).json()
    assert answer["translations"][0]["model_type_used"] == used


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("glossary_id", "a"),
        ("glossary_ids", ["a"]),
        ("style_id", "a"),
        ("translation_memory_id", "a"),
        ("custom_instructions", ["Be brief."]),
        ("splitting_tags", "p,br"),
        ("non_splitting_tags", ["b"]),
        ("outline_detection", False),
        ("outline_detection", "0"),
    ],
)
def test_unsupported_options_that_would_change_a_translation_are_refused(
    client: TestClient, name: str, value: object
) -> None:
    fields = {"text": [TEXT], "target_lang": "EN", name: value}
    answer = client.post("/v2/translate", json=fields)
    assert (answer.status_code, answer.json()["message"]) == (
        400,
        f"Value for '{name}' not supported.",
    )


@pytest.mark.parametrize("name", ["custom_instructions", "splitting_tags"])
def test_a_list_for_a_single_value_is_refused_in_a_form(client: TestClient, name: str) -> None:
    fields = {"text": TEXT, "target_lang": "EN", name: ["a", "b"]}
    answer = client.post("/v2/translate", data=fields)
    assert answer.json()["message"] == f"Value for '{name}' not supported."


@pytest.mark.parametrize("given", ["x,b", ["x", "b"], ["x,b"]])
def test_names_of_tags_may_be_in_one_field_or_several(client: TestClient, given: object) -> None:
    fields = {"text": "<x>Hund</x> <b>Hund</b>", "target_lang": "EN", "source_lang": "DE"}
    asked = {**fields, "tag_handling": "xml", "ignore_tags": given}
    for request in (
        client.post("/v2/translate", json=asked),
        client.post("/v2/translate", data=asked),
    ):
        assert request.json()["translations"][0]["text"] == "<x>Hund</x> <b>Hund</b>"


def test_a_text_of_a_list_that_is_too_long_is_named(client: TestClient) -> None:
    texts = ["Der Hund schläft.", "Hund " * 60, "Die Frau wartet."]
    fields = {"text": texts, "target_lang": "EN", "source_lang": "DE"}
    answer = client.post("/v2/translate", json=fields)
    assert answer.status_code == 413
    assert answer.json()["detail"] == "text_too_long"
    expected = "Invalid request: text 1: a sentence of 240 tokens exceeds the model's limit of 62: "
    assert answer.json()["message"].startswith(expected)


def test_a_text_of_a_list_that_is_too_deep_has_its_own_code(client: TestClient) -> None:
    fields = {"target_lang": "EN", "source_lang": "DE", "tag_handling": "html"}
    deep = "<b>" * 150 + "Hund" + "</b>" * 150
    for texts in ([deep], ["Hund", deep]):
        answer = client.post("/v2/translate", json={"text": texts, **fields})
        assert (answer.status_code, answer.json()["detail"]) == (400, "text_too_deep")


def test_a_text_of_which_no_translation_is_found_is_an_error_unless_the_answer_has_details(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.translation.sentence_translator.MAX_PIECES", 0)
    lost, half = "{a} {b} {c} {d} {e} {f} Hund.", "{a} {b} {c} {d} {e} {f} Hund. Die Katze singt."
    reason = "no translation was found that keeps all numbers and placeholders"
    error = f"Invalid request: text 1: {reason}"

    fields: dict[str, object] = {"target_lang": "EN", "source_lang": "DE"}
    answer = client.post("/v2/translate", json={"text": [half, lost], **fields})
    assert (answer.status_code, answer.json()) == (
        400,
        {"message": error, "detail": "not_translated"},
    )
    assert client.post("/v2/translate", json={"text": [half], **fields}).status_code == 200

    fields = {"q": [half, lost], "source": "de", "target": "en"}
    answer = client.post("/translate", json=fields, headers={"accept": "text/plain"})
    assert (answer.status_code, answer.json()) == (400, {"error": error, "code": "not_translated"})
    answer = client.post("/translate", json=fields)
    assert answer.json()["translatedText"][1] == lost
    assert answer.json()["details"][1][0]["problem"] == reason


def test_too_many_characters_get_413(client: TestClient) -> None:
    answer = client.post("/v2/translate", json={"text": ["a" * 2001], "target_lang": "EN"})
    assert answer.status_code == 413
    assert "exceeds text limit (2000)" in answer.json()["message"]


def test_split_sentences_is_supported(client: TestClient) -> None:
    text = "Der alte Hund\nschläft."
    fields = {"text": [text], "target_lang": "EN", "source_lang": "DE"}
    whole = client.post("/v2/translate", json={**fields, "split_sentences": "nonewlines"}).json()
    assert "\n" not in whole["translations"][0]["text"]
    assert whole["translations"][0]["text"].endswith(".")
    lines = client.post("/v2/translate", json={**fields, "split_sentences": "1"}).json()
    assert "\n" in lines["translations"][0]["text"]


def test_the_type_of_languages_may_be_in_query_or_body(client: TestClient) -> None:
    sources = client.get("/v2/languages").json()
    assert sources == [
        {"language": "DE", "name": "German"},
        {"language": "EN", "name": "English"},
    ]
    for request in (
        client.get("/v2/languages", params={"type": "target"}),
        client.request("GET", "/v2/languages", data={"type": "target"}),
        client.post("/v2/languages", data={"type": "target"}),
    ):
        assert [one["language"] for one in request.json()] == ["DE", "EN-GB", "EN-US"]
        assert {one["supports_formality"] for one in request.json()} == {False}


def test_languages_of_a_resource(client: TestClient) -> None:
    assert client.get("/v3/languages", params={"resource": "glossary"}).json() == []
    for fields, message in (
        ({}, "Bad request. Reason: Value for 'resource' missing."),
        ({"resource": "bogus"}, 'Invalid request: resource parameter must be "translate_text", '),
    ):
        answer = client.get("/v3/languages", params=fields)
        assert answer.status_code == 400
        assert answer.json()["message"].startswith(message)


def test_usage_counts_characters(fresh_client: TestClient) -> None:
    fresh_client.post("/v2/translate", json={"text": [TEXT, "x"], "target_lang": "EN"})
    usage = fresh_client.get("/v2/usage").json()
    assert fresh_client.post("/v2/usage").json() == usage
    assert usage["character_count"] == len(TEXT) + 1
    assert usage["character_limit"] > 10**9
