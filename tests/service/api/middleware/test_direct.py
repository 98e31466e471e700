"""Handlers that are called directly, compared with FastAPI's own routing."""

from urllib.parse import unquote

import pytest
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from service.api import errors
from service.api.dependencies import PlainRoute
from service.api.middleware.direct import Direct
from service.errors import InvalidKeyError


class Seen:
    """Middleware that records the path of the route that each request took."""

    def __init__(self, app: ASGIApp, found: list[str]) -> None:
        self.app, self.found = app, found

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)
        self.found.append(getattr(scope.get("route"), "path", "none"))


@pytest.fixture(params=["direct", "framework"])
def client(request: pytest.FixtureRequest) -> tuple[TestClient, list[str]]:
    router, found = APIRouter(route_class=PlainRoute), list[str]()

    @router.post("/say/{what}")
    async def patterned(request: Request) -> Response:
        return Response(request.path_params["what"])

    @router.post("/echo")
    async def echo(request: Request) -> Response:
        return Response(await request.body(), headers={"x-method": request.method})

    @router.get("/ours")
    async def ours(_: Request) -> Response:
        raise InvalidKeyError("not this one")

    @router.get("/http")
    async def of_http(_: Request) -> Response:
        raise HTTPException(418, "a teapot")

    @router.get("/bug")
    async def bug(_: Request) -> Response:
        raise ZeroDivisionError

    app = FastAPI()
    app.include_router(router)
    errors.install(app)
    if request.param == "direct":
        app.add_middleware(Direct, routes=router.routes)
    app.add_middleware(Seen, found=found)
    return TestClient(app, raise_server_exceptions=False), found


def test_answers_and_metrics_equal_the_frameworks(client: tuple[TestClient, list[str]]) -> None:
    opened, found = client
    answer = opened.post("/echo", content=b"said")
    assert (answer.status_code, answer.content, answer.headers["x-method"]) == (
        200,
        b"said",
        "POST",
    )
    assert opened.get("/echo").status_code == 405
    assert opened.post("/nowhere").status_code == 404
    for said in ("hello", "%7Bwhat%7D"):
        assert opened.post(f"/say/{said}").text == unquote(said)
    assert (found[0], found[2]) == ("/echo", "none")


def test_errors_have_the_usual_shape(client: tuple[TestClient, list[str]]) -> None:
    opened, _ = client
    assert (opened.get("/ours").status_code, opened.get("/ours").json()["code"]) == (
        403,
        "invalid_key",
    )
    assert (opened.get("/http").status_code, opened.get("/http").json()["error"]) == (
        418,
        "a teapot",
    )
    assert (opened.get("/bug").status_code, opened.get("/bug").json()["code"]) == (
        500,
        "internal_error",
    )


def test_the_framework_is_bypassed() -> None:
    router = APIRouter(route_class=PlainRoute)

    @router.post("/echo")
    async def echo(_: Request) -> Response:
        return Response(b"here")

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError(scope)

    assert TestClient(Direct(never, router.routes)).post("/echo").content == b"here"
