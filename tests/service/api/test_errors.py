"""Every error class has its own code and a status; all errors of a dialect have the same shape."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from service import errors
from service.api.errors import install, status_of
from service.api.middleware.context import RequestContext
from service.metrics import Metrics
from service.models.model_set import ModelSet


def subclasses(kind: type[errors.AttendantError]) -> list[type[errors.AttendantError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in subclasses(child))]


EXPECTED = {
    "AccessError": 403,
    "MissingKeyError": 401,
    "InvalidKeyError": 403,
    "RateLimitError": 429,
    "AttendantError": 500,
    "InvalidRequestError": 400,
    "MissingParameterError": 400,
    "UnsupportedLanguageError": 400,
    "NotTranslatedError": 400,
    "LimitExceededError": 400,
    "TextTooLongError": 400,
    "TextTooDeepError": 400,
    "RefusedError": 503,
    "QueueFullError": 429,
    "NotReadyError": 503,
    "ModelUnavailableError": 503,
    "AbandonedError": 503,
    "DeadlineExceededError": 504,
    "CancelledError": 503,
    "ClientLeftError": 499,
    "EngineError": 500,
    "StepFailedError": 500,
    "EngineDeadError": 503,
    "BundleError": 500,
}


@pytest.mark.parametrize(
    "kind", subclasses(errors.AttendantError), ids=lambda kind: str(kind.__name__)
)
def test_every_error_has_its_status(kind: type[errors.AttendantError]) -> None:
    assert status_of(kind) == EXPECTED[kind.__name__]


def test_codes_are_unique_and_every_class_is_in_the_diagram() -> None:
    kinds = subclasses(errors.AttendantError)
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert errors.__doc__ is not None
    for kind in kinds:
        assert kind.__name__ in errors.__doc__


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/translate", 405), ("GET", "/x", 404)]
)
def test_errors_of_the_framework_have_the_usual_shape(
    client: TestClient, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.json().keys() == {"error", "code"}
    expected = path if status == 404 else "GET is not supported here, only POST"
    assert expected in answer.json()["error"]


def test_unknown_models_and_routes_are_named(client: TestClient) -> None:
    answer = client.post("/v2/models/tiny/generate", json={"text_input": "Hund"})
    assert answer.status_code == 404
    assert "/v2/models/tiny/generate is not supported" in answer.json()["error"]
    assert client.get("/v2/models/other").json()["error"] == "no model is named other"


@pytest.mark.parametrize(("path", "word"), [("/suggest", "uggestion"), ("/translate_file", "file")])
def test_unsupported_libretranslate_routes_are_refused_like_disabled_ones(
    client: TestClient, path: str, word: str
) -> None:
    for body in ({"data": {"q": "a", "s": "b"}}, {"files": {"file": ("a.txt", b"Hund")}}):
        answer = client.post(path, **body)
        assert answer.status_code == 403
        assert answer.json()["code"] == "forbidden"
        assert word in answer.json()["error"]
    assert path not in client.get("/openapi.json").json()["paths"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v2/glossaries", 404),
        ("POST", "/v3/documents/x", 404),
        ("POST", "/v2/glossary-language-pairs", 405),
        ("OPTIONS", "/v2/translate", 405),
    ],
)
def test_errors_under_deepl_paths_have_the_shape_of_deepl(
    client: TestClient, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.json().keys() == {"message", "detail"}
    assert answer.headers["x-trace-id"]
    if status == 404:
        assert path in answer.json()["message"]


def test_retry_after_is_at_most_the_longest_deadline(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise errors.QueueFullError("too much waits", 3201.0)

    monkeypatch.setattr(ModelSet, "translate", refuse)
    answer = client.post("/translate", json={"q": "Ja.", "source": "de", "target": "en"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")


def test_an_unexpected_error_is_logged_with_the_request_id() -> None:
    app, metrics = FastAPI(), Metrics()
    install(app)
    app.add_middleware(RequestContext, metrics=metrics)

    @app.get("/bug")
    async def bug() -> None:
        raise ZeroDivisionError

    client = TestClient(app, raise_server_exceptions=False)
    answer = client.get("/bug", headers={"x-request-id": "job-17"})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert answer.headers.get_list("x-request-id") == ["job-17"]


def test_websockets_are_refused(client: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/translate"):
        pass
