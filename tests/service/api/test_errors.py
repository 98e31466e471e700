"""Every class of error has a code of its own and a status."""

import pytest

from service import errors
from service.api.errors import status_of


def subclasses(kind: type[errors.AttendantError]) -> list[type[errors.AttendantError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in subclasses(child))]


EXPECTED = {
    "AccessError": 403,
    "MissingKeyError": 401,
    "InvalidKeyError": 403,
    "RateLimitError": 429,
    "AttendantError": 500,
    "InvalidRequestError": 400,
    "MissingParameterError": 400,
    "UnsupportedLanguageError": 400,
    "LimitExceededError": 400,
    "TextTooLongError": 400,
    "RefusedError": 503,
    "QueueFullError": 429,
    "NotReadyError": 503,
    "AbandonedError": 503,
    "DeadlineExceededError": 504,
    "CancelledError": 503,
    "EngineError": 500,
    "StepFailedError": 500,
    "EngineDeadError": 503,
    "BundleError": 500,
}


@pytest.mark.parametrize(
    "kind", subclasses(errors.AttendantError), ids=lambda kind: str(kind.__name__)
)
def test_status(kind: type[errors.AttendantError]) -> None:
    assert status_of(kind) == EXPECTED[kind.__name__]


def test_codes_are_unique_and_the_tree_is_drawn() -> None:
    kinds = subclasses(errors.AttendantError)
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert errors.__doc__ is not None
    for kind in kinds:
        assert kind.__name__ in errors.__doc__
