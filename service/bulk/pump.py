"""Concurrent translation of windows of lines, which keeps the engine busy; windows stay in order."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from service.bulk.reader import Window
from service.bulk.records import Layout, Record
from service.errors import TextTooLongError
from service.translation.types import Translation

REQUEST_LINES = 64
"""Lines per request; they have about the same length."""
REQUESTS = 8
"""Concurrent requests; further ones are queued, so that the engine never waits for the reader."""
WINDOWS = 2
"""Windows read ahead: while the last, short lines of one are translated, the long ones of the next begin."""

Translate = Callable[[Sequence[str]], list[Translation]]


@dataclass(frozen=True, slots=True)
class Done:
    """A translated window."""

    window: Window
    lines: list[str]
    """The translated lines; those with problems are unchanged."""
    sentences: int
    problems: dict[int, str]
    """The reasons why lines were not translated, by line number."""


@dataclass(frozen=True, slots=True)
class _Pending:
    window: Window
    records: list[Record]
    requests: list[tuple[list[int], Future[list[Translation]]]]
    """Indexes of records, and the future of their translations."""


def translated(
    windows: Iterable[Window], layouts: Sequence[Layout], translate: Translate
) -> Generator[Done]:
    """Translate the lines of every window.

    Args:
        windows: windows of files, in order.
        layouts: the layout of each file.
        translate: translates several texts; called from several threads.

    Yields:
        The translated windows, in the same order.

    Raises:
        Exception: any error of `windows` or `translate`; a few windows before it may be lost.
    """
    threads = ThreadPoolExecutor(REQUESTS, "bulk")
    pending: deque[_Pending] = deque()
    try:
        for window in windows:
            pending.append(_submit(window, layouts[window.file], translate, threads))
            if len(pending) > WINDOWS:
                yield _finish(pending.popleft())
        while pending:
            yield _finish(pending.popleft())
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _submit(
    window: Window, layout: Layout, translate: Translate, threads: ThreadPoolExecutor
) -> _Pending:
    """Submit the requests of a window, longest lines first.

    So the lines of a batch have similar lengths, and the last ones are done quickly.
    """
    records = [layout.read(line) for line in window.lines]
    places = [at for at, record in enumerate(records) if record.text]
    places.sort(key=lambda at: -len(records[at].text))
    requests = []
    for start in range(0, len(places), REQUEST_LINES):
        some = places[start : start + REQUEST_LINES]
        texts = [records[at].text for at in some]
        requests.append((some, threads.submit(translated_each, translate, texts)))
    return _Pending(window, records, requests)


def _finish(pending: _Pending) -> Done:
    """Wait for the translations of a window, and put them into its lines."""
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
    """Translate texts; a single text that is too long becomes a problem too, instead of an error."""
    try:
        return translate(texts)
    except TextTooLongError as error:
        if len(texts) != 1:
            raise
        return [Translation(texts[0], (), (), problem=str(error))]
