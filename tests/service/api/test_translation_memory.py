"""The bundled translation memory over HTTP: what people type first is translated as people would."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.settings import Settings
from tests.check_phrases import is_right, phrases
from tests.conftest import started

MIN_RIGHT = 180
"""Minimum number of right translations among the 200 everyday phrases of a language."""


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with started(Settings(device="cpu", num_workers=1)) as client:
        yield client


def translate(client: TestClient, text: Any, source: str, **more: Any) -> dict[str, Any]:
    body = {"q": text, "source": source, "target": "en" if source == "de" else "de", **more}
    answer = client.post("/translate", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("de", "Sehr geehrte Damen und Herren,", "Dear Sir or Madam,"),
        ("de", "Mit freundlichen Grüßen", "Yours sincerely"),
        ("de", "Mit freundlichen Grüssen", "Yours sincerely"),
        ("de", "Willkommen", "Welcome"),
        ("de", "Suche", "Search"),
        ("de", "BITTE NICHT BERÜHREN!", "PLEASE DO NOT TOUCH!"),
        ("de", "(Sonntag)", "(Sunday)"),
        ("de", "„Prost!“", '"Cheers!"'),
        ("de", "Walnuss", "Walnut"),
        ("de", "walnuss", "walnut"),
        ("de", "Eimer", "Bucket"),
        ("en", "Bucket", "Eimer"),
        ("en", "BUCKET", "EIMER"),
        ("en", "Slow!", "Langsam!"),
        ("en", "Cheers!", "Prost!"),
        ("en", "cheers", "prost"),
        ("en", "CHEERS", "PROST"),
        ("en", "Submit", "Absenden"),
        ("en", "Hello world", "Hallo Welt"),
        ("en", "Merry Christmas!", "Frohe Weihnachten!"),
        ("en", "Happy birthday!", "Alles Gute zum Geburtstag!"),
        ("en", "Terms and Conditions", "Allgemeine Geschäftsbedingungen"),
        ("en", "Best regards,", "Mit freundlichen Grüßen,"),
        ("en", "Don’t worry!", "Keine Sorge!"),
        ("en", "No.", "Nein."),
        ("en", "Loading…", "Wird geladen…"),
        ("en", "1. Settings", "1. Einstellungen"),
        (
            "en",
            "# Settings\n\n- Save\n- **Cancel**",
            "# Einstellungen\n\n- Speichern\n- **Abbrechen**",
        ),
        ("en", "# HTTP API", "# HTTP API"),
    ],
)
def test_a_segment_that_stands_alone_is_translated_from_memory(
    client: TestClient, source: str, text: str, expected: str
) -> None:
    assert translate(client, text, source)["translatedText"] == expected


def test_a_segment_in_an_element_keeps_its_tags(client: TestClient) -> None:
    given = "<h1>Willkommen</h1><ul><li><b>Montag</b></li></ul><table><td>Ja</td></table>"
    found = translate(client, given, "de", format="html")["translatedText"]
    expected = "<h1>Welcome</h1><ul><li><b>Monday</b></li></ul><table><td>Yes</td></table>"
    assert found == expected


def test_a_day_of_the_week_is_translated_in_a_sentence(client: TestClient) -> None:
    given = "<li>Party am 5. Juni <i>(Sonntag)</i></li>"
    found = translate(client, given, "de", format="html")["translatedText"]
    assert found.endswith("<i>(Sunday)</i></li>")


@pytest.mark.parametrize("source", ["de", "en"])
def test_everyday_phrases_are_right(client: TestClient, source: str) -> None:
    asked = [phrase for phrase in phrases() if phrase.source == source]
    found = translate(client, [phrase.text for phrase in asked], source)["translatedText"]
    assert len(asked) >= 200
    assert sum(map(is_right, asked, found)) >= MIN_RIGHT


def test_details_say_that_a_sentence_is_from_memory(client: TestClient) -> None:
    text = "Hello world. The dog sleeps."
    [[first, second]] = translate(client, text, "en", return_scores=True)["details"]
    assert first == {
        "source": "Hello world.", "target": "Hallo Welt.", "score": 0.0, "finish": "memory"
    }  # fmt: skip
    assert second["finish"] == "end"


def test_a_sentence_from_memory_is_aligned(client: TestClient) -> None:
    [[detail]] = translate(client, "Cheers!", "en", return_alignment=True)["details"]
    assert (detail["sourceTokens"], detail["targetTokens"]) == (["Cheers", "!"], ["Prost", "!"])
    assert detail["finish"] == "memory"


def test_alternatives_to_a_sentence_from_memory_are_searched(client: TestClient) -> None:
    answer = translate(client, "Cheers!", "en", alternatives=2)
    assert answer["translatedText"] == "Prost!"
    assert len(answer["alternatives"]) == 2
    assert "Prost!" not in answer["alternatives"]


@pytest.mark.parametrize("more", [{"target_prefix": "Auf"}, {"max_decoding_length": 5}])
def test_a_limited_translation_is_searched(client: TestClient, more: dict[str, Any]) -> None:
    answer = translate(client, "Cheers!", "en", return_scores=True, **more)
    [[detail]] = answer["details"]
    assert detail["finish"] != "memory"
    assert answer["translatedText"].startswith(more.get("target_prefix", ""))


def test_sentences_from_memory_are_streamed(client: TestClient) -> None:
    body = {"q": "Hello world. Cheers!", "source": "en", "target": "de"}
    answer = client.post("/translate", json=body, headers={"accept": "text/event-stream"})
    events = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    *sentences, whole = map(json.loads, events)
    assert {one["target"] for one in sentences} == {"Hallo Welt.", "Prost!"}
    assert whole == {"translatedText": "Hallo Welt. Prost!"}
