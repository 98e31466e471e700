"""A real server in a process of its own, spoken to over real HTTP."""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from export import evaluate
from service.models.bundle import DEFAULT_BUNDLE, load
from tests import toy
from tests.conftest import TINY_BUNDLE
from tests.waiting import wait_until


@dataclass
class Server:
    """A running service."""

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        """Where it listens, on loopback."""
        return int(self.url.rpartition(":")[2])

    def metric(self, pattern: str) -> float:
        """The value of the metric whose name and labels match; 0 where there is none."""
        text = get(f"{self.url}/metrics").text
        found = re.search(rf"^{pattern} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def connect(self) -> socket.socket:
        """A new connection, on which nothing has been sent."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def stop(self) -> int:
        """SIGTERM, and the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def get(url: str) -> httpx.Response:
    """Send a GET request without reading certificates, which would take ten times as long as the rest."""
    return httpx.get(url, timeout=60, verify=False)


def _is_ready(server: Server) -> bool:
    try:
        if get(f"{server.url}/health/ready").status_code == 200:
            return True
    except httpx.TransportError:
        assert server.process.poll() is None, "the server ended"
    time.sleep(0.05)  # it needs the core more
    return False


@contextmanager
def serving(
    bundle: Path, log: Path | None = None, script: str = "", **settings: str
) -> Iterator[Server]:
    """A server that is ready; a `script` that serves may stand in for `python -m service`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "ATTENDANT_BUNDLE": str(bundle),
        "ATTENDANT_PORT": str(port),
        "ATTENDANT_DEVICE": "cpu",
        **{f"ATTENDANT_{name.upper()}": value for name, value in settings.items()},
    }
    with (log or Path(os.devnull)).open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, *(["-c", script] if script else ["-m", "service"])],
            env=environment,
            stderr=errors,
            text=True,
        )
    server = Server(process, f"http://127.0.0.1:{port}")
    try:
        wait_until(lambda: _is_ready(server), 180)
        yield server
    finally:
        process.kill()
        process.wait(60)


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def translate_toy(url: str, texts: list[str]) -> list[str]:
    body = {"q": texts, "source": "de", "target": "en"}
    answer = httpx.post(f"{url}/translate", json=body, timeout=60, verify=False)
    assert answer.status_code == 200, answer.text
    translated: list[str] = answer.json()["translatedText"]
    return translated


def test_the_default_bundle_translates_both_ways() -> None:
    with serving(DEFAULT_BUNDLE) as server:
        german = {
            "text": "Guten Morgen! Der Hund schläft im Garten.",
            "source": "de",
            "target": "en",
        }
        answer = httpx.post(f"{server.url}/translate", json=german, timeout=60)
        first, second = re.split(r"(?<=[.!?]) ", answer.json()["translatedText"])
        assert first.startswith("Good morning")
        assert re.fullmatch(r"The dog (is sleeping|sleeps|is asleep) in the garden\.", second)
        english = {"q": "I have a dog.", "source": "en", "target": "de"}
        answer = httpx.post(f"{server.url}/translate", json=english, timeout=60)
        assert answer.json() == {"translatedText": "Ich habe einen Hund."}
        assert server.stop() == 0


@pytest.mark.skipif(not _has_ipv6(), reason="no IPv6 on this machine")
@pytest.mark.parametrize("host", ["::", "127.0.0.1,::1"])
def test_the_service_listens_on_ipv4_and_ipv6(host: str, tmp_path: Path) -> None:
    with serving(TINY_BUNDLE, tmp_path / "log", precision="fp32", host=host) as server:
        for address in ("127.0.0.1", "[::1]"):
            assert get(f"http://{address}:{server.port}/health").json() == {"status": "ok"}
        assert server.stop() == 0
    written = (tmp_path / "log").read_text()
    first, *others = [f"[{one}]" if ":" in one else one for one in host.split(",")]
    for address in (first, *(others or ["0.0.0.0"])):
        assert f"serving on http://{address}:{server.port}\n" in written


@pytest.mark.parametrize(("precision", "least_equal"), [("fp32", 1.0), ("int8", 0.99)])
def test_concurrent_clients_get_the_same_translations_as_sequential_ones(
    precision: str, least_equal: float
) -> None:
    pairs = toy.sentences()
    texts = [" ".join(german for german, _ in pairs[n : n + 1 + n % 9]) for n in range(32)]

    async def all_at_once(url: str) -> list[str]:
        async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=32)) as client:
            bodies = [{"q": text, "source": "de", "target": "en"} for text in texts]
            answers = await asyncio.gather(
                *(client.post(f"{url}/translate", json=body) for body in bodies)
            )
        return [answer.json()["translatedText"] for answer in answers]

    with serving(TINY_BUNDLE, precision=precision) as server:
        alone = [translate_toy(server.url, [text])[0] for text in texts]
        together = asyncio.run(all_at_once(server.url))
    equal = sum(one == other for one, other in zip(alone, together, strict=True))
    assert equal >= least_equal * len(texts)


def test_sigterm_answers_what_was_admitted_and_exits_with_0() -> None:
    texts = [german for german, _ in toy.sentences()[:200]]

    async def post_and_terminate(server: Server) -> list[httpx.Response]:
        async with httpx.AsyncClient(timeout=60) as client:
            bodies = [{"q": texts[n::20], "source": "de", "target": "en"} for n in range(20)]
            pending = [
                asyncio.create_task(client.post(f"{server.url}/translate", json=body))
                for body in bodies
            ]
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            server.process.send_signal(signal.SIGTERM)
            return list(await asyncio.gather(*pending))

    with serving(TINY_BUNDLE, num_workers="1", max_num_seqs="2") as server:
        answers = asyncio.run(post_and_terminate(server))
        assert [answer.status_code for answer in answers] == [200] * 20
        assert sum(len(answer.json()["translatedText"]) for answer in answers) == 200
        assert server.process.wait(60) == 0


def test_evaluation_of_a_running_service_is_recorded_in_its_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(TINY_BUNDLE, tmp_path / "b"))
    toy.write_corpus(tmp_path / "data", train=500, valid=40)
    with serving(folder) as server:
        arguments = [server.url, "--data", str(tmp_path / "data"), "--split", "valid"]
        assert evaluate.main([*arguments, "--record", str(folder)]) == 0
    figures = load(folder).manifest.provenance.bleu
    assert figures.keys() == {"de-en", "en-de"}
    for line in figures.values():
        score = re.search(r"valid, 40 lines: BLEU ([\d.]+) \(nrefs:1\|case:mixed", line)
        assert score, line
        assert float(score[1]) > 80
    assert evaluate.main([server.url, "--data", str(tmp_path / "data")]) == 1
    assert f"error: {server.url}/languages: " in capsys.readouterr().err


def test_an_address_in_use_is_reported_and_exits_with_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "service", "--port", str(port), "--bundle", str(TINY_BUNDLE)],
            capture_output=True,
            text=True,
            timeout=180,
        )
    assert done.returncode == 1
    assert "address already in use" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"error: cannot listen on 127.0.0.1:{port}; the log above says why"
    )


def test_a_damaged_bundle_is_reported_at_startup_and_exits_with_1(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(TINY_BUNDLE, tmp_path / "b"))
    content = bytearray((folder / "encoder.int8.onnx").read_bytes())
    content[1000] ^= 1
    (folder / "encoder.int8.onnx").write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-m", "service"],
        env={**os.environ, "ATTENDANT_BUNDLE": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    message = f"error: {folder / 'encoder.int8.onnx'} is damaged: its sha256 is not the one in manifest.json"
    assert done.stderr.strip() == message


def test_documented_routes_answer() -> None:
    with serving(TINY_BUNDLE) as server:
        schema = httpx.get(f"{server.url}/openapi.json", timeout=60).json()
        assert httpx.get(f"{server.url}/docs", timeout=60).status_code == 200
        assert schema["paths"].keys() == {
            "/translate",
            "/detect",
            "/languages",
            "/frontend/settings",
            "/health",
            "/health/live",
            "/health/ready",
            "/v2",
            "/v2/health/live",
            "/v2/health/ready",
            "/v2/models",
            "/v2/models/{name}",
            "/v2/models/{name}/infer",
            "/v2/models/{name}/versions/{version}/infer",
            "/v2/models/{name}/ready",
            "/v2/models/{name}/versions/{version}",
            "/v2/models/{name}/versions/{version}/ready",
            "/v2/translate",
            "/v2/languages",
            "/v3/languages",
            "/v2/repository/index",
            "/v2/usage",
            "/v2/glossary-language-pairs",
            "/metrics",
            "/admin/reload",
        }
        body = schema["paths"]["/translate"]["post"]["requestBody"]["content"]["application/json"]
        example = body["schema"]["examples"][0]
        answer = httpx.post(f"{server.url}/translate", json=example, timeout=60)
        assert answer.status_code == 200
