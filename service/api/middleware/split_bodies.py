"""Large answers are sent in pieces: for a client that does not read, only one piece is buffered."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import client_state
from service.api.client_state import ClientState

PIECE_BYTES = 65_536
"""Size of a piece, which may be buffered before the client reads."""


class SplitBodies:
    """Sends a larger body in pieces, each after the one before has been written."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_pieces(message: Message) -> None:
            body = message.get("body", b"")
            if len(body) <= PIECE_BYTES:
                await send(message)
                return
            client: ClientState = scope.get(client_state.KEY) or ClientState()
            client.num_held += len(body)
            last_start = (len(body) - 1) // PIECE_BYTES * PIECE_BYTES
            for start in range(0, last_start, PIECE_BYTES):
                piece = body[start : start + PIECE_BYTES]
                client.num_held -= PIECE_BYTES
                await send({**message, "body": piece, "more_body": True})
            client.num_held -= len(body) - last_start
            await send({**message, "body": body[last_start:]})

        await self.app(scope, receive, send_pieces)
