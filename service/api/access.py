"""API keys, and rate limits per key or per address."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from fastapi import Request

from service.errors import InvalidKeyError, MissingKeyError, RateLimitError
from service.keys import Key, Keys
from service.settings import Settings

logger = logging.getLogger(__name__)

MAX_CALLERS = 10_000
"""Maximum number of callers whose rate is tracked; the least recent one is dropped first."""
LONGEST_HOST = 64
"""Characters of an address that are considered: a proxy may pass on a value of any length."""


class RateLimiter:
    """A token bucket per caller, which holds one minute's requests."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Create a limiter without callers; `clock` returns seconds."""
        self.clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, per_minute: int) -> None:
        """Count one request of `caller`; `per_minute` 0 means no limit.

        Raises:
            RateLimitError: the bucket is empty; the error says when the next request is allowed.
        """
        if not per_minute:
            return
        now = self.clock()
        tokens, last_time = self._buckets.pop(caller, (float(per_minute), now))
        tokens = min(per_minute, tokens + (now - last_time) * per_minute / 60)
        if tokens < 1:
            self._buckets[caller] = tokens, now
            raise RateLimitError(
                f"more than {per_minute} requests per minute", (1 - tokens) * 60 / per_minute
            )
        self._buckets[caller] = tokens - 1, now
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)


class Gate:
    """Checks API keys and rate limits."""

    def __init__(self, settings: Settings) -> None:
        """Read the API keys, if a file of keys is configured.

        Raises:
            KeysError: the file of keys cannot be read, or is invalid.
        """
        self.keys = Keys.read(settings.api_keys) if settings.api_keys else None
        self.key_required = settings.key_required
        if self.key_required and self.keys is not None and not self.keys.entries:
            message = "%s has no keys, but ATTENDANT_KEY_REQUIRED is set: nobody can translate"
            logger.warning(message, settings.api_keys)
        self.requests_per_minute = settings.requests_per_minute
        self._limiter = RateLimiter()

    def enter(self, request: Request, key: object = None) -> None:
        """Check the API key and the rate limit of a request.

        Args:
            request: its `Authorization` field is used if `key` is empty.
            key: the key from the body or query, as sent: of any type.

        Raises:
            MissingKeyError: a key is required and none was sent.
            InvalidKeyError: the key is not known.
            RateLimitError: the caller has exceeded its rate limit.
        """
        known_key = self._find(key or _key_of_head(request))
        if known_key is not None:
            name, entry = known_key
            self._limiter.take(f"key {name}", entry.requests_per_minute)
            return
        if self.key_required:
            raise MissingKeyError("Please contact the server operator to get an API key")
        if self.requests_per_minute:
            host = request.client.host if request.client else ""
            self._limiter.take(f"address {_network(host[:LONGEST_HOST])}", self.requests_per_minute)

    def enter_admin(self, request: Request) -> None:
        """Check that a request has the key of an administrator.

        Raises:
            MissingKeyError: no key was sent, or no keys are configured.
            InvalidKeyError: the key is not known, or does not have `admin = true`.
        """
        known_key = self._find(_key_of_head(request))
        if known_key is None:
            raise MissingKeyError("this needs an API key with admin = true")
        if not known_key[1].admin:
            raise InvalidKeyError("this API key does not have admin = true")

    def _find(self, key: object) -> tuple[str, Key] | None:
        """Return a key's name and entry; None if no key was sent or no keys are configured."""
        if not key or self.keys is None:
            return None
        known_key = self.keys.find(key) if isinstance(key, str) else None
        if known_key is None:
            raise InvalidKeyError("Invalid API key")
        return known_key


def _key_of_head(request: Request) -> str | None:
    """Return the key of `Authorization: Bearer KEY` or DeepL's `Authorization: DeepL-Auth-Key KEY`.

    Letters beyond ASCII are UTF-8, as most clients send them, or else Latin-1 (RFC 9110, section 5.5).
    """
    field = dict(request.scope["headers"]).get(b"authorization", b"")
    try:
        text = field.decode()
    except UnicodeDecodeError:
        text = field.decode("latin-1")
    scheme, _, key = text.partition(" ")
    return key.strip() if scheme.lower() in ("bearer", "deepl-auth-key") else None


@lru_cache(MAX_CALLERS)
def _network(host: str) -> str:
    """Return the network whose requests share one rate limit: an IPv4 address or an IPv6 /64.

    A single client usually has a whole /64. All values that are not addresses, which a proxy may pass on,
    share the name "unknown".
    """
    try:
        address = ip_address(host)
    except ValueError:
        return "unknown"
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((int(address), 64), strict=False))
