"""Cross-origin requests from web pages."""

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings

PREFLIGHT = {"origin": "http://page", "access-control-request-method": "POST"}


@pytest.mark.parametrize("path", ["/translate", "/v2/translate", "/nowhere"])
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"access-control-request-method": "PATCH"},
        {"access-control-request-headers": "x-secret"},
        {"access-control-request-private-network": "true"},
    ],
)
def test_a_preflight_gets_the_allowed_methods_and_fields(
    settings: Settings, path: str, asked: dict[str, str]
) -> None:
    client = TestClient(create_app(settings))
    answer = client.options(path, headers={**PREFLIGHT, **asked})
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-methods"] == "GET, POST"
    assert "x-secret" not in answer.headers["access-control-allow-headers"]
    assert "access-control-allow-private-network" not in answer.headers


def test_only_configured_origins_are_allowed(settings: Settings) -> None:
    named = settings.model_copy(update={"cors_origins": ("http://page",)})
    client = TestClient(create_app(named))
    for origin, is_allowed in (("http://page", True), ("http://elsewhere", False)):
        preflight = client.options("/translate", headers={**PREFLIGHT, "origin": origin})
        plain = client.get("/health/live", headers={"origin": origin})
        for answer in (preflight, plain):
            assert answer.status_code == 200
            assert (answer.headers.get("access-control-allow-origin") == origin) == is_allowed
