"""`python -m tests.bench.peak`: measure the maximum memory of the service, and how much of it remains.

Requests what takes the most memory: long sentences whose beams never share prefixes, the widest beams, all
alternatives, the longest translations, alignments, and all of these together with everyday sentences.
"""

import argparse
import json
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
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
        for name, mix in {**MIXES, "all together": mixed}.items():
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak counts from here on
            started = time.perf_counter()
            requests = (mix * options.requests)[: max(options.requests, len(mix))]
            refused = _ask(options.port, requests, options.connections)
            seconds = time.perf_counter() - started
            peak = memory_of(pid, "VmHWM")
            time.sleep(SETTLING_SECONDS)
            print(
                f"{name}: {peak:.0f} MiB at most, {memory_of(pid):.0f} after; "
                f"{len(requests) - refused} translated in {seconds:.1f} s",
                flush=True,
            )


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
