"""No thread is started on the event loop, which would wait for ever if the thread died before it reported."""

import json
import signal
from hashlib import sha256
from pathlib import Path

import httpx

from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import get, serving
from tests.waiting import wait_until

NOTING = """
import asyncio, sys, threading

start = threading.Thread.start

def noting(thread):
    if asyncio._get_running_loop() is not None:
        print("started on the event loop:", thread.name, file=sys.stderr, flush=True)
    start(thread)

threading.Thread.start = noting
from service import process
sys.exit(process.main([]))
"""
DIRECTION = {"source": "de", "target": "en"}
SENTENCE = "Der Hund schläft. "
REQUESTS: list[tuple[str, dict[str, object]]] = [
    ("/translate", {"q": SENTENCE, "return_alignment": True, "alternatives": 2, "rerank": True}),
    ("/translate", {"q": [SENTENCE * 3, f"Der <b>alte</b> {SENTENCE}"], "format": "html"}),
    ("/translate", {"q": SENTENCE * 500}),
    ("/translate", {"q": SENTENCE, "unknown": "x" * 100_000}),
    ("/detect", {"q": SENTENCE}),
    ("/v2/translate", {"text": [SENTENCE], "target_lang": "EN"}),
    ("/admin/reload", {}),
]


def test_no_thread_is_started_on_the_event_loop(tmp_path: Path) -> None:
    keys, log = tmp_path / "keys.toml", tmp_path / "log"
    keys.write_text(f'[operator]\nadmin = true\nsha256 = "{sha256(b"secret").hexdigest()}"\n')
    key = {"authorization": "Bearer secret"}
    statuses = []
    with serving(TINY_BUNDLE, log, NOTING, api_keys=str(keys)) as server:
        for streamed in (False, True):
            kind = {"accept": "text/event-stream"} if streamed else {}
            for path, body in REQUESTS:
                content = json.dumps(DIRECTION | body).encode()
                answer = httpx.post(
                    server.url + path, content=content, headers=key | kind, timeout=60
                )
                statuses.append(answer.status_code)
        for path in ("/", "/docs", "/openapi.json", "/metrics", "/languages", "/v2/usage", "/none"):
            statuses.append(get(server.url + path).status_code)
        loads = log.read_text().count("is ready")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: log.read_text().count("is ready") > loads)
        assert server.stop() == 0
    assert set(statuses) <= {200, 400, 403, 404}
    assert "on the event loop" not in log.read_text()
