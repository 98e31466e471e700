"""The order in which waiting threads are woken."""

import threading
import time

from service.engine.lifo_condition import LifoCondition


def test_the_last_waiting_thread_is_woken_first() -> None:
    lock = threading.RLock()
    idle = LifoCondition(lock)
    waiting: list[int] = []
    woken: list[int] = []

    def wait(number: int) -> None:
        with lock:
            waiting.append(number)
            idle.wait()
            woken.append(number)

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(4)]
    for count, thread in enumerate(threads, 1):
        thread.start()
        until_there_are(count, waiting, lock)
    for count in (1, 2):
        with lock:
            idle.notify(1)
        until_there_are(count, woken, lock)
    assert woken == [3, 2]
    with lock:
        idle.notify_all()
        idle.notify(5)  # nobody is left
    for thread in threads:
        thread.join(60)
    assert sorted(woken) == [0, 1, 2, 3]


def until_there_are(count: int, numbers: list[int], lock: "threading.RLock") -> None:
    for _ in range(10_000):
        with lock:
            if len(numbers) == count:
                return
        time.sleep(0.001)
    raise TimeoutError
