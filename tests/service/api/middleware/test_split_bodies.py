"""Large answers in pieces."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from service.api.client_state import KEY, ClientState
from service.api.middleware.split_bodies import PIECE_BYTES, SplitBodies


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES])
@pytest.mark.parametrize("more", [False, True])
def test_a_large_answer_is_sent_in_small_pieces(size: int, more: bool) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": more})

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)
        held.append(client.num_held)

    client, held = ClientState(), list[int]()
    asyncio.run(SplitBodies(app)({"type": "http", KEY: client}, receive, send))
    start, *pieces = sent
    assert start["type"] == "http.response.start"
    assert b"".join(piece["body"] for piece in pieces) == body
    assert max(len(piece["body"]) for piece in pieces) <= PIECE_BYTES
    assert [piece["more_body"] for piece in pieces] == [True] * (len(pieces) - 1) + [more]
    assert held == [len(body)] * len(sent)  # all of it is in memory until the end
    assert client.num_held == 0
