"""Requests of every kind, framed in every way, and clients that send them without waiting for answers."""

import io
import json
import random
from dataclasses import dataclass
from http.client import HTTPResponse
from itertools import accumulate
from typing import Any, cast

from tests.service.api.simulation import Socket

ENGLISH = {
    "Der alte Hund schläft.": "The old dog sleeps.",
    "Die kleine Katze singt heute.": "The small cat sings today.",
    "Das rote Haus fällt dort.": "The red house falls there.",
}
EVENTS, SHORT_SECONDS = "text/event-stream", (0.1, 0.1, 0.5)
TRANSLATIONS = ("one", "list", "list", "stream", "stream", "deepl", "infer")
KINDS = (*TRANSLATIONS, *TRANSLATIONS, "page", "mistake", "probe", "ask")
FRAMES = ("length", "length", "length", "chunks", "expect", "close", "old", "cut")
ASKED = ("/health/ready", "/health/live", "/languages", "/metrics", "/v2/models", "/v2/languages")


@dataclass
class Request:
    """What is sent, and which answers to it are right."""

    identity: str
    kind: str
    method: str
    path: str
    data: bytes
    statuses: set[int]
    texts: list[str]
    translations: list[str]
    is_last: bool
    is_cut: bool


class Client:
    """One at the other end of a connection: sends requests without waiting for their answers."""

    def __init__(self, socket: Socket, requests: list[Request]) -> None:
        self.socket, self.requests = socket, requests
        self.left = b"".join(request.data for request in requests)
        self.has_ended = False

    @property
    def may_send(self) -> bool:
        socket = self.socket
        return socket.is_read and not (self.has_ended or socket.is_lost)

    @property
    def num_sent(self) -> int:
        """Requests that were sent as a whole."""
        sizes = accumulate(len(request.data) for request in self.requests)
        sent = sum(len(request.data) for request in self.requests) - len(self.left)
        return sum(size <= sent for size in sizes) - (not self.left and self.requests[-1].is_cut)

    def send(self, size: int) -> None:
        data, self.left = self.left[:size], self.left[size:]
        if data:
            self.socket.protocol.data_received(data)

    def end(self) -> None:
        """Close the client's own side."""
        self.has_ended = True
        if not self.socket.protocol.eof_received():
            self.socket.close()

    def answers(self) -> list[tuple[HTTPResponse, bytes]]:
        """All of them, in their order; http.client skips the interim ones."""
        stream, found = Unclosed(bytes(self.socket.received)), []
        for request in self.requests:
            if stream.tell() == len(stream.getbuffer()):
                break
            answer = HTTPResponse(cast(Any, stream), method=request.method)
            answer.begin()
            found.append((answer, answer.read()))
        assert stream.tell() == len(stream.getbuffer()), "there are more answers than requests"
        return found


class Unclosed(io.BytesIO):
    """What a connection has given, for one answer after another."""

    def makefile(self, _: str) -> "Unclosed":
        return self

    def close(self) -> None:
        """There may be more."""


def requests(rng: random.Random, client: int) -> list[Request]:
    """Return the requests of one client."""
    found: list[Request] = []
    while not found or not (found[-1].is_last or rng.random() < 0.3):
        found.append(request(rng, f"{client}-{len(found)}"))
    return found


def request(rng: random.Random, identity: str) -> Request:
    """Return any request, framed in any way."""
    kind, frame = rng.choice(KINDS), rng.choice(FRAMES)
    texts = rng.choices(list(ENGLISH), k=1 if kind == "one" else rng.randint(1, 30))
    source, target = rng.choice([("de", "en"), ("de", "en"), ("nl", "en"), ("de", "nl")])
    translations = texts if target == "nl" else [ENGLISH[text] for text in texts]
    statuses = {200, 429, 503}
    method, path, body = "POST", "/translate", _body(rng, texts, source, target)
    fields = [f"x-request-id: {identity}"]
    if kind == "one":
        body["text"] = texts[0]
    elif kind == "stream":
        fields.append(f"accept: {EVENTS}")
    elif kind == "page":
        fields.append("origin: http://there")
    elif kind == "deepl":
        path, body = "/v2/translate", {"text": texts, "source_lang": source, "target_lang": target}
    elif kind == "infer":
        path, body = _infer(rng, texts)
        translations = [ENGLISH[text] for text in texts]
    elif kind == "mistake":
        body, statuses = rng.choice([{"text": 5}, {"text": "a", "target": "xx"}]), {400, 429, 503}
    elif kind == "probe":
        path, body, statuses = "/health/live?a", {}, {405}
    elif kind == "ask":
        method, path, body = rng.choice(["GET", "HEAD"]), rng.choice(ASKED), {}
    if "timeout_seconds" in body:
        statuses.add(504)
    data = (json.dumps(body).encode() + b" " * rng.choice([0, 0, 0, 90_000])) if body else b""
    head, sent = _framed(rng, frame, data)
    if frame == "cut" and data:
        sent, statuses = sent[: rng.randint(0, len(sent) - 1)], statuses | {400, 408}
    lines = [
        f"{method} {path} HTTP/{'1.0' if frame == 'old' else '1.1'}",
        "host: a",
        *fields,
        *head,
    ]
    return Request(
        identity,
        kind,
        method,
        path,
        "\r\n".join([*lines, "content-type: application/json", "", ""]).encode() + sent,
        statuses,
        texts,
        translations,
        is_last=frame in ("close", "old", "cut"),
        is_cut=frame == "cut" and bool(data),
    )


def _body(rng: random.Random, texts: list[str], source: str, target: str) -> dict[str, Any]:
    options: list[dict[str, Any]] = [
        {},
        {},
        {"return_alignment": True},
        {"format": "html"},
        {"rerank": True, "alternatives": 1},
        {"timeout_seconds": rng.choice(SHORT_SECONDS)},
    ]
    return {"text": texts, "source": source, "target": target, **rng.choice(options)}


def _infer(rng: random.Random, texts: list[str]) -> tuple[str, dict[str, Any]]:
    tensor = {"name": "text", "shape": [len(texts)], "datatype": "BYTES", "data": texts}
    name, source = rng.choice([("tiny", "de"), ("tiny-nl", "nl")])
    return f"/v2/models/{name}/infer", {
        "inputs": [tensor],
        "parameters": {"source": source, "target": "en"},
    }


def _framed(rng: random.Random, frame: str, data: bytes) -> tuple[list[str], bytes]:
    """Return the header fields for a body, and how it is sent."""
    if frame == "chunks":
        size = rng.randint(1, max(1, len(data)))
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        sent = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])
        return ["transfer-encoding: chunked"], sent
    more = {"expect": ["expect: 100-continue"], "close": ["connection: close"]}
    return [f"content-length: {len(data)}", *more.get(frame, [])], data
