"""Translation through a third language gives what two separate requests give, and is reported."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.settings import Settings
from tests.conftest import TINY_BUNDLE, started
from tests.service.api.model_folder import add
from tests.service.models.breaking import file, setting

SENTENCES = ("Der alte Hund schläft.", "Die alte Frau wartet.", "Das Kind spielt.")
TEXTS = [
    *SENTENCES,
    " ".join(SENTENCES) + "\n\n" + SENTENCES[1],
    "Der alte Hund schläft 12 Stunden, die alte Frau %1$s.",
    "",
    "12",
]
HTML = "<p>Der <b>alte</b> Hund schläft.</p> <p>Die alte Frau wartet &amp; schläft.</p>"


@pytest.fixture(scope="module", params=["named", "folder"])
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestClient]:
    """Return a client of two models: German and English, and English and a copy of German named nl."""
    folder = tmp_path_factory.mktemp("bundles")
    options: dict[str, Any] = {"precision": "fp32", "device": "cpu", "num_workers": 1}
    if request.param == "named":
        options["bundle"] = (TINY_BUNDLE, add(folder, "nl"))
    else:
        options["bundles"] = folder
        add(folder, "de")
        add(folder, "nl")
    with started(Settings(**options)) as client:
        yield client


def translate(client: TestClient, text: Any, source: str, target: str, **more: Any) -> Any:
    body = {"q": text, "source": source, "target": target, **more}
    answer = client.post("/translate", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("form", ["text", "html"])
def test_a_pivoted_translation_equals_two_requests(client: TestClient, form: str) -> None:
    texts = [*TEXTS, HTML]
    english = translate(client, texts, "de", "en", format=form)["translatedText"]
    by_hand = translate(client, english, "en", "nl", format=form)["translatedText"]
    assert translate(client, texts, "de", "nl", format=form)["translatedText"] == by_hand
    assert by_hand[0] == SENTENCES[0]  # the third language is a copy of German


def test_details_have_the_intermediate_sentence(client: TestClient) -> None:
    text = " ".join(SENTENCES[:2])
    whole = translate(client, text, "de", "nl", return_scores=True, return_alignment=True)
    first = translate(client, text, "de", "en", return_scores=True)["details"][0]
    english = translate(client, text, "de", "en")["translatedText"]
    second = translate(client, english, "en", "nl", return_scores=True)["details"][0]
    for one, half, other in zip(whole["details"][0], first, second, strict=True):
        assert one["via"] == {"language": "en", "text": half["target"]}
        assert (one["source"], one["target"]) == (half["source"], other["target"])
        assert one["score"] == pytest.approx(half["score"] + other["score"])
        assert "alignment" not in one
    assert "via" not in first[0]


def test_a_stream_has_each_sentence_and_the_whole(client: TestClient) -> None:
    body = {"q": [SENTENCES[0], " ".join(SENTENCES[1:])], "source": "de", "target": "nl"}
    answer = client.post("/translate", json=body, headers={"accept": "text/event-stream"})
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line[:5] == "data:"]
    *segments, done = events
    assert sorted((one["text"], one["segment"], one["source"]) for one in segments) == [
        (0, 0, SENTENCES[0]),
        (1, 0, SENTENCES[1]),
        (1, 1, SENTENCES[2]),
    ]
    assert done["translatedText"] == translate(client, body["q"], "de", "nl")["translatedText"]


def test_a_detected_language_may_need_a_pivot(client: TestClient) -> None:
    text = "The old woman waits."
    assert "via" not in json.dumps(translate(client, text, "auto", "nl", return_scores=True))
    found = translate(client, SENTENCES[0], "auto", "nl", return_scores=True)
    assert found["detectedLanguage"]["language"] == "de"
    assert found["details"][0][0]["via"]["text"] == "The old dog sleeps."


def test_a_sentence_that_is_too_long_is_not_left_in_the_pivot_language(client: TestClient) -> None:
    long = "alte " * 80
    found = translate(client, [long, SENTENCES[0]], "de", "nl")
    assert found["translatedText"] == [
        long,
        translate(client, SENTENCES[0], "de", "nl")["translatedText"],
    ]
    assert "exceeds the model's limit" in found["details"][0][0]["problem"]
    assert translate(client, [long, long], "de", "nl")["translatedText"] == [long, long]


def test_branches_that_stay_untranslated_are_told(client: TestClient) -> None:
    found = translate(client, "Der alte {n, plural, other {Hund}} #1 schläft.", "de", "nl")
    assert found["details"][0][0]["problem"].startswith("the branches of ")


def test_prefix_and_alternatives_apply_to_the_second_model(client: TestClient) -> None:
    found = translate(client, SENTENCES[0], "de", "nl", alternatives=2, target_prefix="Die alte")
    assert found["translatedText"].startswith("Die alte")
    assert len(found["alternatives"]) <= 2
    english = translate(client, SENTENCES[0], "de", "en")["translatedText"]
    by_hand = translate(client, english, "en", "nl", alternatives=2, target_prefix="Die alte")
    assert found == by_hand


def test_languages_lists_pivoted_targets(client: TestClient) -> None:
    listed = {one["code"]: one for one in client.get("/languages").json()}
    assert listed["de"]["targets"] == ["en", "nl"]
    assert listed["de"]["via"] == {"nl": "en"}
    assert "via" not in listed["en"]


def test_the_first_model_can_be_unloaded_for_the_second(tmp_path: Path) -> None:
    """A request must release the first model before it waits for the second; otherwise it never ends."""
    for code in ("de", "nl"):
        add(tmp_path, code)
    settings = Settings(
        bundles=tmp_path, precision="fp32", device="cpu", num_workers=1, max_memory_mb=1
    )
    with started(settings) as client:
        assert translate(client, SENTENCES[0], "de", "nl")["translatedText"] == SENTENCES[0]
        told = client.get("/metrics").text
        assert 'attendant_model_unloads_total{reason="memory"} 0.0' not in told


@pytest.mark.parametrize("pivot", ["off", "fr"])
def test_pivoting_can_be_turned_off(tmp_path: Path, pivot: str) -> None:
    bundles = (TINY_BUNDLE, add(tmp_path, "nl"))
    settings = Settings(bundle=bundles, precision="fp32", device="cpu", num_workers=1, pivot=pivot)
    with started(settings) as client:
        body = {"q": SENTENCES[0], "source": "de", "target": "nl"}
        answer = client.post("/translate", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_language")
        assert [one["targets"] for one in client.get("/languages").json()] == [
            ["en"],
            ["de", "nl"],
            ["en"],
        ]


def test_a_memory_serves_both_halves(tmp_path: Path) -> None:
    for code in ("de", "nl"):
        table = file("memory.tsv", f"{code}\ten\nhallo {code}\thello\n".encode())
        folder = add(tmp_path, code)
        table(folder)
        setting("memory", "memory.tsv")(folder)
    options: dict[str, Any] = {"precision": "fp32", "device": "cpu", "num_workers": 1}
    with started(Settings(bundles=tmp_path, **options)) as client:
        text = f"Hallo de! {SENTENCES[0]}"
        answer = translate(client, text, "de", "nl", return_scores=True)
    assert answer["translatedText"] == f"Hallo nl! {SENTENCES[0]}"
    [[first, second]] = answer["details"]
    assert (first["finish"], second["finish"]) == ("memory", "end")
    assert first["via"] == {"language": "en", "text": "Hello!"}
