"""`python -m tests.fuzz`: send malformed and unusual requests to a real server on loopback.

Runs schemathesis on the documented interface, and sends raw HTTP that is composed at random of valid and
hostile parts, with API keys and without. No answer may be a 500, every error must have the format of its
dialect, every answer must arrive in time, and the server must be healthy at the end.
"""

import argparse
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

import httpx

from service.keys import digest_of
from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import serving

KEY = "a-key-for-tests"
ANSWER_SECONDS = 60
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,response_headers_conformance,unsupported_method"
)
PATHS = (
    *("/translate", "/translate", "/translate", "/detect", "/languages", "/frontend/settings"),
    *("/v2/translate", "/v2/translate", "/v2/languages", "/v3/languages", "/v2/usage"),
    *("/v2/glossary-language-pairs",),
    *("/v2/glossaries", "/v3/style_rules", "/v2/models/x", "/v2/models/x/ready", "/v2", "/health"),
    *("/v2/models/tiny/infer", "/v2/models/tiny/versions/1/infer"),
    *("/", "/docs", "/openapi.json", "/metrics", "/admin/reload", "/nowhere", "//translate"),
    *("/%ff",),
    *("/..", "/translate/", "http://elsewhere/translate", "*", "/" + "a" * 5000),
)
METHODS = ("POST", "POST", "POST", "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "X-ODD")
NAMES = (
    *("q", "q", "text", "text", "source", "target", "source_lang", "target_lang", "format"),
    *("alternatives", "beam_size", "length_penalty", "max_decoding_length", "no_repeat_ngram_size"),
    *("rerank", "target_prefix", "return_scores", "return_alignment", "timeout_seconds", "api_key"),
    *("auth_key", "context", "split_sentences", "tag_handling", "ignore_tags", "formality", "type"),
    *("glossary_id", "show_billed_characters", "unknown", "inputs", "outputs", "parameters", "id"),
)
VALUES: tuple[object, ...] = (
    *("Der Hund schläft.", "de", "en", "auto", "EN-US", "html", "xml", "text", "", " ", "0", "1"),
    *("<b>Der <i>Hund</b> schläft.</i>", "&#" + "9" * 5000 + ";", "\x00", "\ud800", "\uffff"),
    *(
        "-" * 4000,
        "a" * 3000,
        "<" * 1000,
        "ab, " * 400,
        "z. B. " * 300,
        "%s" * 500,
        "𝄞\u0301" * 300,
    ),
    *(0, 1, 2, -1, 10**30, 1e308, float("nan"), float("inf"), True, False, None, KEY, "wrong"),
    *([{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["Hund"]}], [{"name": "text"}]),
    *([], {}, ["Der Hund schläft.", "x"], [5], [["a"]], {"a": "b"}, ["a"] * 3000, [None]),
)
KINDS = (
    *("application/json", "application/json", "application/json; charset=latin-1", ""),
    *("text/plain",),
    *("application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "a/b", ";", "\xe9"),
)
HEADERS = (
    *("accept: text/event-stream", "accept: text/plain", "range: bytes=5-1", "range: x"),
    *("expect: 100-continue", "origin: http://page", "access-control-request-method: PUT"),
    *(
        "authorization: Bearer " + KEY,
        "authorization: DeepL-Auth-Key \xff",
        "authorization: Bearer",
    ),
    *("if-none-match: *", "x-request-id: \xff", "connection: upgrade", "upgrade: websocket"),
    *("content-encoding: gzip", "host: elsewhere", "x-forwarded-for: " + "1.2.3.4," * 50),
    *("inference-header-content-length: 9", "inference-header-content-length: x"),
    *("traceparent: 00-zz", "accept-language: " + "a" * 2000, "cookie: a=b", "te: trailers"),
)


def raw_request(pick: random.Random) -> tuple[str, bytes]:
    """Compose a random request; return its path and its bytes."""
    path, method = pick.choice(PATHS), pick.choice(METHODS)
    fields = {pick.choice(NAMES): pick.choice(VALUES) for _ in range(pick.randint(0, 6))}
    if pick.random() < 0.5:
        fields |= {"q": "Der Hund.", "source": "de", "target": "en"}
    query = ""
    if pick.random() < 0.2:
        query = "?" + pick.choice(
            ("&&=", "%zz", "q=%ff", urlencode(_flat(fields), errors="replace"))
        )
    kind = pick.choice(KINDS)
    body = _body(fields, kind, pick) if pick.random() < 0.8 else b""
    lines = [f"{method} {_as_target(path)}{query} HTTP/1.1", "host: fuzz", "connection: close"]
    lines += pick.sample(HEADERS, pick.randint(0, 2))
    if kind:
        lines.append(f"content-type: {kind}")
    chunked = pick.random() < 0.1
    lines.append("transfer-encoding: chunked" if chunked else f"content-length: {len(body)}")
    if chunked:
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
    whole = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
    if pick.random() < 0.05:  # damaged
        at = pick.randrange(len(whole))
        whole = whole[:at] + pick.randbytes(pick.randint(0, 4)) + whole[at + pick.randint(0, 4) :]
        path = [*whole.split(b" "), b""][1].decode("latin-1")
    return path, whole


def _as_target(path: str) -> str:
    return quote(path, safe="/%:*?&=")


def _flat(fields: dict[str, object]) -> dict[str, str]:
    return {name: str(value)[:2000] for name, value in fields.items()}


def _body(fields: dict[str, object], kind: str, pick: random.Random) -> bytes:
    """Encode the fields as a body of this content type, or return a malformed body."""
    if pick.random() < 0.1:
        return pick.choice((b"[" * 5000, b"\xff", b"null", b"[]", b'"a"', b"{", b'{"q": 1e999}'))
    if "form-urlencoded" in kind:
        return urlencode(_flat(fields), errors="replace").encode()
    if "multipart" in kind:
        parts = (
            f'--b\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in _flat(fields).items()
        )
        return ("".join(parts) + "--b--\r\n").encode(errors="replace")
    return json.dumps(fields).encode()


def fault_of(path: str, answer: bytes) -> str | None:
    """Describe what is wrong with an answer; return None if nothing is."""
    head, _, body = answer.partition(b"\r\n\r\n")
    while head.startswith(b"HTTP/1.1 100"):
        head, _, body = body.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 "):
        return f"no answer: {answer[:60]!r}"
    status = int(head[9:12])
    if status >= 500 and status not in (503, 504):
        return f"status {status}"
    if status < 400 or not body:
        return None
    try:
        keys = set(json.loads(body))
    except ValueError:
        return f"status {status} is not JSON: {body[:60]!r}"
    deepl = path.startswith(("/v2/", "/v3/")) and not path.startswith(("/v2/health", "/v2/models"))
    wanted = {"message", "detail"} if deepl else {"error", "code"}
    # errors have the native format if the path is not known yet or is damaged
    return None if keys in (wanted, {"error", "code"}) else f"status {status} has {sorted(keys)}"


def exchange(port: int, request: bytes) -> bytes:
    """Send a request, close the sending side, and read the whole answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        pieces = []
        while piece := connection.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


def fuzz_raw(port: int, seed: int) -> Iterator[str]:
    """Send random requests without end; yield what went wrong with each, or an empty string."""
    pick = random.Random(seed)
    while True:
        path, request = raw_request(pick)
        try:
            fault = fault_of(path, exchange(port, request))
        except OSError as error:
            fault = f"{type(error).__name__}: {error}"
        yield f"{fault} for {request[:2000]!r}" if fault else ""


def schemathesis(
    url: str,
    seed: int,
    examples: int,
    headers: dict[str, str],
    phases: str = "coverage,fuzzing",
) -> str | None:
    """Run schemathesis; return its output if it found anything."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"),
            *("--phases", phases, "--max-examples", str(examples), "--seed", str(seed)),
            *("--checks", CHECKS, "--generation-database", "none"),
        ]
        for name, value in headers.items():
            command += ["--header", f"{name}: {value}"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=3600)
    return done.stdout if done.returncode else None


@contextmanager
def served(keys: bool) -> Iterator[str]:
    """Run a service with or without API keys; yields its URL."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"precision": "fp32", "request_timeout_seconds": "10"}
        if keys:
            path = Path(folder) / "keys.toml"
            path.write_text(f'[fuzz]\nsha256 = "{digest_of(KEY)}"\n')
            settings |= {"api_keys": str(path), "key_required": "true"}
        with serving(TINY_BUNDLE, None, **settings) as server:
            yield server.url
            assert httpx.get(f"{server.url}/health/ready", timeout=60).status_code == 200


def main() -> int:
    """Fuzz and print a report; return 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    found: list[str] = []
    seed = options.seed
    while time.monotonic() < end and len(found) < 20:
        for keys in (False, True):
            print(f"seed {seed}, {'with' if keys else 'without'} keys", flush=True)
            with served(keys) as url:
                headers = {"Authorization": f"Bearer {KEY}"} if keys else {}
                if output := schemathesis(url, seed, 50, headers):
                    found.append(output)
                port = int(url.rpartition(":")[2])
                until = min(end, time.monotonic() + 60)
                for fault in fuzz_raw(port, seed):
                    if fault:
                        found.append(fault)
                    if time.monotonic() > until:
                        break
        seed += 1
    for one in found:
        print(one)
    print(f"{len(found)} findings")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
