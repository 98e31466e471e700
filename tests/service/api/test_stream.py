"""Sentences as server-sent events."""

import json

from fastapi.testclient import TestClient

STREAM = {"accept": "text/event-stream"}
TEXTS = ["Der alte Hund schläft. Das gute Kind wartet.", "42", "Die alte Frau fällt dort."]


def events(text: str) -> list[tuple[str, dict[str, object]]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_every_sentence_once_and_then_the_whole(client: TestClient) -> None:
    body = {"q": TEXTS, "source": "auto", "target": "en"}
    answer = client.post("/translate", json=body, headers=STREAM)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-accel-buffering"] == "no"
    *segments, (last, whole) = events(answer.text)
    assert {name for name, _ in segments} == {"segment"}
    assert sorted((one["text"], one["segment"], one["target"]) for _, one in segments) == [
        (0, 0, "The old dog sleeps."),
        (0, 1, "The good child waits."),
        (2, 0, "The old woman falls there."),
    ]
    assert last == "done"
    assert whole == client.post("/translate", json=body).json()


def test_a_mistake_is_told_by_its_status(client: TestClient) -> None:
    answer = client.post(
        "/translate", json={"q": "a", "source": "zz", "target": "en"}, headers=STREAM
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_language")


def test_nothing_to_translate_is_done_at_once(client: TestClient) -> None:
    answer = client.post("/translate", json={"q": "42", "source": "de"}, headers=STREAM)
    assert events(answer.text) == [("done", {"translatedText": "42"})]
