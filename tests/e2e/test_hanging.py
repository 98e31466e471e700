"""Threads that hang end the process, and fail the requests that wait for them."""

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import serving

HANGING = """
import sys, threading
from service import process
from {module} import {owner} as owner

run = owner.{function}

def hanging(*given):
    if threading.current_thread().name.startswith({thread!r}):
        threading.Event().wait()
    return run(*given)

owner.{function} = hanging
sys.exit(process.main([]))
"""
SHORT = {"q": "Der alte Hund schläft.", "source": "de", "target": "en"}
LONG = SHORT | {"q": "Der alte Hund schläft. " * 100}
LARGE = SHORT | {"x": "a" * 20_000}
ALIGNED = SHORT | {"return_alignment": True}
TAGGED = SHORT | {"q": "Der <b>alte</b> Hund schläft.", "format": "html"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "owner", "function", "thread", "bodies", "what"),
    [
        pytest.param(
            *("service.engine.runner", "OnnxModelRunner", "align"),
            *("aligner", [*[ALIGNED] * 4, TAGGED], "an alignment"),  # more than there are threads
            id="aligner",
        ),
        pytest.param(
            *("service.translation", "aligner", "align_words", "aligner"),
            *([*[ALIGNED] * 4, TAGGED], "an alignment"),
            id="words",
        ),
        pytest.param(
            *("service.translation.preparation", "Preparation", "take_apart"),
            *("texts", [LONG] * 3, "work on a text"),
            id="texts",
        ),
        pytest.param(
            *("service.api", "inputs", "_fields"),
            *("parser", [LARGE] * 3, "the parser of requests"),
            id="parser",
        ),
    ],
)
def test_a_hanging_thread_ends_the_process(
    module: str,
    owner: str,
    function: str,
    thread: str,
    bodies: list[dict[str, Any]],
    what: str,
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    script = HANGING.format(module=module, owner=owner, function=function, thread=thread)

    async def post(url: str) -> list[httpx.Response]:
        async with httpx.AsyncClient(timeout=60) as client:
            assert (await client.post(f"{url}/translate", json=SHORT)).status_code == 200
            asked = [client.post(f"{url}/translate", json=one) for one in bodies]
            streams = {"accept": "text/event-stream"}
            asked.append(client.post(f"{url}/translate", json=bodies[0], headers=streams))
            return await asyncio.gather(*asked)

    with serving(TINY_BUNDLE, log, script, num_workers="2", stall_seconds="0.5") as server:
        started = time.monotonic()
        *plain, stream = asyncio.run(post(server.url))
        assert time.monotonic() - started < 10
        assert server.process.wait(60) == 1
    assert {one.status_code for one in plain} == {503}
    assert stream.status_code == 503 or stream.text.count("event: error\n") == 1
    assert f"{what} has not ended for" in log.read_text()
    assert "Traceback" not in log.read_text()
