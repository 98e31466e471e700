"""Around every request: its path, id, log line and metrics, and limits on size and number. Pure ASGI."""
