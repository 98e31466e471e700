"""The pages at / and /docs: what their headers allow a browser to do."""

import base64
import hashlib
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.api import docs, page
from service.app import create_app
from service.settings import Settings

PAGES = ("/", "/docs")
ASSETS = ("/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js")


@pytest.fixture
def pages() -> TestClient:
    """Return a client of an application that has only the pages."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    page.install(app)
    docs.install(app)
    return TestClient(app)


class Elements(HTMLParser):
    """The inline code and the attributes of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=False)
        self.inline: dict[str, list[str]] = {"script": [], "style": []}
        self.attributes: list[tuple[str, str | None]] = []
        self._open = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        self._open = tag if tag in self.inline and not dict(attrs).get("src") else ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.inline[self._open].append(data)


def policy(headers: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the sources of the Content-Security-Policy, by directive."""
    directives = [one.split() for one in headers["content-security-policy"].split(";")]
    return {name: sources for name, *sources in directives}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_may_only_run_its_own_code(pages: TestClient, path: str) -> None:
    answer = pages.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    allowed, found = policy(answer.headers), Elements(answer.text)
    for kind, codes in found.inline.items():
        digests = [base64.b64encode(hashlib.sha256(code.encode()).digest()) for code in codes]
        hashes = [one for one in allowed[f"{kind}-src"] if one != "'self'"]
        assert hashes == [f"'sha256-{digest.decode()}'" for digest in digests]
    assert found.inline["script"]
    assert not [name for name, _ in found.attributes if name == "style" or name.startswith("on")]
    for name in ("default-src", "base-uri", "form-action", "frame-ancestors"):
        assert allowed[name] == ["'none'"]
    assert allowed["connect-src"] == ["'self'"]


@pytest.mark.parametrize("path", [*PAGES, *ASSETS])
def test_pages_cannot_be_framed_and_are_revalidated(pages: TestClient, path: str) -> None:
    answer = pages.get(path)
    expected = {
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
    }
    assert expected.items() <= dict(answer.headers).items()
    tag = answer.headers["etag"]
    for known in (tag, f'"other", W/{tag}', "*"):
        again = pages.get(path, headers={"If-None-Match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
    assert pages.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize("path", [*PAGES, *ASSETS])
@pytest.mark.parametrize("wanted", ["bytes=0-4", "bytes=9-1", "bytes=99999999-", "nonsense", "="])
def test_a_range_is_ignored(pages: TestClient, path: str, wanted: str) -> None:
    answer = pages.get(path, headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (200, pages.get(path).content)


@pytest.mark.parametrize("path", [*PAGES, *ASSETS])
def test_head_has_the_fields_of_get(pages: TestClient, path: str) -> None:
    asked, told = pages.get(path), pages.head(path)
    assert (told.status_code, told.headers) == (200, asked.headers)
    assert pages.post(path).status_code == 405


def test_the_documentation_refers_to_no_other_host(pages: TestClient) -> None:
    answer = pages.get("/docs")
    found = Elements(answer.text)
    addresses = [value or "" for name, value in found.attributes if name in ("src", "href")]
    assert addresses == ["data:,", "docs/swagger-ui.css", "docs/swagger-ui-bundle.js"]
    assert "//" not in re.sub(r"(?<=\s)// .*", "", answer.text)
    style = pages.get("/docs/swagger-ui.css").text
    assert not re.findall(r"url\(\s*+[\"']?+(?!data:|#)[^)]{1,80}", style)
    assert "@import" not in style
    for name, sources in policy(answer.headers).items():  # scripts cannot reach another host either
        for source in sources:
            assert re.fullmatch(r"'none'|'self'|'sha256-[\w+/=]+'|data:", source), (name, source)


def test_the_assets_are_from_the_installed_swagger_ui(pages: TestClient) -> None:
    for name in ("swagger-ui.css", "swagger-ui-bundle.js"):
        answer = pages.get(f"/docs/{name}")
        assert answer.content == (files("fastapi_offline") / "static" / name).read_bytes()
        assert policy(answer.headers) == {"default-src": ["'none'"]}


def test_the_documentation_can_be_turned_off(settings: Settings) -> None:
    client = TestClient(create_app(settings.model_copy(update={"docs": False})))
    for path in ("/docs", *ASSETS, "/openapi.json", "/spec"):
        assert client.get(path).status_code == 404


def test_the_schema_is_also_at_libretranslates_path(settings: Settings) -> None:
    client = TestClient(create_app(settings))
    found = client.get("/spec")
    assert found.headers["content-type"] == "application/json"
    assert found.json() == client.get("/openapi.json").json()
    assert "/spec" not in found.json()["paths"]
    assert client.head("/spec").status_code == 200
    assert client.post("/spec").status_code == 405
    metrics = client.get("/metrics").text
    for path in ("/openapi.json", "/spec"):
        assert f'route="{path}"' in metrics


def test_the_service_serves_the_pages_with_their_headers(settings: Settings) -> None:
    client = TestClient(create_app(settings))
    for path in (*PAGES, *ASSETS):
        assert client.head(path).headers["x-frame-options"] == "DENY", path
    client = TestClient(create_app(settings.model_copy(update={"docs": False})))
    assert client.get("/").status_code == 200
    for path in ("/docs", *ASSETS, "/openapi.json", "/spec"):
        assert client.get(path).status_code == 404


def test_the_documented_statuses_are_returned(settings: Settings) -> None:
    schema = TestClient(create_app(settings)).get("/openapi.json").json()
    operations = [one for path in schema["paths"].values() for one in path.values()]
    assert not [one["operationId"] for one in operations if "422" in one["responses"]]
    assert "ValidationError" not in str(schema)


def test_all_forms_of_an_answer_are_documented(settings: Settings) -> None:
    paths = TestClient(create_app(settings)).get("/openapi.json").json()["paths"]
    translated = paths["/translate"]["post"]["responses"]["200"]["content"]
    assert set(translated) == {"application/json", "text/plain", "text/event-stream"}
    assert set(paths["/metrics"]["get"]["responses"]["200"]["content"]) == {"text/plain"}
