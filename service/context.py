"""The id of the request that is being served, for the log's lines."""

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")
