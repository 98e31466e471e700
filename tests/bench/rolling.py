"""`python -m tests.bench.rolling`: restart two services behind HAProxy in turn under load, on loopback.

HAProxy, which must be installed, checks the readiness of both services twice a second, and sends no
requests to one that is not ready. Prints the outcome of all requests. By default, the proxy retries none.
"""

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.bench.text import everyday_german
from tests.raw_http import CLOSE, exchange, request

PROXY, BACKENDS = 8780, (8781, 8782)
DELAY_SECONDS = 2
CONFIGURATION = """
defaults
    mode http
    timeout connect 2s
    timeout client 75s
    timeout server 75s
    retries {retries}
    {redispatch}
frontend in
    bind 127.0.0.1:{proxy}
    default_backend services
backend services
    balance leastconn
    option httpchk GET /health/ready
    default-server check inter 500ms fall 1 rise 1
"""


def start(port: int) -> "subprocess.Popen[bytes]":
    """Start a service without waiting for it."""
    settings = {
        "ATTENDANT_PORT": str(port),
        "ATTENDANT_STOP_DELAY_SECONDS": str(DELAY_SECONDS),
        "ATTENDANT_LOG_LEVEL": "error",
        "ATTENDANT_NUM_WORKERS": "1",
        "ATTENDANT_RERANK": "off",
    }
    return subprocess.Popen([sys.executable, "-m", "service"], env={**os.environ, **settings})


def wait_until_ready(port: int) -> None:
    """Wait until a server on this port is ready."""
    for _ in range(600):
        with suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=1).read()
            return
        time.sleep(0.1)
    raise RuntimeError(f"no server is ready on port {port}")


@contextmanager
def proxy(retries: int) -> Iterator[None]:
    """Run HAProxy in front of the services."""
    if shutil.which("haproxy") is None:
        raise SystemExit("error: haproxy is not installed")
    text = CONFIGURATION.format(
        proxy=PROXY,
        retries=retries,
        redispatch="option redispatch 1\n    retry-on conn-failure 503" if retries else "",
    )
    servers = [f"    server s{port} 127.0.0.1:{port}\n" for port in BACKENDS]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "haproxy.cfg"
        path.write_text(text + "".join(servers))
        process = subprocess.Popen(["haproxy", "-f", str(path)], stderr=subprocess.DEVNULL)
        try:
            wait_until_ready(PROXY)
            yield
        finally:
            process.terminate()
            process.wait()


async def post(text: str) -> str:
    """Translate a text through the proxy; return the status or the name of the connection's error."""
    try:
        fields = "content-type: text/plain", CLOSE
        sent = request("/translate?source=de&target=en", text.encode(), *fields)
        answer = await exchange(PROXY, sent)
        return answer[9:12].decode() or "no answer"
    except ConnectionError as error:
        return type(error).__name__


async def load(count: int, connections: int) -> Counter[str]:
    """Send `count` requests, one after another on each connection, and count the outcomes."""
    texts, outcomes = everyday_german(400), Counter[str]()
    numbers = iter(range(count))

    async def client() -> None:
        for number in numbers:
            outcomes[await post(texts[number % len(texts)])] += 1

    await asyncio.gather(*(client() for _ in range(connections)))
    return outcomes


async def restart(services: "list[subprocess.Popen[bytes]]", done: asyncio.Event) -> int:
    """Restart the services in turn until `done`, each at least once; return the number of restarts."""
    count = 0
    while not done.is_set() or count < len(services):
        index = count % len(services)
        await asyncio.sleep(1)
        services[index].send_signal(signal.SIGTERM)
        await asyncio.to_thread(services[index].wait)
        services[index] = start(BACKENDS[index])
        await asyncio.to_thread(wait_until_ready, BACKENDS[index])
        count += 1
        await asyncio.sleep(1)  # until HAProxy has noticed
    return count


async def run(count: int, services: "list[subprocess.Popen[bytes]]") -> tuple[Counter[str], int]:
    """Run the load and the restarts at the same time."""
    done = asyncio.Event()
    restarting = asyncio.create_task(restart(services, done))
    outcomes = await load(count, connections=24)
    done.set()
    return outcomes, await restarting


def main() -> int:
    """Measure and print; return 1 if a request failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rolling", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--retries", type=int, default=0, help="of refused requests, by the proxy")
    options = parser.parse_args()
    services = [start(port) for port in BACKENDS]
    try:
        for port in BACKENDS:
            wait_until_ready(port)
        with proxy(options.retries):
            outcomes, restarts = asyncio.run(run(options.requests, services))
    finally:
        for service in services:
            service.kill()
    print(f"{outcomes.total()} requests, {restarts} restarts: {dict(outcomes)}")
    return int(set(outcomes) != {"200"})


if __name__ == "__main__":
    sys.exit(main())
