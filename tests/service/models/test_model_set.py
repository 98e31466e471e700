"""A set of models: lookup by name, state, draining and closing."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from service.errors import InvalidRequestError, TextTooLongError
from service.models.bundle import load
from service.models.loading import ServedModel
from service.models.model_set import ModelSet
from service.translation.options import TranslationOptions
from tests.conftest import TINY_BUNDLE


class Engine:
    """An engine that does nothing and reports given values."""

    def __init__(self, waiting: int = 0, running: int = 0, failure: str | None = None) -> None:
        self.num_waiting, self.num_running, self.failure = waiting, running, failure
        self.is_alive = failure is None
        self.drained: list[float] = []

    def check(self) -> bool:
        return self.is_alive

    def drain(self, timeout: float) -> bool:
        self.drained.append(timeout)
        return self.num_running == 0


def model(name: str, engine: Engine | None = None, *, ends: bool = True) -> Any:
    """Make a fake model with the tiny bundle's languages; `ends` is whether its threads end in time."""
    bundle = load(TINY_BUNDLE)
    manifest = bundle.manifest.model_copy(update={"name": name})
    closed: list[bool] = []

    def close() -> bool:
        closed.append(True)
        return ends

    return SimpleNamespace(
        bundle=replace(bundle, manifest=manifest),
        engine=engine or Engine(),
        close=close,
        closed=closed,
    )


def models(*several: Any, max_characters: int = 100) -> ModelSet:
    return ModelSet(cast(list[ServedModel], list(several)), max_characters)


def test_waiting_and_running_sentences_are_summed_over_engines() -> None:
    both = models(model("one", Engine(waiting=2, running=3)), model("two", Engine(waiting=5)))
    assert (both.num_waiting, both.num_running) == (7, 3)


def test_the_failure_of_an_engine_names_its_model() -> None:
    both = models(model("one"), model("two", Engine(failure="no memory")))
    assert both.failure == "two: no memory"
    assert not both.is_alive
    assert not both.check()
    sound = models(model("one"), model("two"))
    assert sound.failure is None
    assert sound.is_alive
    assert sound.check()


def test_a_model_is_found_by_its_name() -> None:
    first, second, same = model("one"), model("two"), model("two")
    three = models(first, second, same)
    assert three.named("none") is None
    part = three.named("two")
    assert part is not None
    assert part.models == [second]
    assert three.named("two") is part
    alone = models(first)
    assert alone.named("one") is alone


def test_requests_to_a_named_model_count_as_active() -> None:
    both = models(model("one"), model("two"))
    part = both.named("two")
    assert part is not None
    with part.active, both.active:
        assert (part.num_active, both.num_active) == (1, 2)
    assert both.num_active == 0


def test_draining_waits_for_requests_and_for_engines() -> None:
    engines = Engine(), Engine(running=1)
    both = models(model("one", engines[0]), model("two", engines[1]))
    with both.active:
        assert not both.drain(0)
    assert not both.drain(60), "a sentence runs"
    engines[1].num_running = 0
    assert both.drain(60)
    for engine in engines:  # by then, all the time is left
        assert engine.drained[0] == 0
        assert 0 < engine.drained[2] <= 60


def test_close_closes_every_model_even_if_one_hangs() -> None:
    hanging, other = model("one", ends=False), model("two")
    assert not models(hanging, other).close()
    assert hanging.closed
    assert other.closed
    assert models(other).close()


@pytest.mark.parametrize(
    ("texts", "error", "said"),
    [
        (["", "", "abc"], TextTooLongError, r"request \(5\) exceeds text limit \(4\)"),
        (["ab", "\ud800"], InvalidRequestError, "text 1 has an unpaired surrogate at character 0"),
    ],
)
def test_invalid_texts_are_refused(texts: list[str], error: type[Exception], said: str) -> None:
    one = models(model("one"), max_characters=4)
    with pytest.raises(error, match=said):
        asyncio.run(one.translate(texts, "de", "en", TranslationOptions(), 60))
    assert one.num_active == 0


def test_the_prefix_of_the_translations_counts_for_each_text() -> None:
    one = models(model("one"), max_characters=29)
    options = TranslationOptions(target_prefix="The " * 2)
    said = r"request \(30\) exceeds text limit \(29\), target_prefix counted for each text"
    with pytest.raises(TextTooLongError, match=said):
        asyncio.run(one.translate(["ab"] * 3, "de", "de", options, 60))
    fitting = asyncio.run(one.translate(["a", "ab", "ab"], "de", "de", options, 60))
    assert [translation.text for translation in fitting] == ["a", "ab", "ab"]
