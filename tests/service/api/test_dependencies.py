"""Cancellation of work when its client disconnects."""

import asyncio
import importlib
import inspect
import pkgutil
import time

import pytest
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute

import service.api.deepl
import service.api.inference
import service.api.native
from service.api.client_state import ClientState
from service.api.dependencies import unless_client_leaves
from service.errors import ClientLeftError


def test_work_is_cancelled_when_its_client_disconnects() -> None:
    cancelled = False

    async def receive() -> dict[str, str]:
        await asyncio.sleep(0.02)
        return {"type": "http.disconnect"}

    async def work() -> None:
        nonlocal cancelled
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled = True
            raise

    async def serve() -> None:
        await unless_client_leaves(Request({"type": "http"}, receive), work())

    started = time.monotonic()
    with pytest.raises(ClientLeftError, match="closed its connection"):
        asyncio.run(serve())
    assert cancelled
    assert time.monotonic() - started < 10


def test_a_disconnect_as_the_work_ends_cancels_nothing_later() -> None:
    left = asyncio.Event()

    async def receive() -> dict[str, str]:
        await left.wait()
        return {"type": "http.disconnect"}

    async def work() -> str:
        await asyncio.sleep(0)  # the watcher starts to wait
        left.set()
        await asyncio.sleep(0)  # the watcher ends; its callback is called after this
        return "done"

    async def serve() -> str:
        found = await unless_client_leaves(Request({"type": "http"}, receive), work())
        await asyncio.sleep(0.01)  # stands for sending the answer
        return found

    assert asyncio.run(serve()) == "done"


@pytest.mark.parametrize("leaves_first", [False, True])
def test_the_server_reports_disconnects_without_polling(leaves_first: bool) -> None:
    client = ClientState()

    async def receive() -> dict[str, str]:
        raise AssertionError("it was asked")

    async def serve() -> None:
        if leaves_first:
            client.leave()
        else:
            asyncio.get_running_loop().call_soon(client.leave)
        request = Request({"type": "http", "client_state": client}, receive)
        await unless_client_leaves(request, asyncio.sleep(60))

    with pytest.raises(ClientLeftError, match="closed its connection"):
        asyncio.run(serve())


def test_a_disconnect_while_an_answer_is_sent_cancels_nothing() -> None:
    client = ClientState()

    async def serve() -> str:
        request = Request({"type": "http", "client_state": client})
        found = await unless_client_leaves(request, asyncio.sleep(0, "done"))
        client.leave()
        await asyncio.sleep(0)  # here a wrong cancellation would take effect
        return found

    assert asyncio.run(serve()) == "done"


@pytest.mark.parametrize("error", [None, ValueError("of the work")])
def test_a_disconnect_before_synchronous_work_cancels_only_that(
    error: Exception | None,
) -> None:
    client = ClientState()
    client.leave()

    async def work() -> str:
        if error:
            raise error
        return "known already"

    async def serve() -> None:
        request = Request({"type": "http", "client_state": client})
        with pytest.raises(ClientLeftError):
            await unless_client_leaves(request, work())
        await asyncio.sleep(0)  # here a wrong cancellation would take effect

    asyncio.run(serve())


def test_no_request_is_handled_on_a_thread_of_the_framework() -> None:
    modules = [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for package in (service.api, service.api.inference, service.api.deepl, service.api.native)
        for module in pkgutil.iter_modules(package.__path__)
    ]
    routes = [
        route
        for module in modules
        for value in vars(module).values()
        if isinstance(value, APIRouter)
        for route in value.routes
        if isinstance(route, APIRoute)
    ]
    assert len(routes) > 20
    for route in routes:
        for call in (route.endpoint, *(needed.call for needed in route.dependant.dependencies)):
            assert inspect.iscoroutinefunction(call), f"{route.path}: {call}"
