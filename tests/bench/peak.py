"""`python -m tests.bench.peak`: measure the maximum memory of the service, and how much of it remains.

Requests what takes the most memory: long sentences whose beams never share prefixes, the widest beams, all
alternatives, the longest translations, alignments, and all of these together with everyday sentences; then
also beside a thousand connections with incomplete requests.
"""

import argparse
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from tests.bench.over_http import serving
from tests.bench.overload import memory_of, server_pid
from tests.bench.text import everyday_german

SETTLING_SECONDS = 3.0
TIMEOUT_SECONDS = 3600
"""Timeout of requests; on a busy machine, the largest take minutes."""
LETTERS, DASHES = "a" * 500 + " i", "Die Bank " + "- " * 240
WIDE = {"beam_size": 8, "alternatives": 7}
MIXES: dict[str, list[dict[str, Any]]] = {
    "long": [{"text": LETTERS}],
    "long, widest beams": [{"text": LETTERS, **WIDE}],
    "long, greedy": [{"text": LETTERS, "beam_size": 1}],
    "half as long": [{"text": LETTERS[250:]}, {"text": DASHES[:260], **WIDE}],
    "forced, then free": [{"text": "Gut.", "target_prefix": "a " * 480, **WIDE}],
    "aligned": [{"text": DASHES, "return_alignment": True, "alternatives": 3}],
    "a long source, a short translation": [{"text": LETTERS, "max_decoding_length": 8, **WIDE}],
    "one word": [{"text": "Gut.", **WIDE}],
}
HEADS, BODIES, CONNECTIONS = 800, 60, 940
"""Incomplete heads and bodies, and all connections; the rest have not sent anything."""
INCOMPLETE_HEAD = b"GET / HTTP/1.1\r\nhost: here\r\nx: " + b"a" * 130_000
INCOMPLETE_BODY = (
    b"POST /translate HTTP/1.1\r\nhost: here\r\ncontent-length: 1040000\r\n\r\n" + b"a" * 1_039_999
)
HELD_SECONDS = 20.0
"""Time after which they are sent again; the service refuses heads that take longer than 30 s."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peak", description=__doc__)
    parser.add_argument("--requests", type=int, default=32, help="of each mix")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--port", type=int, default=8792)
    options = parser.parse_args()
    everyday = [{"text": text} for text in everyday_german(100)]
    all_requests = [request for mix in MIXES.values() for request in mix]
    mixed = [request for pair in zip(all_requests * 3, everyday, strict=False) for request in pair]
    settings = {
        "ATTENDANT_LOG_LEVEL": "warning",
        "ATTENDANT_REQUEST_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
    }
    with serving(["service"], options.port, **settings):
        pid = server_pid(options.port)
        print(f"idle: {memory_of(pid):.0f} MiB", flush=True)
        _ask(options.port, everyday, options.connections)
        print(f"everyday: {memory_of(pid):.0f} MiB", flush=True)
        beside = "all together, beside incomplete requests"
        for name, mix in {**MIXES, "all together": mixed, beside: mixed}.items():
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak counts from here on
            started = time.perf_counter()
            requests = (mix * options.requests)[: max(options.requests, len(mix))]
            with _incomplete_requests(options.port) if name == beside else nullcontext():
                refused = _ask(options.port, requests, options.connections)
            seconds = time.perf_counter() - started
            peak = memory_of(pid, "VmHWM")
            time.sleep(SETTLING_SECONDS)
            print(
                f"{name}: {peak:.0f} MiB at most, {memory_of(pid):.0f} after; "
                f"{len(requests) - refused} translated in {seconds:.1f} s",
                flush=True,
            )


@contextmanager
def _incomplete_requests(port: int) -> Iterator[None]:
    """Hold many connections with incomplete requests."""
    is_over = threading.Event()

    def hold() -> None:
        while not is_over.is_set():
            with ExitStack() as held:
                for number in range(CONNECTIONS):
                    connection = held.enter_context(socket.create_connection(("127.0.0.1", port)))
                    with suppress(OSError):  # refused
                        if number < HEADS + BODIES:
                            connection.sendall(
                                INCOMPLETE_HEAD if number < HEADS else INCOMPLETE_BODY
                            )
                is_over.wait(HELD_SECONDS)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        yield
    finally:
        is_over.set()
        holder.join()


def _ask(port: int, requests: list[dict[str, Any]], connections: int) -> int:
    """Send all requests, `connections` at a time; return how many were refused because of a long wait."""

    def one(fields: dict[str, Any]) -> bool:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/translate",
            json.dumps({"source": "de", "target": "en", **fields}).encode(),
            {"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
                response.read()
        except urllib.error.HTTPError as error:
            if error.code != 429:
                raise
            return True
        return False

    with ThreadPoolExecutor(connections) as pool:
        return sum(pool.map(one, requests))


if __name__ == "__main__":
    main()
