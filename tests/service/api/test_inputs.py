"""Forms and queries as they come."""

import threading
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient

from service.api import inputs
from service.api.forms import urlencoded


@pytest.mark.parametrize("place", ["form", "query"])
def test_forms_of_too_many_fields_and_of_no_text_are_refused(
    client: TestClient, place: str
) -> None:
    for sent, message in (("a&" * 4096, "has 4097 fields, the limit is 4096"), ("q=%ff", "UTF-8")):
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = (
            client.post("/translate", content=sent, headers=kind)
            if place == "form"
            else client.post(f"/translate?{sent}")
        )
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
        assert f"the {place} " in answer.json()["error"]
        assert message in answer.json()["error"]


def test_a_large_body_is_parsed_beside_the_event_loop(client: TestClient) -> None:
    text = "Der alte Hund schläft. " * 60
    body = urlencode({"q": text, "source": "de", "target": "en"})
    assert 1_000 < len(body) < inputs.PARSED_ON_LOOP_BYTES
    kind = {"content-type": "application/x-www-form-urlencoded"}
    threads: list[str] = []

    def watched(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.current_thread().name)
        return urlencoded(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "urlencoded", watched)
        client.post("/translate", content=body, headers=kind)
        assert not threads[-1].startswith("parser")
        patch.setattr(inputs, "PARSED_ON_LOOP_BYTES", 1000)
        client.post("/translate", content=body, headers=kind)
        assert threads[-1].startswith("parser")
