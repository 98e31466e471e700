"""Every query of the dashboard has an answer once Prometheus has scraped a service that translates."""

import json
import math
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import Server, serving, translate_toy
from tests.waiting import wait_until

DOCKER = Path(__file__).parents[2] / "docker"
DASHBOARD = json.loads((DOCKER / "grafana" / "attendant.json").read_text(encoding="utf-8"))
QUERIES = [
    (panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]
]
WINDOW = "60s"
"""Of the rates that are asked for."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("prometheus"), reason="Prometheus is not installed"),
]


@contextmanager
def scraping(server: Server, folder: Path) -> Iterator[str]:
    """The address of a Prometheus that asks the service every two seconds."""
    [job] = yaml.safe_load((DOCKER / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    del job["dns_sd_configs"]
    job["scrape_interval"] = job["scrape_timeout"] = "2s"
    job["static_configs"] = [{"targets": [server.url.removeprefix("http://")]}]
    config = folder / "prometheus.yml"
    config.write_text(yaml.safe_dump({"scrape_configs": [job]}), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = ["prometheus", f"--config.file={config}", f"--web.listen-address={address}"]
    command.append(f"--storage.tsdb.path={folder / 'data'}")
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_ready(f"http://{address}"))
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(60)


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/-/ready", timeout=60).status_code == 200
    except httpx.TransportError:
        return False


def values(url: str, query: str) -> list[float]:
    asked = {"query": query.replace("$__rate_interval", WINDOW)}
    answer: dict[str, Any] = httpx.get(f"{url}/api/v1/query", params=asked, timeout=60).json()
    assert answer["status"] == "success", answer
    return [float(series["value"][1]) for series in answer["data"]["result"]]


def has_data(url: str, query: str) -> bool:
    found = values(url, query)
    return bool(found) and not any(map(math.isnan, found))


def test_every_query_has_data(tmp_path: Path) -> None:
    missing = list(QUERIES)
    with serving(TINY_BUNDLE) as server, scraping(server, tmp_path) as prometheus:

        def is_complete() -> bool:
            translate_toy(server.url, ["Der alte Hund schläft.", "Die Frau wartet."])
            missing[:] = [one for one in QUERIES if not has_data(prometheus, one[1])]
            return not missing

        with suppress(AssertionError):  # what follows says what is missing
            wait_until(is_complete, 120)
        assert not missing
        assert values(prometheus, QUERIES[0][1]) == [1.0]
        assert values(prometheus, f"sum(rate(attendant_sentences_total[{WINDOW}]))")[0] > 0
