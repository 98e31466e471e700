"""Two replicas on Ray Serve answer as one process does, whatever happens to one of them."""

import asyncio
import json
import os
import random
import re
import signal
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from service.settings import Settings
from tests import toy
from tests.conftest import TINY_BUNDLE, started

ray = pytest.importorskip("ray")
# Ray's own code emits many warnings
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
PORT = int(os.environ.get("RAY_TEST_PORT", "8650"))
METRICS_PORT, METRICS_PORTS = 9400, 100
URL = f"http://127.0.0.1:{PORT}/translate"
SETTINGS = Settings(bundle=(TINY_BUNDLE,), precision="fp32", device="cpu", max_requests=40)
GERMAN = [sentence for sentence, _ in toy.sentences()]
LONG = " ".join(GERMAN)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    from ray import serve  # not at the top, where its warnings would be errors

    from service.on_ray.serve import deployment_of

    ray.init(num_cpus=4, include_dashboard=False, object_store_memory=100 << 20)
    serve.start(http_options={"port": PORT, "host": "127.0.0.1"})
    two = deployment_of(SETTINGS).options(
        num_replicas=2, autoscaling_config=None, ray_actor_options={"num_cpus": 1}
    )
    serve.run(two.bind())
    yield
    serve.shutdown()
    ray.shutdown()


def body(text: str) -> dict[str, str]:
    return {"q": text, "source": "de", "target": "en"}


def metric(name: str) -> list[float]:
    """Return the metric's value in each replica."""
    found = []
    for port in range(METRICS_PORT, METRICS_PORT + 4):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                text = answer.read().decode()
        except OSError:
            continue
        values = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
        found.append(sum(map(float, values)))
    return found


def replicas() -> list[int]:
    """Return the replicas' process ids."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::ServeReplica:default:attendant"):
                pids.append(int(folder.name))
        except OSError:
            continue
    return pids


async def posted(client: httpx.AsyncClient, text: str, tries: int = 1) -> httpx.Response:
    for _ in range(tries):
        try:
            answer = await client.post(URL, json=body(text))
        except httpx.TransportError:
            continue
        if answer.status_code == 200:
            break
        await asyncio.sleep(0.2)
    return answer


def many(texts: list[str], tries: int = 1, at_once: int = 16) -> list[httpx.Response]:
    async def all_of_them() -> list[httpx.Response]:
        limit = asyncio.Semaphore(at_once)
        async with httpx.AsyncClient(timeout=60) as client:

            async def one(text: str) -> httpx.Response:
                async with limit:
                    return await posted(client, text, tries)

            return await asyncio.gather(*map(one, texts))

    return asyncio.run(all_of_them())


@pytest.mark.usefixtures("cluster")
def test_two_replicas_give_the_same_answers_as_one_process() -> None:
    answers = many(GERMAN[:200])
    with started(SETTINGS) as client:
        expected = [client.post("/translate", json=body(text)).json() for text in GERMAN[:200]]
    assert [answer.json() for answer in answers] == expected
    requests = metric("attendant_requests_total")
    assert len(requests) == 2, "each replica has its own metrics"
    assert all(count > 20 for count in requests)
    assert sum(requests) == 200


@pytest.mark.usefixtures("cluster")
def test_a_full_replica_refuses_with_its_own_429() -> None:
    answers = many([LONG] * 120, at_once=120)
    refused = [answer for answer in answers if answer.status_code != 200]
    assert {answer.status_code for answer in refused} == {429}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
    assert {answer.json()["code"] for answer in refused} == {"queue_full"}


@pytest.mark.usefixtures("cluster")
def test_cancelled_requests_do_not_continue() -> None:
    rng = random.Random(0)

    async def leave(client: httpx.AsyncClient, limit: asyncio.Semaphore) -> None:
        async with limit:
            await asyncio.sleep(rng.random() / 50)
            try:
                await client.post(URL, json=body(LONG), timeout=rng.random() / 5)
            except httpx.TimeoutException:
                return

    async def all_of_them(count: int) -> None:
        limit = asyncio.Semaphore(32)
        async with httpx.AsyncClient() as client:
            await asyncio.gather(*(leave(client, limit) for _ in range(count)))

    asyncio.run(all_of_them(int(os.environ.get("RAY_TEST_CANCELLED", "300"))))
    names = ("sequences_running", "sequences_waiting", "requests_in_flight")
    end = time.monotonic() + 60
    while any(sum(metric(f"attendant_{name}")) for name in names):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert many([GERMAN[0]])[0].status_code == 200


@pytest.mark.usefixtures("cluster")
def test_a_killed_replica_only_causes_retries() -> None:
    async def under_load() -> list[httpx.Response]:
        limit = asyncio.Semaphore(16)
        async with httpx.AsyncClient(timeout=60) as client:

            async def one(number: int) -> httpx.Response:
                async with limit:
                    if number == 100:
                        os.kill(replicas()[0], signal.SIGKILL)
                    return await posted(client, GERMAN[number % len(GERMAN)], tries=50)

            return await asyncio.gather(*map(one, range(400)))

    answers = asyncio.run(under_load())
    assert {answer.status_code for answer in answers} == {200}
    end = time.monotonic() + 120
    while len(metric("attendant_engine_up")) < 2:  # another replica replaces it
        assert time.monotonic() < end
        time.sleep(0.5)
    assert json.loads(many([GERMAN[0]])[0].content) == {"translatedText": "The old dog sleeps."}


@pytest.mark.usefixtures("cluster")
def test_a_replica_without_a_metrics_port_logs_a_warning(tmp_path: Path) -> None:
    from ray import serve

    from service.on_ray.serve import deployment_of

    another = deployment_of(SETTINGS).options(
        num_replicas=1,
        autoscaling_config=None,
        ray_actor_options={"num_cpus": 1},
        logging_config={"logs_dir": str(tmp_path)},
    )
    with ExitStack() as stack:
        for port in range(METRICS_PORT, METRICS_PORT + METRICS_PORTS):
            with suppress(OSError):  # another replica has it
                stack.enter_context(socket.create_server(("", port)))
        serve.run(another.bind(), name="another", route_prefix="/another")
    try:
        logs = "".join(log.read_text() for log in tmp_path.glob("replica_another_*.log"))
        assert "this replica has no metrics: no port from 9400 to 9499 is free" in logs
    finally:
        serve.delete("another")
