"""Answers that clients do not read, in simulated time."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast
from unittest.mock import Mock, patch

import pytest

from service.api.transport import LingeringTransport
from service.api.unread import PATIENCE_SECONDS, UnreadAnswers


@dataclass
class Loop:
    """An event loop that only knows its time and one thing to do later."""

    now: float = 0.0
    due: float = float("inf")
    do: Callable[[], None] = field(default=lambda: None)

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, do: Callable[[], None]) -> Mock:
        self.due, self.do = self.now + seconds, do
        return Mock()

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while self.due <= end:
            self.now, self.due = self.due, float("inf")
            self.do()
        self.now = end


@pytest.fixture
def loop() -> Iterator[Loop]:
    found = Loop()
    with patch("asyncio.get_running_loop", lambda: found):
        yield found


def answers(unread: UnreadAnswers, *sizes: int) -> list[Mock]:
    found = [Mock() for _ in sizes]
    for one, size in zip(found, sizes, strict=True):
        unread.add(cast(LingeringTransport, one), size, 0.0)
    return found


def cut(transports: list[Mock]) -> list[bool]:
    return [one.reset.called for one in transports]


def test_beyond_the_limit_the_answers_that_have_waited_longest_are_cut_off(loop: Loop) -> None:
    unread = UnreadAnswers(max_bytes=100)
    old = answers(unread, 40, 30)
    loop.wait(PATIENCE_SECONDS / 2)
    new = answers(unread, 20, 60)
    loop.wait(PATIENCE_SECONDS / 2 - 0.1)
    assert cut([*old, *new]) == [False] * 4
    loop.wait(0.2)
    assert cut([*old, *new]) == [True, True, False, False]  # 80 are left
    assert (unread.num_bytes, unread.num_cut) == (80, 2)
    loop.wait(10.0)
    assert cut(new) == [False, False]
    [last] = answers(unread, 30)  # two have waited long enough, and 110 would be too many
    assert cut([*new, last]) == [True, False, False]
    assert unread.num_bytes == 90


def test_answers_that_are_read_in_time_do_not_count(loop: Loop) -> None:
    unread = UnreadAnswers(max_bytes=100)
    found = answers(unread, 90, 90, 90)
    for one in found[1:]:
        loop.wait(PATIENCE_SECONDS / 3)
        unread.remove(cast(LingeringTransport, one))
    loop.wait(10.0)
    assert cut(found) == [False] * 3
    assert unread.num_bytes == 90


def test_a_single_answer_may_exceed_the_limit(loop: Loop, caplog: pytest.LogCaptureFixture) -> None:
    unread = UnreadAnswers(max_bytes=100)
    with caplog.at_level(logging.WARNING):
        [alone] = answers(unread, 500)
        loop.wait(10.0)
        assert (cut([alone]), caplog.messages) == ([False], [])
        more = answers(unread, 500, 500)
        loop.wait(10.0)
    assert cut([alone, *more]) == [True, True, False]
    assert caplog.messages == [
        "answers that clients do not read exceed 100 bytes; 1 were cut off so far"
    ]


def test_an_answer_that_is_read_slowly_has_waited_all_the_while(loop: Loop) -> None:
    unread = UnreadAnswers(max_bytes=100)
    [other] = answers(unread, 60)
    loop.wait(PATIENCE_SECONDS / 2)
    slow = Mock()
    unread.add(slow, 60, waited_seconds=PATIENCE_SECONDS - 0.1)
    loop.wait(0.2)
    assert cut([other, slow]) == [False, True]
