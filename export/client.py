"""A running service, spoken to as any program would."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

LINES_A_REQUEST, REQUESTS_AT_ONCE = 100, 4


class ServiceError(RuntimeError):
    """The service did not answer as it should."""


class Translation(NamedTuple):
    """What became of one line."""

    candidates: tuple[str, ...]
    """The translation, and behind it as many alternatives as were asked for and found."""
    finishes: tuple[str, ...]
    """Why the search of each of its sentences ended."""


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
        reason = getattr(error, "reason", error)  # of urllib's own kind of error
        raise ServiceError(f"{url}: {getattr(reason, 'strerror', None) or reason}") from None


def translate_lines(
    url: str, request: Mapping[str, Any], lines: Iterable[str]
) -> Iterator[tuple[list[str], list[Translation]]]:
    """Blocks of lines with their translations, in order, several requests under way at a time.

    `request` is what every request says beside its text; it is asked for scores too.

    Raises:
        ServiceError: a request failed; the blocks before it have been given.
    """
    rest = iter(lines)

    def translate(chunk: list[str]) -> list[Translation]:
        answer = fetch(f"{url}/translate", {**request, "q": chunk, "return_scores": True})
        others = answer.get("alternatives") or [[] for _ in chunk]
        columns = zip(answer["translatedText"], others, answer["details"], strict=True)
        return [
            Translation((text, *more), tuple(sentence["finish"] for sentence in details))
            for text, more, details in columns
        ]

    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        while block := list(islice(rest, LINES_A_REQUEST * REQUESTS_AT_ONCE)):
            starts = range(0, len(block), LINES_A_REQUEST)
            chunks = [block[start : start + LINES_A_REQUEST] for start in starts]
            yield block, [one for chunk in pool.map(translate, chunks) for one in chunk]
