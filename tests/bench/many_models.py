"""`python -m tests.bench.many_models`: serve random directions of many models in bounded memory.

The models are copies of one bundle with other codes for German. Their files are hard links, except mapped
weights. Prints response times of directions whose models were loaded before the request and of others, the
outcome of all requests, and the maximum memory of the service.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from service.models.bundle import DEFAULT_BUNDLE, GOLDEN, MANIFEST
from tests.bench.over_http import serving
from tests.bench.overload import memory_of, server_pid
from tests.bench.text import everyday_german

TIMEOUT_SECONDS = 60
SAMPLE_SECONDS = 0.1


def copies(bundle: Path, folder: Path, count: int) -> list[str]:
    """Make `count` copies of a bundle, and return their codes for German."""
    codes = [f"q{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(count)]
    manifest = json.loads((bundle / MANIFEST).read_text("utf-8"))
    for code in codes:
        copy = folder / code
        copy.mkdir()
        for name in manifest["files"]:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            if name == manifest.get("weights"):  # ONNX Runtime refuses weights with several links
                shutil.copyfile(bundle / name, copy / name)
            elif name != GOLDEN:
                os.link(bundle / name, copy / name)
        golden = (
            (bundle / GOLDEN).read_text("utf-8").replace('"target": "de"', f'"target": "{code}"')
        )
        (copy / GOLDEN).write_text(golden, "utf-8")
        text = json.dumps(manifest).replace('"de"', f'"{code}"')
        changed = {**json.loads(text), "name": code}
        changed["files"][GOLDEN] = sha256(golden.encode()).hexdigest()
        (copy / MANIFEST).write_text(json.dumps(changed), "utf-8")
    return codes


@dataclass
class Client:
    """Sends one request after another."""

    port: int
    codes: list[str]
    random: random.Random
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"cold": [], "warm": []})
    statuses: Counter[int] = field(default_factory=Counter)

    def run(self, until: float) -> None:
        """Request random directions until the time is up, and record the time of each request."""
        texts = everyday_german(200)
        while time.monotonic() < until:
            source, target = self.random.choice(self.codes), "en"
            if self.random.random() < 0.5:
                source, target = target, source
            kind = "warm" if self._is_loaded({source, target}) else "cold"
            started = time.perf_counter()
            body = {"q": self.random.choice(texts), "source": source, "target": target}
            try:
                status = self._ask("/translate", body)[0]
            except urllib.error.HTTPError as error:
                status = error.code
            self.statuses[status] += 1
            self.seconds[kind].append(time.perf_counter() - started)

    def _is_loaded(self, codes: set[str]) -> bool:
        index = self._ask("/v2/repository/index", {})[1]
        return any(model["name"] in codes and model["state"] == "READY" for model in index)

    def _ask(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=2 * TIMEOUT_SECONDS) as response:
            return response.status, json.loads(response.read())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.many_models", description=__doc__)
    parser.add_argument("--bundle", type=Path, default=DEFAULT_BUNDLE)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--memory-mb", type=int, default=1000)
    parser.add_argument("--port", type=int, default=8500)
    options = parser.parse_args()
    # on the same file system as the bundle, so that its files can be linked
    with tempfile.TemporaryDirectory(dir=options.bundle.parent, prefix="many-") as name:
        codes = copies(options.bundle, Path(name), options.models)
        settings = {
            "ATTENDANT_BUNDLES": name,
            "ATTENDANT_MAX_MEMORY_MB": str(options.memory_mb),
            "ATTENDANT_REQUEST_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
            "ATTENDANT_LOG_LEVEL": "warning",
        }
        with serving(["service"], options.port, **settings):
            clients = [
                Client(options.port, codes, random.Random(number))
                for number in range(options.connections)
            ]
            memory = _run_all(clients, options.minutes, server_pid(options.port))
    statuses = sum((client.statuses for client in clients), Counter[int]())
    outcomes = ", ".join(f"{count} with {status}" for status, count in sorted(statuses.items()))
    print(f"{options.models} models, {options.connections} connections: {outcomes}")
    for kind in ("warm", "cold"):
        durations = sorted(seconds for client in clients for seconds in client.seconds[kind])
        if durations:
            p99 = durations[min(len(durations) - 1, round(0.99 * len(durations)))]
            median = statistics.median(durations)
            print(f"{kind}: {len(durations)} requests, p50 {median:.2f} s, p99 {p99:.2f} s")
    print(f"memory: {memory[0]:.0f} MiB at the start, {max(memory):.0f} MiB at most")


def _run_all(clients: list[Client], minutes: float, pid: int) -> list[float]:
    """Run all clients for this time, and return samples of the service's memory in MiB."""
    memory, deadline = [memory_of(pid)], time.monotonic() + 60 * minutes
    threads = [threading.Thread(target=client.run, args=(deadline,)) for client in clients]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        memory.append(memory_of(pid))
        time.sleep(SAMPLE_SECONDS)
    return memory


if __name__ == "__main__":
    main()
