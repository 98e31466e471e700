"""A running service, spoken to as any program would."""

import json
import urllib.error
import urllib.request
from typing import Any


class ServiceError(RuntimeError):
    """The service did not answer as it should."""


def fetch(url: str, body: dict[str, Any] | None = None) -> Any:
    """GET, or POST a JSON body; returns the JSON answer.

    Raises:
        ServiceError: no answer, or an error.
    """
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise ServiceError(
            f"{url}: {error.code}: {error.read().decode(errors='replace')}"
        ) from None
    except OSError as error:
        raise ServiceError(f"{url}: {error}") from None
