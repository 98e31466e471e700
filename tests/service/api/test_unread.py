"""Answers that clients do not read, in simulated time."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import Mock, patch

import pytest

from service.api.unread import CHECK_SECONDS, PATIENCE_SECONDS, UnreadAnswers

LIMIT = 100


@dataclass
class Loop:
    """An event loop that only knows its time and one thing to do later."""

    now: float = 0.0
    due: float = float("inf")
    do: Callable[[], None] = field(default=lambda: None)

    def call_later(self, seconds: float, do: Callable[[], None]) -> Mock:
        self.due, self.do = self.now + seconds, do
        return Mock()

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while self.due <= end:
            self.now, self.due = self.due, float("inf")
            self.do()
        self.now = end


@dataclass(eq=False)
class Client:
    """A connection whose client reads, or does not."""

    loop: Loop
    unread: UnreadAnswers
    size: int
    waited: float = 0.0
    was_cut: bool = False

    def __post_init__(self) -> None:
        self.writable, self.transport, self.exchange = asyncio.Event(), self, Mock(num_held=10)
        self.since = self.loop.now - self.waited
        self.unread.changed(self)  # type: ignore[arg-type]

    @property
    def blocked_seconds(self) -> float:
        return self.loop.now - self.since

    def get_write_buffer_size(self) -> int:
        return self.size - 10

    def reset(self) -> None:
        self.was_cut = True

    def read(self) -> None:
        self.writable.set()
        self.unread.changed(self)  # type: ignore[arg-type]


@pytest.fixture
def loop() -> Iterator[Loop]:
    found = Loop()
    with patch("asyncio.get_running_loop", lambda: found):
        yield found


def cut(*clients: Client) -> list[bool]:
    return [client.was_cut for client in clients]


def test_beyond_the_limit_the_largest_that_have_waited_longest_are_cut_off(loop: Loop) -> None:
    unread = UnreadAnswers(LIMIT)
    small, first, second = (Client(loop, unread, size) for size in (20, 40, 45))
    loop.wait(PATIENCE_SECONDS / 2)
    third = Client(loop, unread, 60)
    loop.wait(PATIENCE_SECONDS / 2 - 0.1)
    assert cut(small, first, second, third) == [False] * 4
    loop.wait(0.1 + CHECK_SECONDS)
    assert cut(small, first, second, third) == [False, True, True, False]  # 80 are left
    loop.wait(10.0)
    last = Client(loop, unread, 30)  # others have waited long enough, and 110 are too many
    loop.wait(CHECK_SECONDS)
    assert cut(small, third, last) == [False, True, False]
    assert unread.num_cut == 3


def test_answers_that_are_read_in_time_do_not_count(loop: Loop) -> None:
    unread = UnreadAnswers(LIMIT)
    clients = [Client(loop, unread, 90) for _ in range(3)]
    for client in clients[1:]:
        loop.wait(PATIENCE_SECONDS / 3)
        client.read()
    loop.wait(10.0)
    assert cut(*clients) == [False] * 3


def test_what_is_read_slowly_has_waited_all_the_while(loop: Loop) -> None:
    unread = UnreadAnswers(LIMIT)
    other = Client(loop, unread, 60)
    slow = Client(loop, unread, 60, waited=PATIENCE_SECONDS)
    loop.wait(CHECK_SECONDS)
    assert cut(other, slow) == [False, True]


def test_an_answer_that_grows_counts_with_its_size(loop: Loop) -> None:
    unread = UnreadAnswers(LIMIT)
    stream, other = Client(loop, unread, 10), Client(loop, unread, 20)
    loop.wait(10.0)
    assert cut(stream, other) == [False, False]
    stream.exchange.num_held += 100
    loop.wait(CHECK_SECONDS)
    assert cut(stream, other) == [True, False]


def test_a_single_answer_may_exceed_the_limit(loop: Loop, caplog: pytest.LogCaptureFixture) -> None:
    unread = UnreadAnswers(LIMIT)
    with caplog.at_level(logging.WARNING):
        alone = Client(loop, unread, 500)
        loop.wait(10.0)
        assert (cut(alone), caplog.messages) == ([False], [])
        more = [Client(loop, unread, 500) for _ in range(2)]
        loop.wait(10.0)
    assert cut(alone, *more) == [True, True, False]
    assert caplog.messages == [
        "answers that clients do not read exceed 100 bytes; 1 cut off so far"
    ]


def test_nothing_is_watched_once_all_is_read_or_closed(loop: Loop) -> None:
    unread: Any = UnreadAnswers(LIMIT)
    Client(loop, unread, 500).read()
    unread.closed(Client(loop, unread, 500))
    loop.wait(10.0)
    assert loop.due == float("inf")
