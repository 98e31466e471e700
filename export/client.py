"""A client of a running service, which uses its HTTP interface."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

LINES_A_REQUEST, REQUESTS_AT_ONCE = 100, 4
Shape = TypeVar("Shape")


class ServiceError(RuntimeError):
    """The service cannot be reached, or answered with an error."""


class Translation(NamedTuple):
    """The translation of one line."""

    candidates: tuple[str, ...]
    """The translation, followed by the alternatives that were requested and found."""
    finishes: tuple[str, ...]
    """Why the search ended, for each sentence of the line."""


def fetch(url: str, body: dict[str, Any] | None = None) -> Any:
    """Send a GET request, or POST a JSON body; return the decoded JSON response.

    Raises:
        ServiceError: the service cannot be reached, or answered with an error.
    """
    data = None if body is None else json.dumps(body).encode()
    try:
        request = urllib.request.Request(url, data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise ServiceError(
            f"{url}: {error.code}: {error.read().decode(errors='replace')}"
        ) from None
    except (json.JSONDecodeError, RecursionError):
        raise ServiceError(f"{url}: the answer is not JSON") from None
    except (OSError, http.client.HTTPException, ValueError) as error:  # also for an invalid URL
        reason = getattr(error, "reason", error)  # URLError wraps the cause
        raise ServiceError(f"{url}: {getattr(reason, 'strerror', None) or reason}") from None


class Language(BaseModel):
    """One of the answer of `/languages`."""

    code: str
    targets: list[str]


class Sentence(BaseModel):
    """What `details` say about a sentence."""

    finish: str


class Translations(BaseModel):
    """The answer of `/translate` for a list."""

    translatedText: list[str]
    alternatives: list[list[str]] | None = None
    details: list[list[Sentence]] | None = None


def languages(url: str) -> list[Language]:
    """Return the source languages of a service, each with its targets.

    Raises:
        ServiceError: the request failed, or the answer is not that of Attendant.
    """
    address = f"{url}/languages"
    return _as_expected(TypeAdapter(list[Language]), address, fetch(address))


def translations(url: str, body: dict[str, Any]) -> Translations:
    """Translate the list `q` of a request's fields.

    Raises:
        ServiceError: the request failed, or the answer is not that of Attendant.
    """
    address = f"{url}/translate"
    answer = _as_expected(TypeAdapter(Translations), address, fetch(address, body))
    if body.get("return_scores") and answer.details is None:
        raise ServiceError(f"{address}: not an answer of Attendant: there are no details")
    for values in (answer.translatedText, answer.alternatives or None, answer.details):
        if values is not None and len(values) != len(body["q"]):
            raise ServiceError(f"{address}: {len(values)} answers for {len(body['q'])} texts")
    return answer


def _as_expected(shape: TypeAdapter[Shape], url: str, answer: object) -> Shape:
    """Check the shape of a decoded answer.

    Raises:
        ServiceError: it has another one.
    """
    try:
        return shape.validate_python(answer)
    except ValidationError as error:
        [first, *_] = error.errors()
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise ServiceError(f"{url}: not an answer of Attendant: {place}: {first['msg']}") from None


def translate_lines(
    url: str, request: Mapping[str, Any], lines: Iterable[str]
) -> Iterator[tuple[list[str], list[Translation]]]:
    """Translate lines in blocks, with several requests at a time.

    Args:
        url: the service's URL.
        request: fields of every request besides the text; `return_scores` is added.
        lines: the text.

    Yields:
        Blocks of lines with their translations, in order.

    Raises:
        ServiceError: a request failed; the blocks before it have been yielded.
    """
    remaining = iter(lines)

    def translate(chunk: list[str]) -> list[Translation]:
        answer = translations(url, {**request, "q": chunk, "return_scores": True})
        alternatives = answer.alternatives or [[] for _ in chunk]
        columns = zip(answer.translatedText, alternatives, answer.details or (), strict=True)
        return [
            Translation((text, *alternative_texts), tuple(sentence.finish for sentence in details))
            for text, alternative_texts, details in columns
        ]

    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        while block := list(islice(remaining, LINES_A_REQUEST * REQUESTS_AT_ONCE)):
            starts = range(0, len(block), LINES_A_REQUEST)
            chunks = [block[start : start + LINES_A_REQUEST] for start in starts]
            yield block, list(chain.from_iterable(pool.map(translate, chunks)))
