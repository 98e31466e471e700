"""What may be asked for in more than one form."""

import asyncio

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.service.api.asgi import ask


def test_head_is_served_wherever_get_is(client: TestClient) -> None:
    for path in ("/", "/health", "/languages", "/v2/usage", "/metrics"):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert int(answer.headers["content-length"]) > 0
    assert client.head("/translate").status_code == 405


@pytest.mark.parametrize(
    "target", ["http://elsewhere:80/health/live", "HTTPS://elsewhere/health/live", "//health//live"]
)
def test_absolute_addresses_and_doubled_slashes_are_served(settings: Settings, target: str) -> None:
    status, body = asyncio.run(ask(create_app(settings), {"path": target}))
    assert (status, body) == (200, b'{"status":"ok"}')


def test_a_slash_too_many_is_not_redirected_to_a_host_that_the_client_names(
    client: TestClient,
) -> None:
    answer = client.post("/translate/", headers={"host": "elsewhere"}, follow_redirects=False)
    assert answer.status_code == 404
    assert "elsewhere" not in str(answer.headers)


@pytest.mark.parametrize("version", ["2.0", "1.2", "0.9"])
def test_other_versions_of_http_are_told_so(settings: Settings, version: str) -> None:
    scope = {"path": "/health/live", "http_version": version}
    status, body = asyncio.run(ask(create_app(settings), scope))
    assert status == 505
    assert f"HTTP/{version} is not supported".encode() in body


@pytest.mark.parametrize("path", ["//metrics", "//admin//reload", "/metrics//"])
def test_what_a_proxy_blocks_by_its_path_has_no_other(client: TestClient, path: str) -> None:
    assert client.get(f"http://testserver{path}").status_code == 404
