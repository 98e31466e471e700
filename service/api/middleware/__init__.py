"""ASGI middleware: the path, id, log line and metrics of each request, and limits on size and number."""
