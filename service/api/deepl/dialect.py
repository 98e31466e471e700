"""What sets DeepL's dialect apart from others, besides its routes: errors, a status and a header field."""

from http import HTTPStatus

from service.api.dialect import Dialect
from service.errors import TextTooLongError


def _error(message: str, code: str) -> dict[str, str]:
    return {"message": message, "detail": code}


DEEPL = Dialect(
    prefixes=("/v2/", "/v3/"),
    error=_error,
    translates=lambda path: path == "/v2/translate",
    takes_key=lambda _: True,
    key_field="auth_key",
    statuses={TextTooLongError: HTTPStatus.REQUEST_ENTITY_TOO_LARGE},
    request_id_fields=(b"x-request-id", b"x-trace-id"),
)
