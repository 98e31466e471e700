"""What can go wrong, as one tree. Each class has a stable code; `api/errors.py` knows its HTTP status.

AttendantError
├── AccessError                  the caller may not
│   ├── MissingKeyError
│   └── InvalidKeyError
├── InvalidRequestError          the caller can mend it
│   ├── MissingParameterError
│   ├── UnsupportedLanguageError
│   └── LimitExceededError       a value over an operator's limit
│       └── TextTooLongError     this text; others of its list can be translated
│           └── TextTooDeepError
├── RefusedError                 nothing was done; try again later
│   ├── QueueFullError
│   ├── RateLimitError           this caller asks too often
│   ├── NotReadyError            starting or draining
│   └── ModelUnavailableError    this model cannot be loaded; others serve
├── AbandonedError               admitted, then given up
│   ├── DeadlineExceededError
│   └── CancelledError           nobody waits, or the engine was closed
│       └── ClientLeftError
├── EngineError                  our own fault
│   ├── StepFailedError          this batch failed, the engine goes on
│   └── EngineDeadError
└── BundleError                  a model folder that cannot be served
"""

import json
from pathlib import Path

_JSON = json.JSONEncoder(ensure_ascii=False, default=str)


def quoted(given: object, max_characters: int = 60) -> str:
    """What a client gave, as JSON writes it; of what is long the beginning.

    >>> print(quoted(None), quoted(float("nan")), quoted(["ja", True]), quoted("a" * 80, 9))
    null NaN ["ja", true] "aaaaa...
    """
    written = ""
    for piece in _JSON.iterencode(given):  # piece by piece: it may be large, or deep
        written += piece.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair
        if len(written) > max_characters:
            return f"{written[: max_characters - 3]}..."
    return written


class AttendantError(Exception):
    """Base of all; `code` is stable and part of the interface, the message is for people."""

    code = "internal_error"
    retry_after: float | None = None
    """Seconds after which it makes sense to ask again, where that is known."""

    @property
    def client_message(self) -> str:
        """What a client is told."""
        return str(self)


class AccessError(AttendantError):
    """The caller may not do this."""

    code = "forbidden"


class MissingKeyError(AccessError):
    """No API key was given, and one is needed."""

    code = "missing_key"


class InvalidKeyError(AccessError):
    """The API key is not known, or not allowed this."""

    code = "invalid_key"


class InvalidRequestError(AttendantError):
    """The request cannot be served as it is."""

    code = "invalid_request"


class MissingParameterError(InvalidRequestError):
    """A required parameter is absent or empty."""

    code = "missing_parameter"


class UnsupportedLanguageError(InvalidRequestError):
    """No loaded model has this language, or this direction."""

    code = "unsupported_language"


class LimitExceededError(InvalidRequestError):
    """A value is over the operator's limit."""

    code = "limit_exceeded"


class TextTooLongError(LimitExceededError):
    """The text, or one sentence of it, is too long."""

    code = "text_too_long"


class TextTooDeepError(TextTooLongError):
    """The text has elements within elements to a depth over the limit."""

    code = "text_too_deep"


class RefusedError(AttendantError):
    """Refused before any work."""

    code = "refused"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        """Say why, and when to come again."""
        super().__init__(message)
        self.retry_after = retry_after


class QueueFullError(RefusedError):
    """As much waits as may wait, or more than can be done in time."""

    code = "queue_full"


class RateLimitError(RefusedError):
    """More requests in a minute than this caller may make."""

    code = "rate_limit"


class NotReadyError(RefusedError):
    """The service is starting, or draining before it stops."""

    code = "not_ready"


class ModelUnavailableError(RefusedError):
    """The model of this direction cannot be loaded; it is tried again later."""

    code = "model_unavailable"


class AbandonedError(AttendantError):
    """Work that was begun and given up."""

    code = "abandoned"


class DeadlineExceededError(AbandonedError):
    """The deadline passed before the translation was done."""

    code = "deadline_exceeded"


class CancelledError(AbandonedError):
    """Nobody waits for the answer any more, or the engine was closed."""

    code = "cancelled"


class ClientLeftError(CancelledError):
    """The client closed its connection before its answer was there."""

    code = "client_left"


class EngineError(AttendantError):
    """The engine could not do what it should."""

    code = "engine_error"


class StepFailedError(EngineError):
    """A step of this sentence's batch failed; others are served on."""

    code = "step_failed"

    def __init__(
        self,
        message: str = "a step of this sentence's batch failed; the server's log says why",
    ) -> None:
        """Say no more than a client may know."""
        super().__init__(message)


class EngineDeadError(EngineError):
    """The engine failed for good, or hangs, and serves no more."""

    code = "engine_dead"

    def __init__(self, message: str = "the engine has failed; the server's log says why") -> None:
        """Say no more than a client may know."""
        super().__init__(message)


class BundleError(AttendantError):
    """A bundle is missing, damaged, of another format, or makes no sense."""

    code = "bundle_error"

    def __init__(self, message: str, path: Path | None = None, detail: str = "") -> None:
        """Say what is wrong.

        Args:
            message: the words that follow the path; they hold no other.
            path: the folder or file at fault, of which clients are told the end only.
            detail: what a library said, for the operator alone.
        """
        super().__init__(f"{path or ''}{message}{detail and f': {detail}'}")
        self._message, self._path = message, path

    @property
    def client_message(self) -> str:
        """Without where the bundle lies on this machine."""
        parts = self._path.parts[-2:] if self._path else ()
        return "/".join(part for part in parts if part != "/") + self._message
