"""Messages from threads to an event loop."""

import asyncio
import threading

import pytest

from service.translation.mailbox import Mailbox


def test_messages_posted_before_the_loop_wakes_share_one_wake_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[int] = []

    async def run() -> int:
        loop, woken = asyncio.get_running_loop(), 0
        wake = loop.call_soon_threadsafe

        def counted(*call: object) -> object:
            nonlocal woken
            woken += 1
            return wake(*call)  # type: ignore[arg-type]

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        mailbox = Mailbox(loop)

        def post(start: int) -> None:
            for number in range(start, start + 100):
                mailbox.post(taken.append, number)

        for start in (0, 100):
            thread = threading.Thread(target=post, args=(start,))
            thread.start()
            thread.join()  # the loop does nothing meanwhile
            await asyncio.sleep(0.01)
        return woken

    assert asyncio.run(run()) == 2
    assert taken == list(range(200))


def test_no_message_is_lost_even_if_another_one_fails() -> None:
    taken: list[int] = []
    problems: list[object] = []

    def take(number: int) -> None:
        if number == 7:
            raise ValueError(number)
        taken.append(number)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: problems.append(context))
        mailbox = Mailbox(loop)

        def post(start: int) -> None:
            for number in range(start, 4000, 4):
                mailbox.post(take, number)

        threads = [threading.Thread(target=post, args=(start,)) for start in range(4)]
        for thread in threads:
            thread.start()
        while len(taken) < 3999:
            await asyncio.sleep(0)
        for thread in threads:
            thread.join()

    asyncio.run(asyncio.wait_for(run(), 20))
    assert sorted(taken) == [number for number in range(4000) if number != 7]
    assert len(problems) == 1


def test_messages_arrive_after_one_that_found_no_memory_to_wake_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[int] = []

    def fail(*_: object) -> None:
        raise MemoryError

    async def run() -> None:
        loop = asyncio.get_running_loop()
        mailbox = Mailbox(loop)
        with monkeypatch.context() as patched:
            patched.setattr(loop, "call_soon_threadsafe", fail)
            with pytest.raises(MemoryError):
                mailbox.post(taken.append, 1)
        mailbox.post(taken.append, 2)
        await asyncio.sleep(0.01)

    asyncio.run(run())
    assert taken == [1, 2]


def test_messages_to_a_closed_loop_are_dropped() -> None:
    loop = asyncio.new_event_loop()
    mailbox = Mailbox(loop)
    loop.close()
    mailbox.post(print, "nobody")
