"""Large answers in pieces: for a client that does not read, memory holds one piece, not the whole answer."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PIECE_BYTES = 65_536
"""As much as is written before the client has to read."""


class Pieces:
    """Sends what is larger piece by piece, each when the one before has been taken."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_pieces(message: Message) -> None:
            body = message.get("body", b"")
            if len(body) <= PIECE_BYTES:
                await send(message)
                return
            last = (len(body) - 1) // PIECE_BYTES * PIECE_BYTES
            for at in range(0, last, PIECE_BYTES):
                await send({**message, "body": body[at : at + PIECE_BYTES], "more_body": True})
            await send({**message, "body": body[last:]})

        await self.app(scope, receive, send_pieces)
