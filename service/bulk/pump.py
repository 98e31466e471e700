"""Keeps the engine full: windows of lines in, the same windows translated out, in their order."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from service.bulk.reader import Window
from service.bulk.records import Layout, Record
from service.errors import TextTooLongError
from service.translation.types import Translation

REQUEST_LINES = 64
"""Lines of about the same length that are translated together."""
REQUESTS = 8
"""Translated at once; others are ready, so that the engine never waits for the reader."""
WINDOWS = 2
"""Read ahead: while the last, short lines of one are translated, the long ones of the next begin."""

Translate = Callable[[Sequence[str]], list[Translation]]


@dataclass(frozen=True, slots=True)
class Done:
    """A window whose lines are translated."""

    window: Window
    lines: list[str]
    sentences: int
    problems: dict[int, str]
    """By the number of a line that stays as it was."""


@dataclass(frozen=True, slots=True)
class _Pending:
    window: Window
    records: list[Record]
    requests: list[tuple[list[int], Future[list[Translation]]]]
    """The places of some records, and what becomes of them."""


def translated(
    windows: Iterable[Window], layouts: Sequence[Layout], translate: Translate
) -> Generator[Done]:
    """Translate the lines of every window.

    Args:
        windows: of files, in their order.
        layouts: of each file.
        translate: several texts at once; called by several threads.

    Raises:
        Whatever `windows` or `translate` do; a few windows before that are not given out.
    """
    threads = ThreadPoolExecutor(REQUESTS, "bulk")
    pending: deque[_Pending] = deque()
    try:
        for window in windows:
            pending.append(_begun(window, layouts[window.file], translate, threads))
            if len(pending) > WINDOWS:
                yield _finished(pending.popleft())
        while pending:
            yield _finished(pending.popleft())
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _begun(
    window: Window, layout: Layout, translate: Translate, threads: ThreadPoolExecutor
) -> _Pending:
    """Longest first, so that a batch has lines of one length, and the last ones are soon done."""
    records = [layout.read(line) for line in window.lines]
    places = [at for at, record in enumerate(records) if record.text]
    places.sort(key=lambda at: -len(records[at].text))
    requests = []
    for start in range(0, len(places), REQUEST_LINES):
        some = places[start : start + REQUEST_LINES]
        texts = [records[at].text for at in some]
        requests.append((some, threads.submit(translated_each, translate, texts)))
    return _Pending(window, records, requests)


def _finished(pending: _Pending) -> Done:
    records, first = pending.records, pending.window.first
    lines = [record.line for record in records]
    problems = {first + at: record.problem for at, record in enumerate(records) if record.problem}
    sentences = 0
    for places, future in pending.requests:
        for at, translation in zip(places, future.result(), strict=True):
            sentences += len(translation.sentences)
            if translation.problem:
                problems[first + at] = translation.problem
            else:
                lines[at] = records[at].translated(translation.text)
    return Done(pending.window, lines, sentences, dict(sorted(problems.items())))


def translated_each(translate: Translate, texts: Sequence[str]) -> list[Translation]:
    """What `translate` makes of the texts; a single one, too, may be too long without being an error."""
    try:
        return translate(texts)
    except TextTooLongError as error:
        if len(texts) != 1:
            raise
        return [Translation(texts[0], (), (), problem=str(error))]
