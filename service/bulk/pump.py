"""Concurrent translation of windows of lines, which keeps the engine busy; windows stay in order."""

import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from queue import Empty, Queue

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
class TranslatedWindow:
    """A translated window."""

    window: Window
    lines: list[str]
    """The translated lines; what is left untranslated in them is unchanged."""
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
    windows: Generator[Window],
    layouts: Sequence[Layout],
    translate: Translate,
    requests: int = REQUESTS,
    ahead: int = WINDOWS,
) -> Generator[TranslatedWindow]:
    """Translate the lines of every window, which a thread reads.

    Args:
        windows: windows of files, in order; closed when no more are needed.
        layouts: the layout of each file.
        translate: translates several texts; called from several threads.
        requests: number of concurrent requests.
        ahead: number of windows read ahead, at least 2.

    Yields:
        The translated windows, in order, each as early as possible, even while `windows` waits for the next.

    Raises:
        Exception: any error of `windows` or `translate`, after the windows before it.
    """
    threads, is_over = ThreadPoolExecutor(requests, "bulk"), threading.Event()
    pending: Queue[_Pending | BaseException | None] = Queue(ahead - 1)  # and one waits for a place

    def read() -> None:
        try:
            with closing(windows):
                for window in windows:
                    pending.put(_submit(window, layouts[window.file], translate, threads))
                    if is_over.is_set():
                        return
            pending.put(None)
        except BaseException as error:  # any error must reach the consumer, which waits
            if not is_over.is_set():
                pending.put(error)

    # a daemon, as it may wait for a line that never comes, and must not delay the end of the program
    threading.Thread(target=read, name="reader", daemon=True).start()
    try:
        while (outcome := pending.get()) is not None:
            if isinstance(outcome, BaseException):
                raise outcome
            yield _finish(outcome)
    finally:
        is_over.set()
        threads.shutdown(wait=False, cancel_futures=True)
        with suppress(Empty):  # the reader may wait for a place
            while True:
                pending.get_nowait()


def _submit(
    window: Window, layout: Layout, translate: Translate, threads: ThreadPoolExecutor
) -> _Pending:
    """Submit the requests of a window, longest lines first.

    So the lines of a batch have similar lengths, and the last ones are done quickly.
    """
    records = [layout.read(line) for line in window.lines]
    indices = [index for index, record in enumerate(records) if record.text]
    indices.sort(key=lambda index: -len(records[index].text))
    requests = []
    for start in range(0, len(indices), REQUEST_LINES):
        chunk = indices[start : start + REQUEST_LINES]
        texts = [records[index].text for index in chunk]
        requests.append((chunk, threads.submit(translated_each, translate, texts)))
    return _Pending(window, records, requests)


def _finish(pending: _Pending) -> TranslatedWindow:
    """Wait for the translations of a window, and put them into its lines."""
    records, first = pending.records, pending.window.first
    lines = [record.line for record in records]
    problems = {
        first + index: record.problem for index, record in enumerate(records) if record.problem
    }
    sentences = 0
    for indices, future in pending.requests:
        for index, translation in zip(indices, future.result(), strict=True):
            sentences += len(translation.sentences)
            if translation.first_problem:
                problems[first + index] = translation.first_problem
            if not translation.problem:
                lines[index] = records[index].translated(translation.text)
    return TranslatedWindow(pending.window, lines, sentences, dict(sorted(problems.items())))


def translated_each(translate: Translate, texts: Sequence[str]) -> list[Translation]:
    """Translate texts; a single text that is too long becomes a problem too, instead of an error."""
    try:
        return translate(texts)
    except TextTooLongError as error:
        if len(texts) != 1:
            raise
        return [Translation(texts[0], (), (), error=error)]
