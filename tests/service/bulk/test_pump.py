"""Windows are returned in order, in whatever order their lines are translated."""

import random
import threading
import time
from collections.abc import Generator, Sequence

import pytest

from service.bulk.pump import REQUEST_LINES, WINDOWS, translated
from service.bulk.reader import Window
from service.bulk.records import Lines
from service.errors import TextTooLongError
from service.translation.types import Translation


def windows(sizes: Sequence[int]) -> Generator[Window]:
    rng, first = random.Random(0), 1
    for size in sizes:
        lines = [f"{'x' * rng.randint(0, 30)} {first + at}\n" for at in range(size)]
        yield Window(0, first, lines, first)
        first += size


def single(*lines: str, first: int = 1) -> Generator[Window]:
    yield Window(0, first, [*lines], 0)


def upper(texts: Sequence[str]) -> list[Translation]:
    time.sleep(random.Random(texts[0]).random() / 100)
    return [Translation(text.upper(), (), ()) for text in texts]


def test_lines_keep_their_order() -> None:
    sizes = [300, 1, 64, 65, 200]
    given = list(windows(sizes))
    found = list(translated(windows(sizes), [Lines()], upper))
    assert [done.window for done in found] == given
    for done, window in zip(found, given, strict=True):
        assert done.lines == [line.upper() for line in window.lines]


def test_requests_group_lines_of_similar_length_and_prefetch_a_window() -> None:
    requests: list[list[int]] = []
    read: list[int] = []
    lock, may_go_on = threading.Lock(), threading.Event()

    def watched() -> Generator[Window]:
        for window in windows([256] * 6):
            read.append(window.first)
            yield window

    def translate(texts: Sequence[str]) -> list[Translation]:
        with lock:
            requests.append([len(text) for text in texts])
        assert may_go_on.wait(60)
        return upper(texts)

    def let_go() -> None:
        while len(requests) < 256 // REQUEST_LINES * WINDOWS:  # more than the first window has
            time.sleep(0.001)
        may_go_on.set()

    threading.Thread(target=let_go).start()
    work = translated(watched(), [Lines()], translate)
    next(work)
    while len(read) < WINDOWS + 1:
        time.sleep(0.001)
    assert len(read) == WINDOWS + 1, "no more is read than is needed"
    assert len(list(work)) == 5
    assert all(len(lengths) <= REQUEST_LINES for lengths in requests)
    spread = [max(lengths) - min(lengths) for lengths in requests]
    assert max(spread) < 15, "of 30"


def test_untranslated_lines_are_numbered() -> None:
    def translate(texts: Sequence[str]) -> list[Translation]:
        errors = {"x": TextTooLongError("too long")}
        return [Translation(text, (), (), error=errors.get(text)) for text in texts]

    lines = ["a\n", "x\n", "\n", "x\n"]
    [done] = translated(single(*lines, first=11), [Lines()], translate)
    assert done.problems == {12: "too long", 14: "too long"}
    assert done.lines == lines


def test_a_single_line_that_is_too_long_is_not_an_error() -> None:
    def translate(texts: Sequence[str]) -> list[Translation]:
        raise TextTooLongError("too long")

    [done] = translated(single("a\n"), [Lines()], translate)
    assert (done.lines, done.problems) == (["a\n"], {1: "too long"})


def test_an_error_ends_the_run_without_pending_work() -> None:
    def translate(texts: Sequence[str]) -> list[Translation]:
        raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        list(translated(windows([1000] * 5), [Lines()], translate))


def test_windows_before_an_error_of_the_reader_are_returned() -> None:
    def failing() -> Generator[Window]:
        yield from windows([3, 3])
        raise MemoryError

    work = translated(failing(), [Lines()], upper)
    assert [next(work).window.first, next(work).window.first] == [1, 4]
    with pytest.raises(MemoryError):
        next(work)


def test_a_window_is_returned_before_the_next_one_is_read() -> None:
    is_read = threading.Event()

    def slow() -> Generator[Window]:
        yield from windows([1])
        assert is_read.wait(60)

    work = translated(slow(), [Lines()], upper)
    assert next(work).window.first == 1
    is_read.set()
    assert list(work) == []


@pytest.mark.parametrize("taken", [0, 1])
def test_the_reader_ends_and_closes_its_files_when_the_work_is_given_up(taken: int) -> None:
    closed = []

    def endless() -> Generator[Window]:
        try:
            while True:
                yield from windows([1])
        finally:
            closed.append(True)

    before = set(threading.enumerate())
    work = translated(endless(), [Lines()], upper)
    next(work)
    for _ in range(taken):
        next(work)
    work.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()
    assert closed
