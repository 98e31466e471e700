"""Who may call, and how often: API keys, and rate limits by key or by address."""

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from fastapi import Request

from service.api.media import field_of
from service.errors import InvalidKeyError, MissingKeyError, RateLimitError
from service.keys import Key, Keys
from service.settings import Settings

MAX_CALLERS = 10_000
"""Of whom the rate is remembered; who has not called for longest is forgotten first."""
LONGEST_HOST = 64
"""Characters of an address that are looked at, so that none of any length is kept."""


class RateLimiter:
    """A bucket of a minute's requests for each caller, filled evenly (a token bucket)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nobody has called yet."""
        self.clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, per_minute: int) -> None:
        """Count one request of `caller`; a limit of 0 is none.

        Raises:
            RateLimitError: the bucket is empty; says when it will not be.
        """
        if not per_minute:
            return
        now = self.clock()
        left, then = self._buckets.pop(caller, (float(per_minute), now))
        left = min(per_minute, left + (now - then) * per_minute / 60)
        if left < 1:
            self._buckets[caller] = left, now
            raise RateLimitError(
                f"more than {per_minute} requests per minute", (1 - left) * 60 / per_minute
            )
        self._buckets[caller] = left - 1, now
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)


class Gate:
    """Lets callers in."""

    def __init__(self, settings: Settings) -> None:
        """Read the keys, if there are any.

        Raises:
            KeysError: their file cannot be used.
        """
        self.keys = Keys.read(settings.api_keys) if settings.api_keys else None
        self.key_required = settings.key_required
        self.requests_per_minute = settings.requests_per_minute
        self._limiter = RateLimiter()

    def enter(self, request: Request, key: object = None) -> None:
        """Let a request in, with the key of its body (whatever stands there) or of its head.

        Raises:
            MissingKeyError, InvalidKeyError, RateLimitError: it may not go on.
        """
        found = self._find(key or _key_of_head(request))
        if found is not None:
            name, entry = found
            self._limiter.take(f"key {name}", entry.requests_per_minute)
            return
        if self.key_required:
            raise MissingKeyError("Please contact the server operator to get an API key")
        if self.requests_per_minute:
            host = request.client.host if request.client else ""
            self._limiter.take(f"address {_network(host[:LONGEST_HOST])}", self.requests_per_minute)

    def enter_admin(self, request: Request) -> None:
        """Let in who may administer.

        Raises:
            MissingKeyError, InvalidKeyError: it is somebody else.
        """
        found = self._find(_key_of_head(request))
        if found is None:
            raise MissingKeyError("this needs an API key with admin = true")
        if not found[1].admin:
            raise InvalidKeyError("this API key does not have admin = true")

    def _find(self, key: object) -> tuple[str, Key] | None:
        """The entry of a key; None where no key is given or none is looked at."""
        if not key or self.keys is None:
            return None
        found = self.keys.find(key) if isinstance(key, str) else None
        if found is None:
            raise InvalidKeyError("Invalid API key")
        return found


def _key_of_head(request: Request) -> str | None:
    """`Authorization: Bearer KEY`, or DeepL's `DeepL-Auth-Key KEY`."""
    scheme, _, key = field_of(request.scope, b"authorization").partition(" ")
    return key.strip() if scheme.lower() in ("bearer", "deepl-auth-key") else None


@lru_cache(MAX_CALLERS)
def _network(host: str) -> str:
    """Whose requests count together: those of an IPv4 address, or of 64 bits of IPv6, which one client has.

    What a proxy passed on and is no address is nobody's own: it could be anything, of any length.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return "unknown"
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((int(address), 64), strict=False))
