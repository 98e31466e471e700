"""Calls from web pages."""

from fastapi.testclient import TestClient


def test_a_refused_preflight_says_why_and_an_allowed_one_is_as_ever(client: TestClient) -> None:
    asked = {"origin": "http://page", "access-control-request-method": "POST"}
    assert client.options("/translate", headers=asked).status_code == 200
    for name, value, reason in (
        ("access-control-request-method", "PATCH", "method"),
        ("access-control-request-headers", "x-secret", "headers"),
        ("access-control-request-private-network", "true", "private-network"),
    ):
        answer = client.options("/translate", headers={**asked, name: value})
        assert (answer.status_code, answer.json()["code"]) == (400, "cors_refused")
        assert reason in answer.json()["error"]
        assert answer.headers["access-control-allow-methods"] == "GET, POST"
