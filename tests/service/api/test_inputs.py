"""Forms and queries as they come."""

import pytest
from fastapi.testclient import TestClient


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
