"""HTTP as bytes, for clients that do what no library for it would."""

import asyncio
from contextlib import suppress

CLOSE = "connection: close"


def request(target: str, body: bytes = b"", *fields: str, method: str = "POST") -> bytes:
    """A whole request; `fields` are further lines of its head."""
    lines = [f"{method} {target} HTTP/1.1", "host: here", *fields]
    if body or method == "POST":
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def exchange(port: int, sent: bytes) -> bytes:
    """All that comes for a request on a connection of its own, which the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        with suppress(ConnectionError):  # refused before all of it was read; its answer is there
            await writer.drain()
        return await reader.read()
    finally:
        writer.close()


def status_and_body(answer: bytes) -> tuple[int, bytes]:
    """Those of a whole answer.

    Raises:
        ValueError: it is none.
    """
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head[9:12]), body
