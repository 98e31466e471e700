"""A client's connection: uvicorn's, which also ends where a request never does, and refuses in our words."""

import asyncio
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from service.api.errors import answer

HEAD_SECONDS = 30.0
"""In which a request's head must arrive, counted from its first byte."""


class Connection(H11Protocol):
    """One connection. One on which nothing was ever sent is closed when an idle one would be."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """As uvicorn makes it."""
        super().__init__(*args, **options)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a first byte as long as for the next request."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def data_received(self, data: bytes) -> None:
        """Take in what has come, and watch the clock while a head is incomplete."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._head_timer = self._head_timer or self.loop.call_later(
                HEAD_SECONDS, self._refuse_slow
            )
        else:
            self._forget_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave no clock behind."""
        self._forget_head()
        super().connection_lost(exc)

    def _should_upgrade(self) -> bool:
        """Never: who offers it (Java's HttpClient, in every request) is answered as if nothing had been said.

        uvicorn's own writes two lines on the log for each.
        """
        return False

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours says more
        """What uvicorn calls for a request that is none, in the shape of all other errors."""
        limit = self.config.h11_max_incomplete_event_size
        message = f"Invalid request: it is not HTTP/1.1, or its head has more than {limit} bytes"
        self._refuse(HTTPStatus.BAD_REQUEST, message, "invalid_http")

    def _refuse_slow(self) -> None:
        if not self.transport.is_closing():
            message = f"Invalid request: after {HEAD_SECONDS:g} s its head was not complete"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, message, "head_too_slow")

    def _refuse(self, status: HTTPStatus, message: str, code: str) -> None:
        response = answer(status, message, code)
        headers = [*response.raw_headers, (b"connection", b"close")]
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # no answer has begun
            for event in (
                h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
                h11.Data(data=bytes(response.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
