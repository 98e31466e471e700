"""Language detection."""

from typing import Any

import pytest
from fastapi.testclient import TestClient


@pytest.mark.parametrize(
    ("text", "language"),
    [("Der alte Hund schläft heute.", "de"), ("The old dog sleeps today.", "en")],
)
def test_guesses_are_ordered_by_confidence(client: TestClient, text: str, language: str) -> None:
    ways: list[dict[str, Any]] = [{way: {"q": text}} for way in ("json", "data", "params")]
    for request in ways:
        guesses = client.post("/detect", **request).json()
        assert guesses[0]["language"] == language
        assert len(guesses) == 1  # the other one is too unlikely to be listed
        assert guesses[0]["confidence"] > 90
        assert isinstance(guesses[0]["confidence"], int)


def test_all_likely_languages_are_returned(client: TestClient) -> None:
    guesses = client.post("/detect", json={"q": "Ciao"}).json()
    assert {guess["language"] for guess in guesses} == {"de", "en"}
    assert guesses[0]["confidence"] >= guesses[1]["confidence"] >= 10


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Bonjour, comment allez-vous aujourd'hui ?", "fr"),
        ("Buongiorno a tutti, oggi è una bella giornata.", "it"),
        ("¿Dónde está la estación de trenes?", "es"),
        ("今日はとても良い天気ですね。", "ja"),
    ],
)
def test_a_language_that_no_model_has_is_named(
    client: TestClient, text: str, language: str
) -> None:
    [guess] = client.post("/detect", json={"q": text}).json()
    assert guess["unsupported"] == language
    assert guess["confidence"] < 50
    answer = client.post("/translate", json={"q": text, "source": "auto", "target": "en"}).json()
    assert answer["detectedLanguage"] == guess


@pytest.mark.parametrize("text", ["Der alte Hund schläft.", "Ciao", "42", ""])
def test_a_language_is_named_only_if_it_is_clear(client: TestClient, text: str) -> None:
    answer = client.post("/translate", json={"q": [text], "source": "auto", "target": "en"}).json()
    assert "unsupported" not in answer["detectedLanguage"][0]


def test_a_text_without_letters_has_confidence_0(client: TestClient) -> None:
    none = [{"confidence": 0, "language": "en"}]  # as LibreTranslate answers
    assert client.post("/detect", json={"q": "42"}).json() == none


def test_detection_needs_a_text(client: TestClient) -> None:
    for body in ({}, {"q": ""}):
        answer = client.post("/detect", json=body)
        assert answer.status_code == 400
        assert answer.json()["error"] == "Invalid request: missing q parameter"


def test_each_text_of_a_list_is_detected_separately(client: TestClient) -> None:
    texts = ["Der alte Hund schläft.", "The old woman waits.", "42"]
    answer = client.post("/translate", json={"q": texts, "source": "auto", "target": "en"}).json()
    assert answer["translatedText"] == ["The old dog sleeps.", "The old woman waits.", "42"]
    assert [one["language"] for one in answer["detectedLanguage"][:2]] == ["de", "en"]
    assert answer["detectedLanguage"][2]["confidence"] == 0


def test_the_language_of_markup_is_that_of_its_words(client: TestClient) -> None:
    html = (
        '<p class="the name of the house"><code>if the end is near</code> Das gute Kind wartet.</p>'
    )
    body = {"q": html, "source": "auto", "target": "en", "format": "html"}
    answer = client.post("/translate", json=body).json()
    assert answer["translatedText"] == html.replace("Das gute Kind wartet", "The good child waits")
    assert answer["detectedLanguage"]["language"] == "de"
    xml = "<the><house>This is the old house.</house> Das gute Kind wartet.</the>"
    deepl = {"text": [xml], "target_lang": "EN", "tag_handling": "xml", "ignore_tags": ["house"]}
    [translation] = client.post("/v2/translate", json=deepl).json()["translations"]
    assert translation["detected_source_language"] == "DE"
    assert translation["text"] == xml.replace("Das gute Kind wartet", "The good child waits")


def test_only_detected_languages_are_returned(client: TestClient) -> None:
    body = {"q": "Das gute Kind wartet.", "target": "en"}
    for source in ({"source": "auto"}, {}):
        answer = client.post("/translate", json={**body, **source}).json()
        assert answer["translatedText"] == "The good child waits."
        assert answer["detectedLanguage"]["language"] == "de"
    assert "detectedLanguage" not in client.post("/translate", json={**body, "source": "de"}).json()
