"""Request targets and methods that are normalized."""

import asyncio
import json

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.conftest import started
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


def test_a_trailing_slash_is_not_redirected_to_the_clients_host(
    client: TestClient,
) -> None:
    answer = client.post("/translate/", headers={"host": "elsewhere"}, follow_redirects=False)
    assert answer.status_code == 404
    assert "elsewhere" not in str(answer.headers)


@pytest.mark.parametrize("version", ["2.0", "0.9"])
def test_other_major_versions_of_http_are_refused(settings: Settings, version: str) -> None:
    for path, shape in (("/health/live", {"error", "code"}), ("/v2/usage", {"message", "detail"})):
        scope = {"path": path, "http_version": version}
        status, body = asyncio.run(ask(create_app(settings), scope))
        assert (status, json.loads(body).keys()) == (505, shape)
        assert f"HTTP/{version} is not supported".encode() in body


def test_a_higher_minor_version_of_http_is_served(settings: Settings) -> None:
    scope = {"path": "/health/live", "http_version": "1.2"}
    assert asyncio.run(ask(create_app(settings), scope))[0] == 200


@pytest.mark.parametrize("path", ["//metrics", "//admin//reload", "/metrics//"])
def test_paths_that_proxies_block_have_no_alternative_spelling(
    client: TestClient, path: str
) -> None:
    assert client.get(f"http://testserver{path}").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/%6Detrics",
        "/metric%73",
        "/%2fmetrics",
        "/admin%2Freload",
        "/%61dmin/reload",
        "http%3A//here/metrics",
        "/translat%65",
        "/v2%2ftranslate",
        "/v2/us%61ge",
        "/health%2Flive",
        "/health%0a",
        "/metrics%0A",
        "/admin/reload%0a",
    ],
)
def test_wrongly_encoded_paths_are_not_found(settings: Settings, path: str) -> None:
    for method in ("GET", "POST"):
        status, body = asyncio.run(ask(create_app(settings), {"path": path, "method": method}))
        assert status == 404, body


def test_characters_that_must_be_encoded_are_decoded(settings: Settings) -> None:
    with started(settings) as client:
        for name, told in (("a%20b%C3%BC", "a bü"), ("a%41", "a%41")):
            answer = client.get(f"/v2/models/{name}")
            assert answer.json()["error"] == f"no model is named {told}"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v2/translate", "GET, HEAD, POST"),
        ("DELETE", "/v2/languages", "GET, HEAD, POST"),
        ("PUT", "/v2/usage", "GET, HEAD, POST"),
        ("POST", "/health", "GET, HEAD"),
        ("POST", "/v2/models/x/ready", "GET, HEAD"),
        ("HEAD", "/translate", "POST"),
        ("POST", "/", "GET, HEAD"),
    ],
)
def test_allow_lists_all_methods_of_a_path(
    client: TestClient, method: str, path: str, allowed: str
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
