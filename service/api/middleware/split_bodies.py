"""Large answers are sent in pieces: for a client that does not read, only one piece is buffered."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import client_state
from service.api.client_state import ClientState

PIECE_BYTES = 65_536
"""Size of a piece, which may be buffered before the client reads."""


class SplitBodies:
    """Sends a larger body in pieces, each after the one before has been written.

    Until the last one is written, the whole body is in memory, and counts as held. So the head, which may
    have to wait for the client to read an earlier answer, is sent with the first piece.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        client: ClientState = scope.get(client_state.KEY) or ClientState()
        start: Message | None = None

        async def send_pieces(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            body = message.get("body", b"")
            client.num_held += len(body)
            try:
                if start is not None:
                    head, start = start, None
                    await send(head)
                last_start = max(0, len(body) - 1) // PIECE_BYTES * PIECE_BYTES
                for first in range(0, last_start, PIECE_BYTES):
                    piece = body[first : first + PIECE_BYTES]
                    await send({**message, "body": piece, "more_body": True})
                await send({**message, "body": body[last_start:]} if last_start else message)
            finally:
                client.num_held -= len(body)

        await self.app(scope, receive, send_pieces)
