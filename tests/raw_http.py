"""HTTP as bytes, for requests that no HTTP library would send."""

import asyncio
from contextlib import suppress

CLOSE = "connection: close"


def request(target: str, body: bytes = b"", *fields: str, method: str = "POST") -> bytes:
    """Build a request; `fields` are further header lines."""
    lines = [f"{method} {target} HTTP/1.1", "host: here", *fields]
    if body or method == "POST":
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def exchange(port: int, sent: bytes) -> bytes:
    """Send a request on a new connection, and read until the server closes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        with suppress(ConnectionError):  # refused before all of it was read, but with an answer
            await writer.drain()
        return await reader.read()
    finally:
        writer.close()


def status_and_body(answer: bytes) -> tuple[int, bytes]:
    """Split an answer into status and body.

    Raises:
        ValueError: the answer has no status.
    """
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head[9:12]), body
