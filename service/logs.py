"""Logs: one line an event, with the id of the request that it belongs to; never a text."""

import logging

from service.api.middleware import request_id


class _WithRequestId(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


def configure(level: str) -> None:
    """Log to standard error from `level` on; called once, by `__main__`."""
    handler = logging.StreamHandler()
    handler.addFilter(_WithRequestId())
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s")
    )
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
