"""The hierarchy of errors. Each class has a stable code; `api/errors.py` maps it to an HTTP status.

AttendantError
├── AccessError                  the caller lacks permission
│   ├── MissingKeyError
│   └── InvalidKeyError
├── InvalidRequestError          the caller must change the request
│   ├── MissingParameterError
│   ├── UnsupportedLanguageError
│   ├── NotTranslatedError       no translation of a text was found, and the answer cannot say so
│   └── LimitExceededError       a value exceeds the operator's limit
│       └── TextTooLongError     concerns one text; others of a list can be translated
│           └── TextTooDeepError
├── RefusedError                 nothing was done; try again later
│   ├── QueueFullError
│   ├── RateLimitError           this caller sends too many requests
│   ├── NotReadyError            starting or draining
│   └── ModelUnavailableError    this model cannot be loaded; others may work
├── AbandonedError               admitted, but not completed
│   ├── DeadlineExceededError
│   └── CancelledError           no longer wanted, or the engine was closed
│       └── ClientLeftError
├── EngineError                  an internal failure
│   ├── StepFailedError          this batch failed; the engine continues
│   └── EngineDeadError
└── BundleError                  a model folder that cannot be served
"""

import json
from collections.abc import Sequence
from pathlib import Path

MAX_QUOTED = 60
MOST_LISTED = 100
"""Number of languages up to which an error lists them all."""
_JSON = json.JSONEncoder(ensure_ascii=False, default=str)


def quoted(value: object) -> str:
    """Return a client's value as JSON, cut to `MAX_QUOTED` characters.

    >>> print(quoted(None), quoted(float("nan")), quoted(["ja", True]), quoted("bla " * 20))
    null NaN ["ja", true] "bla bla bla bla bla bla bla bla bla bla bla bla bla bla ...
    """
    text = ""
    try:
        for piece in _JSON.iterencode(value):  # piece by piece, as the value may be large or deep
            text += piece.encode("utf-8", "backslashreplace").decode()  # for unpaired surrogates
            if len(text) > MAX_QUOTED:
                break
    except ValueError:  # an integer beyond Python's limit on digits, or a list that contains itself
        text += "..."
    return text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 3]}..."


def reason(error: BaseException) -> str:
    """Return an error's message, or for one that has none, what it means.

    >>> reason(MemoryError()), reason(ValueError("no number")), reason(KeyboardInterrupt())
    ('out of memory', 'no number', 'KeyboardInterrupt')
    """
    if isinstance(error, MemoryError):
        return "out of memory"
    return str(error) or type(error).__name__


class AttendantError(Exception):
    """Base of all errors. `code` is stable and part of the interface; the message is for people."""

    code = "internal_error"
    retry_after: float | None = None
    """Seconds after which a retry makes sense, if known."""

    @property
    def client_message(self) -> str:
        """The message for clients."""
        return str(self)


class AccessError(AttendantError):
    """The caller lacks permission."""

    code = "forbidden"


class MissingKeyError(AccessError):
    """An API key is required, but none was given."""

    code = "missing_key"


class InvalidKeyError(AccessError):
    """The API key is unknown, or lacks permission."""

    code = "invalid_key"


class InvalidRequestError(AttendantError):
    """The request is invalid."""

    code = "invalid_request"


class MissingParameterError(InvalidRequestError):
    """A required parameter is absent or empty."""

    code = "missing_parameter"


class UnsupportedLanguageError(InvalidRequestError):
    """No loaded model has this language, or this direction."""

    code = "unsupported_language"

    def __init__(self, message: str, supported: Sequence[str] = ()) -> None:
        """The full message is `message` and the supported codes, if there are any and not too many."""
        is_listed = 0 < len(supported) <= MOST_LISTED
        super().__init__(f"{message}, only {', '.join(supported)}" if is_listed else message)


class NotTranslatedError(InvalidRequestError):
    """No translation of a text was found, and the answer could only repeat the text, as if it were one."""

    code = "not_translated"


class LimitExceededError(InvalidRequestError):
    """A value exceeds the operator's limit."""

    code = "limit_exceeded"


class TextTooLongError(LimitExceededError):
    """The text, or one sentence of it, is too long."""

    code = "text_too_long"


class TextTooDeepError(TextTooLongError):
    """The text has elements that are nested too deeply."""

    code = "text_too_deep"


class RefusedError(AttendantError):
    """Refused before any work."""

    code = "refused"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        """`retry_after` is in seconds."""
        super().__init__(message)
        self.retry_after = retry_after


class QueueFullError(RefusedError):
    """The queue is full, or too long for the request's deadline."""

    code = "queue_full"


class RateLimitError(RefusedError):
    """The caller has exceeded its number of requests per minute."""

    code = "rate_limit"


class NotReadyError(RefusedError):
    """The service is starting, or draining before it stops."""

    code = "not_ready"


class ModelUnavailableError(RefusedError):
    """The model of this direction could not be loaded; a later request tries again."""

    code = "model_unavailable"


class AbandonedError(AttendantError):
    """Work that was started, but not completed."""

    code = "abandoned"


class DeadlineExceededError(AbandonedError):
    """The deadline passed before the translation was done."""

    code = "deadline_exceeded"


class CancelledError(AbandonedError):
    """The answer is no longer wanted, or the engine was closed."""

    code = "cancelled"


class ClientLeftError(CancelledError):
    """The client closed its connection before the answer."""

    code = "client_left"


class EngineError(AttendantError):
    """The engine failed."""

    code = "engine_error"


class StepFailedError(EngineError):
    """A step of this sentence's batch failed; the engine continues."""

    code = "step_failed"

    def __init__(
        self,
        message: str = "a step of this sentence's batch failed; the server's log says why",
    ) -> None:
        """`message` is shown to clients, so it must not have internal details."""
        super().__init__(message)


class EngineDeadError(EngineError):
    """The engine has failed permanently, or hangs."""

    code = "engine_dead"

    def __init__(self, message: str = "the engine has failed; the server's log says why") -> None:
        """`message` is shown to clients, so it must not have internal details."""
        super().__init__(message)


class BundleError(AttendantError):
    """A bundle is missing, damaged, invalid, or in an unsupported format."""

    code = "bundle_error"

    def __init__(self, message: str, path: Path | None = None, detail: str = "") -> None:
        """The full message is path, message and detail.

        Args:
            message: what is wrong, to follow the path; must not contain another path.
            path: the folder or file; clients see only its last two parts.
            detail: a library's message, for the operator only.
        """
        super().__init__(f"{path or ''}{message}{detail and f': {detail}'}")
        self._message, self._path = message, path

    @property
    def client_message(self) -> str:
        """The message without the detail, and with only the end of the path."""
        parts = self._path.parts[-2:] if self._path else ()
        return "/".join(part for part in parts if part != "/") + self._message
