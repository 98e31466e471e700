"""Pools whose threads exist before there is work."""

import threading

import pytest

from service.threads import ThreadError, Threads


def test_all_threads_of_a_pool_are_started_at_once() -> None:
    pool = Threads(3, "early")
    before = set(threading.enumerate())
    pool.start()
    started = set(threading.enumerate()) - before
    assert len(started) == 3
    pool.start()
    users = {pool.submit(threading.current_thread).result() for _ in range(20)}
    assert users <= started
    assert set(threading.enumerate()) - before == started
    pool.shutdown()


def test_a_pool_that_cannot_start_says_so_and_leaves_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, started = threading.Thread.start, list[threading.Thread]()

    def start_two(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_two)
    pool = Threads(3, "early")
    with pytest.raises(ThreadError, match=r"^the thread early could not be started: .*ulimit -u"):
        pool.start()
    pool.shutdown()
    for thread in started:
        thread.join(60)
        assert not thread.is_alive()
