"""API keys, and rate limits per key or per address."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from fastapi import Request
from starlette.types import Scope

from service.errors import InvalidKeyError, InvalidRequestError, MissingKeyError, RateLimitError
from service.keys import Key, Keys
from service.settings import Settings

logger = logging.getLogger(__name__)

MAX_CALLERS = 10_000
"""Maximum number of callers whose rate is tracked; the least recent one is dropped first."""
WRONG_KEYS_PER_MINUTE = 20
"""Wrong keys that one address may send; beyond that, they get 429 instead of 403."""
LONGEST_HOST = 64
"""Characters of an address that are considered: a proxy may pass on a value of any length."""
_KNOWN = "known_key"
"""The key in a request's scope for its API key with name and entry, once that is found to be right."""


class RateLimiter:
    """A token bucket per caller, which holds one minute's requests."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Create a limiter without callers; `clock` returns seconds."""
        self.clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, per_minute: int, what: str = "requests") -> None:
        """Count one request of `caller`, or of what errors call `what`; `per_minute` 0 means no limit.

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
                f"more than {per_minute} {what} per minute", (1 - tokens) * 60 / per_minute
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
        # apart, so that nobody's guesses displace the rates of others
        self._wrong_keys = RateLimiter()

    def enter(self, request: Request, key: object = None) -> None:
        """Check the API key and the rate limit of a request.

        Args:
            request: its `Authorization` field is used if `key` is empty.
            key: the key from the body or query, as sent: of any type.

        Raises:
            MissingKeyError: a key is required and none was sent.
            RateLimitError: the caller has exceeded its rate limit.
            InvalidKeyError, InvalidRequestError: see `find`.
        """
        known_key = self.find(request.scope, key)
        if known_key is not None:
            name, entry = known_key
            self._limiter.take(f"key {name}", entry.requests_per_minute)
            return
        if self.key_required:
            raise MissingKeyError("Please contact the server operator to get an API key")
        if self.requests_per_minute:
            self._limiter.take(f"address {_network_of(request.scope)}", self.requests_per_minute)

    def enter_admin(self, request: Request) -> None:
        """Check that a request has the key of an administrator.

        Raises:
            MissingKeyError: no key was sent, or no keys are configured.
            InvalidKeyError: the key is not known, or does not have `admin = true`.
            RateLimitError: see `find`.
        """
        known_key = self.find(request.scope)
        if known_key is None:
            raise MissingKeyError("this needs an API key with admin = true")
        if not known_key[1].admin:
            raise InvalidKeyError("this API key does not have admin = true")

    def find(self, scope: Scope, key: object = None) -> tuple[str, Key] | None:
        """Return the name and entry of a request's key; None if none was sent or no keys are configured.

        Right keys are never refused here, whatever else comes from the same address.

        Args:
            scope: the request's; its `Authorization` field is used if `key` is empty.
            key: the key from the body or query, as sent: of any type.

        Raises:
            InvalidKeyError: the key is not known.
            RateLimitError: nor is it, and the same address has sent too many others.
            InvalidRequestError: there is another key in the head.
        """
        if self.keys is None:
            return None
        key_of_head = _key_of_head(scope)
        if key and key_of_head and key != key_of_head:
            raise InvalidRequestError(
                "Invalid request: the API key in Authorization is not the one in the other fields; "
                "send one of them"
            )
        if not (key := key or key_of_head):
            return None
        checked_key, *known = scope.get(_KNOWN, (None,))
        if key == checked_key:
            name, entry = known
            return name, entry
        known_key = self.keys.find(key) if isinstance(key, str) else None
        if known_key is None:
            self._wrong_keys.take(_network_of(scope), WRONG_KEYS_PER_MINUTE, "wrong API keys")
            raise InvalidKeyError("Invalid API key")
        scope[_KNOWN] = key, *known_key
        return known_key


def caller_of(scope: Scope) -> str:
    """Return the name of a request's API key, once that is found; "" if there is none."""
    _, name, _ = scope.get(_KNOWN, (None, "", None))
    return str(name)


def _key_of_head(scope: Scope) -> str | None:
    """Return the key of `Authorization: Bearer KEY` or DeepL's `Authorization: DeepL-Auth-Key KEY`.

    Letters beyond ASCII are UTF-8, as most clients send them, or else Latin-1 (RFC 9110, section 5.5).
    """
    field = dict(scope["headers"]).get(b"authorization", b"")
    try:
        text = field.decode()
    except UnicodeDecodeError:
        text = field.decode("latin-1")
    scheme, _, key = text.partition(" ")
    return key.strip() if scheme.lower() in ("bearer", "deepl-auth-key") else None


def _network_of(scope: Scope) -> str:
    """Return the network that a request comes from, see `_network`."""
    host, *_ = scope.get("client") or ("",)
    return _network(host[:LONGEST_HOST])


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
