"""A client of a running service, which uses its HTTP interface."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, NamedTuple

LINES_A_REQUEST, REQUESTS_AT_ONCE = 100, 4


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
    except json.JSONDecodeError:
        raise ServiceError(f"{url}: the answer is not JSON") from None
    except (OSError, http.client.HTTPException, ValueError) as error:  # also for an invalid URL
        reason = getattr(error, "reason", error)  # URLError wraps the cause
        raise ServiceError(f"{url}: {getattr(reason, 'strerror', None) or reason}") from None


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
        answer = fetch(f"{url}/translate", {**request, "q": chunk, "return_scores": True})
        alternatives = answer.get("alternatives") or [[] for _ in chunk]
        columns = zip(answer["translatedText"], alternatives, answer["details"], strict=True)
        return [
            Translation(
                (text, *alternative_texts), tuple(sentence["finish"] for sentence in details)
            )
            for text, alternative_texts, details in columns
        ]

    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        while block := list(islice(remaining, LINES_A_REQUEST * REQUESTS_AT_ONCE)):
            starts = range(0, len(block), LINES_A_REQUEST)
            chunks = [block[start : start + LINES_A_REQUEST] for start in starts]
            yield block, list(chain.from_iterable(pool.map(translate, chunks)))
