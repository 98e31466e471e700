"""Around every request: its path, an id, a clock, the books, and limits on its size and number. Pure ASGI."""
