"""POST /translate and GET /languages, with a model of a toy language."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sentencepiece import SentencePieceProcessor

from tests.service.api.toy_request import SUPPORTED


@pytest.mark.parametrize("name", ["text", "q"])
def test_a_text_returns_a_text(client: TestClient, name: str) -> None:
    answer = client.post(
        "/translate", json={name: "Das gute Kind wartet.", "source": "de", "target": "en"}
    )
    assert answer.status_code == 200
    assert answer.json() == {"translatedText": "The good child waits."}


def test_a_list_returns_a_list_in_order(client: TestClient) -> None:
    texts = ["Der alte Hund schläft.", "", "42", "Die alte Frau fällt dort."]
    answer = client.post("/translate", json={"q": texts, "source": "de", "target": "en"})
    assert answer.json() == {
        "translatedText": ["The old dog sleeps.", "", "42", "The old woman falls there."]
    }


def test_both_directions_of_a_model_work(client: TestClient) -> None:
    answer = client.post(
        "/translate", json={"q": "The old woman waits.", "source": "en", "target": "de"}
    )
    assert answer.json()["translatedText"] == "Die alte Frau wartet."


def test_the_layout_is_preserved(client: TestClient) -> None:
    text = "\n  - Der alte Hund schläft.\r\n\n\t* Die kleine Katze singt heute.  \n"
    answer = client.post("/translate", json={"text": text, "source": "de"})
    expected = "\n  - The old dog sleeps.\r\n\n\t* The small cat sings today.  \n"
    assert answer.json()["translatedText"] == expected


def test_languages_may_be_omitted_if_they_are_unambiguous(client: TestClient) -> None:
    for body in ({"source": "de"}, {"target": "en"}):
        answer = client.post("/translate", json={"text": "Der alte Hund schläft.", **body})
        assert answer.json()["translatedText"] == "The old dog sleeps."


def test_alternatives_and_scores_are_returned_on_request(client: TestClient) -> None:
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


def test_a_code_with_a_region_matches_its_language(client: TestClient) -> None:
    body = {"q": "Der alte Hund schläft.", "source": "de-AT", "target": "EN_us"}
    assert client.post("/translate", json=body).json() == {"translatedText": "The old dog sleeps."}


def test_languages_lists_sources_and_targets(client: TestClient) -> None:
    assert client.get("/languages").json() == [
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": ["de"]},
    ]


@pytest.mark.parametrize("path", ["/translate", "/v2/translate"])
def test_a_text_in_the_target_language_is_returned_unchanged(client: TestClient, path: str) -> None:
    fields = {"text": "Good  morning!", "source": "en", "target": "en"}
    deepl = {"text": ["Good  morning!"], "source_lang": "EN", "target_lang": "EN-US"}
    answer = client.post(path, json=deepl if "v2" in path else fields).json()
    assert "Good  morning!" in str(answer)


@pytest.mark.parametrize(
    ("splitting", "sentences"), [("0", 1), (0, 1), ("1", 3), (1, 3), ("nonewlines", 2), (None, 3)]
)
def test_lines_are_separate_sentences_by_default(
    client: TestClient, splitting: object, sentences: int
) -> None:
    asked = {"q": "Der Hund\nschläft. Die Frau wartet.", "return_scores": True, **SUPPORTED}
    answer = client.post("/translate", json={**asked, "split_sentences": splitting}).json()
    assert len(answer["details"][0]) == sentences


def test_line_breaks_within_a_sentence_become_spaces(client: TestClient) -> None:
    for text, splitting in (
        ("Der alte\nHund schläft.\n", "nonewlines"),
        ("Der\r\n\r\nalte\nHund\nschläft.\n", "0"),
    ):
        answer = client.post(
            "/translate", json={"q": text, "split_sentences": splitting, **SUPPORTED}
        )
        assert answer.json() == {"translatedText": "The old dog sleeps.\n"}


@pytest.mark.parametrize(("form", "sentences"), [("text", 2), ("html", 1)])
def test_an_empty_line_ends_a_paragraph_of_plain_text_only(
    client: TestClient, form: str, sentences: int
) -> None:
    asked = {"q": "Der Hund\n\nschläft.", "format": form, "split_sentences": "nonewlines"}
    answer = client.post("/translate", json={**asked, "return_scores": True, **SUPPORTED}).json()
    assert len(answer["details"][0]) == sentences
