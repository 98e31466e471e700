"""One request's way, without HTTP."""

import asyncio
from collections.abc import Iterator

import pytest
from prometheus_client import Counter

from service.errors import DeadlineExceededError
from service.metrics import Metrics
from service.serving import ServedModel, start_model
from service.settings import Settings
from service.translator import CHARACTERS_ON_LOOP, TranslationOptions
from tests import toy
from tests.conftest import TINY_BUNDLE

OPTIONS = TranslationOptions()
TEXTS = ["Der alte Hund schläft.", "Die alte Frau wartet."]


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def model(metrics: Metrics) -> Iterator[ServedModel]:
    started = start_model(TINY_BUNDLE, Settings(precision="fp32", device="cpu"), metrics)
    yield started
    started.engine.close()


def translate(model: ServedModel, texts: list[str], timeout: float = 60) -> list[str]:
    work = model.translator.translate(texts, "de", "en", OPTIONS, timeout)
    return [translation.text for translation in asyncio.run(work)]


def test_a_page_is_its_sentences(model: ServedModel) -> None:
    sentences = [german for german, _ in toy.sentences()]
    page = "\n".join(" ".join(sentences[at : at + 3]) for at in range(0, len(sentences), 3))
    assert len(page) > CHARACTERS_ON_LOOP
    whole = translate(model, [page])[0]
    one_by_one = translate(model, sentences)
    assert whole.replace("\n", " ") == " ".join(one_by_one)
    assert whole.count("\n") == page.count("\n")


def outcomes(metrics: Metrics) -> dict[str, float]:
    return {
        sample.labels["outcome"]: sample.value
        for metric in metrics.sentences.collect()
        for sample in metric.samples
        if sample.name.endswith("_total")
    }


def test_a_passed_deadline_is_an_error_and_is_counted(model: ServedModel, metrics: Metrics) -> None:
    with pytest.raises(DeadlineExceededError):
        translate(model, ["Der alte Hund schläft. Die alte Frau wartet."], timeout=1e-9)
    assert outcomes(metrics) == {"expired": 2}


def test_a_cancelled_request_leaves_nothing_running(model: ServedModel, metrics: Metrics) -> None:
    async def begin_and_cancel() -> None:
        texts = [german for german, _ in toy.sentences()]
        task = asyncio.create_task(model.translator.translate(texts, "de", "en", OPTIONS, 60))
        while not model.engine.num_running:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(begin_and_cancel())
    assert outcomes(metrics) == {"cancelled": len(toy.sentences())}
    assert model.engine.drain(10)
    assert model.engine.num_waiting + model.engine.num_running == 0


def total(counter: Counter) -> float:
    [metric] = counter.collect()
    return metric.samples[0].value


def test_what_was_translated_before_is_given_again_only_if_asked_for_in_the_same_way() -> None:
    metrics = Metrics()
    settings = Settings(precision="fp32", device="cpu", cached_sentences=3)
    model = start_model(TINY_BUNDLE, settings, metrics)
    try:
        first = translate(model, TEXTS)
        assert total(metrics.cached_sentences) == 0
        engine_tokens = total(metrics.source_tokens)
        assert translate(model, TEXTS[::-1]) == first[::-1]
        assert total(metrics.cached_sentences) == 2
        assert total(metrics.source_tokens) == engine_tokens
        greedy = TranslationOptions(beam_size=1)
        asyncio.run(model.translator.translate(TEXTS, "de", "en", greedy, 60))
        assert total(metrics.cached_sentences) == 2
        translate(model, TEXTS)  # one of the two has made room for the greedy ones
        assert total(metrics.cached_sentences) == 3
    finally:
        model.engine.close()


def test_nothing_is_kept_unless_asked_for(model: ServedModel, metrics: Metrics) -> None:
    assert translate(model, TEXTS) == translate(model, TEXTS)
    assert total(metrics.cached_sentences) == 0
