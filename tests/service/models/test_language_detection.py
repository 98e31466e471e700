"""Detection of languages for several requests at once."""

import asyncio
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from service.errors import DeadlineExceededError, TextTooLongError
from service.models.model_set import ModelSet
from service.text.detector import Detection
from tests.service.translating import OPTIONS
from tests.waiting import until

ENGLISH = "The old woman waits."


class Slow:
    """A detector that notes its threads, and can be made to wait."""

    def __init__(self, languages: Iterable[str]) -> None:
        self.languages, self.threads, self.texts = list(languages), [], []
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    threads: list[threading.Thread]
    texts: list[str]

    def detect(self, text: str, *_: object) -> list[Detection]:
        self.threads.append(threading.current_thread())
        self.texts.append(text)
        assert self.may_go_on.wait(60)
        return [Detection("en", 100)]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, models: ModelSet) -> Iterator[Slow]:
    detector = Slow(["de", "en"])
    monkeypatch.setattr(models._text_routes.detection, "_detector", detector)
    yield detector
    detector.may_go_on.set()


@pytest.mark.parametrize(
    "texts", [[ENGLISH] * 200, ["`a` " * 200], ["|1" * 400 + "\n" + "2\n" * 20]]
)
def test_long_work_does_not_run_on_the_event_loop(
    models: ModelSet, slow: Slow, texts: list[str]
) -> None:
    async def run() -> None:
        await models.translate([ENGLISH], "auto", "en", OPTIONS, 60)
        await models.translate(texts, "auto", "en", OPTIONS, 60)
        await models.detect("".join(texts), 60)

    asyncio.run(run())
    assert slow.threads[0] is threading.current_thread()
    assert threading.current_thread() not in slow.threads[1:]
    assert slow.texts == [ENGLISH, *texts, "".join(texts)]


def test_few_texts_do_not_wait_for_many(models: ModelSet) -> None:
    many = [ENGLISH] * 320

    async def translate_all() -> list[str]:
        order: list[str] = []

        async def translated(name: str, texts: list[str]) -> None:
            await models.translate(texts, "auto", "en", OPTIONS, 60)
            order.append(name)

        tasks = [asyncio.create_task(translated("many", many)) for _ in range(5)]
        tasks.append(asyncio.create_task(translated("few", many[:20])))
        await asyncio.gather(*tasks)
        return order

    assert asyncio.run(translate_all()).index("few") <= 1  # the first one may have begun


def test_a_long_text_counts_as_what_is_read_of_it(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    efforts: list[float] = []
    queue = models._text_routes.detection._queue
    turn = queue.turn

    def noting(effort: float) -> Any:
        efforts.append(effort)
        return turn(effort)

    monkeypatch.setattr(queue, "turn", noting)
    for text in (ENGLISH * 1_000, "$1 " + "1 " * 300):  # take 1 ms, and 6 ms
        asyncio.run(models.detect(text, 60))
    assert efforts[0] < efforts[1]


def test_the_wait_for_others_counts_for_the_deadline(models: ModelSet, slow: Slow) -> None:
    slow.may_go_on.clear()

    async def run() -> None:
        others = asyncio.create_task(models.detect(ENGLISH * 100, 60))
        await until(lambda: bool(slow.texts))
        with pytest.raises(DeadlineExceededError, match=r"the deadline of 0.05 s"):
            await models.translate([ENGLISH] * 200, "auto", "en", OPTIONS, 0.05)
        with pytest.raises(DeadlineExceededError, match=r"the deadline of 0.05 s"):
            await models.detect(ENGLISH * 100, 0.05)
        slow.may_go_on.set()
        assert await others == [Detection("en", 100)]

    asyncio.run(run())
    assert slow.texts == [ENGLISH * 100], "what nobody waits for is not begun"


def test_a_text_beyond_the_limit_is_refused(models: ModelSet, slow: Slow) -> None:
    with pytest.raises(TextTooLongError, match=r"50001\) exceeds text limit \(50000"):
        asyncio.run(models.detect("a" * 50_001, 60))
    assert not slow.texts
