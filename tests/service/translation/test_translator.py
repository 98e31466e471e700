"""One request's way, without HTTP."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import Counter

from service.engine.types import Floats
from service.errors import DeadlineExceededError, LimitExceededError, QueueFullError
from service.metrics import Metrics
from service.models.model_set import ModelSet
from service.settings import Settings
from service.text.sentence import Sentence
from service.translation import pieces
from service.translation.aligner import Aligner
from service.translation.effort import EFFORT_ON_LOOP, effort_of
from service.translation.options import TranslationOptions
from service.translation.sentence_translator import Parts, SentenceTranslator
from service.translation.types import Done, SentenceResult, Translation
from tests import toy
from tests.service.translating import OPTIONS, TEXTS, outcomes, start, translate
from tests.waiting import until


def test_a_text_equals_its_sentences(models: ModelSet) -> None:
    sentences = [german for german, _ in toy.sentences()]
    page = "\n".join(" ".join(sentences[at : at + 3]) for at in range(0, len(sentences), 3))
    assert len(page) > EFFORT_ON_LOOP
    whole = translate(models, [page])[0]
    one_by_one = translate(models, sentences)
    assert whole.replace("\n", " ") == " ".join(one_by_one)
    assert whole.count("\n") == page.count("\n")


def test_a_passed_deadline_is_an_error_and_is_counted(models: ModelSet, metrics: Metrics) -> None:
    with pytest.raises(DeadlineExceededError):
        translate(models, ["Der alte Hund schläft. Die alte Frau wartet."], timeout=1e-9)
    assert outcomes(metrics) == {"expired": 2}


def test_texts_of_clients_are_not_kept(models: ModelSet) -> None:
    translator = models.models[0].translator
    [direction, *_] = translator.manifest.directions
    made = [
        weakref.ref(translator.preparation(direction, replace(OPTIONS, **of_client)))
        for of_client in ({"target_prefix": "The"}, {"ignored_tags": ("x",)}, {"beam_size": 3})
    ]
    gc.collect()
    assert [one() is not None for one in made] == [False, False, True]
    assert translator.preparation(direction, replace(OPTIONS, beam_size=3)) is made[2]()


@pytest.mark.parametrize("cached", [0, 10])
def test_hopeless_requests_are_refused_before_preparation_unless_cached(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch, cached: int
) -> None:
    settings = Settings(precision="fp32", device="cpu", cached_sentences=cached)
    models = start(settings, metrics)
    try:
        known = translate(models, TEXTS)

        def refuse(deadline: float) -> None:
            raise QueueFullError("it would take too long", 1.0)

        monkeypatch.setattr(models.models[0].engine, "check_deadline", refuse)
        assert b"attendant_tokenize_duration_seconds_count 1.0" in metrics.render()
        if cached:
            assert translate(models, TEXTS) == known
            assert b"attendant_tokenize_duration_seconds_count 2.0" in metrics.render()
        else:
            with pytest.raises(QueueFullError):
                translate(models, TEXTS)
            assert b"attendant_tokenize_duration_seconds_count 1.0" in metrics.render()
            assert outcomes(metrics) == {"ok": 2, "rejected": 2}
    finally:
        models.close()


def test_more_sentences_than_the_queue_holds_are_an_invalid_request(
    metrics: Metrics,
) -> None:
    models = start(Settings(precision="fp32", device="cpu", max_waiting=3), metrics)
    try:
        with pytest.raises(
            LimitExceededError, match="it has more than 3 sentences, which is the limit"
        ):
            translate(models, ["Die alte Frau wartet. " * 4])
        assert len(translate(models, ["Die alte Frau wartet."] * 3)) == 3
    finally:
        models.close()


def test_more_tokens_than_the_queue_holds_are_an_invalid_request(metrics: Metrics) -> None:
    """How the target is forced to begin counts, too."""
    models = start(Settings(precision="fp32", device="cpu", max_waiting_tokens=200), metrics)
    forced = TranslationOptions(target_prefix="The old woman waits. " * 8)
    try:
        texts = ["Die alte Frau wartet."] * 4
        assert len(translate(models, texts)) == 4
        with pytest.raises(
            LimitExceededError, match=r"have \d+ tokens or more, and the limit is 200"
        ):
            asyncio.run(models.translate(texts, "de", "en", forced, 60))
        assert len(translate(models, texts)) == 4
    finally:
        models.close()


def test_pieces_may_outnumber_the_limit_of_sentences(metrics: Metrics) -> None:
    models = start(Settings(precision="fp32", device="cpu", max_waiting=2), metrics)
    text = "Der {a} alte Hund {b} schläft {c} heute."
    try:
        [found] = asyncio.run(models.translate([text], "de", "en", OPTIONS, 60))
    finally:
        models.close()
    assert found.sentences[0].recovery == "pieces"
    assert all(found.text.count(name) == 1 for name in ("{a}", "{b}", "{c}"))


def test_a_sentence_whose_source_is_copied_says_why(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unchanged(_: object, lost: Parts) -> Parts:
        return lost

    for way in ("_with_protection", "_in_pieces"):
        monkeypatch.setattr(SentenceTranslator, way, unchanged)
    text = "{a} {b} {c} {d} {e} {f} Hund."
    [found] = asyncio.run(models.translate([text], "de", "en", OPTIONS, 60))
    assert (found.text, found.sentences[0].recovery) == (text, "copied")
    problem = "no translation was found that keeps all numbers and placeholders"
    assert found.sentences[0].problem == problem


def test_a_sentence_is_translated_again_although_the_queue_is_full(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_checks = 0

    def full_from_now_on(*_: object) -> None:
        nonlocal num_checks
        num_checks += 1
        if num_checks > 1:
            raise QueueFullError("no room")

    monkeypatch.setattr(models.models[0].engine, "_check_room", full_from_now_on)
    text = "{a} {b} {c} {d} {e} {f} Hund."
    [found] = asyncio.run(models.translate([text], "de", "en", OPTIONS, 60))
    assert (found.sentences[0].recovery, num_checks) == ("pieces", 1)


def test_another_attempt_is_prepared_and_read_on_a_thread(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def noting(method: Any) -> Any:
        def call(*given: object) -> object:
            threads.append(threading.current_thread())
            return method(*given)

        return call

    monkeypatch.setattr(pieces, "piece", noting(pieces.piece))
    monkeypatch.setattr(Sentence, "in_pieces", noting(Sentence.in_pieces))
    text = "{a} {b} {c} {d} {e} {f} Hund."
    assert effort_of([text]) < EFFORT_ON_LOOP
    asyncio.run(models.translate([text], "de", "en", OPTIONS, 60))
    assert len(threads) == 2
    assert threading.main_thread() not in threads


def test_a_long_sentence_among_many_short_ones_is_read_back_on_a_thread(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[int, threading.Thread] = {}
    came_through = Sentence.came_through

    def noting(sentence: Sentence, text: str) -> bool:
        threads[len(sentence.text)] = threading.current_thread()
        return came_through(sentence, text)

    monkeypatch.setattr(Sentence, "came_through", noting)
    long = " und ".join(["der alte Hund schläft"] * 4) + "."
    asyncio.run(models.translate(["Hund.\n" * 40 + long], "de", "en", OPTIONS, 60))
    assert len(long) in threads
    assert threads[len(long)] is not threading.main_thread()


def test_a_piece_that_is_copied_is_named(models: ModelSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.translation.pieces.piece", lambda *_: None)
    text = "{a} {b} {c} {d} {e} {f} Hund."
    [found] = asyncio.run(models.translate([text], "de", "en", OPTIONS, 60))
    assert (found.text, found.sentences[0].recovery) == (text, "pieces")
    assert found.sentences[0].problem == 'no translation was found for "Hund"'


def test_a_cancelled_request_leaves_no_sentence_running(models: ModelSet, metrics: Metrics) -> None:
    async def begin_and_cancel() -> None:
        texts = [german for german, _ in toy.sentences()]
        task = asyncio.create_task(models.translate(texts, "de", "en", OPTIONS, 60))
        while not models.num_running:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(begin_and_cancel())
    assert outcomes(metrics) == {"cancelled": len(toy.sentences())}
    assert models.drain(10)
    assert models.num_waiting + models.num_running == 0


ALIGNED = TranslationOptions(align=True)


class HeldAttention:
    """Says when it is asked, and answers once it may."""

    def __init__(self, aligner: Aligner) -> None:
        self.real, self.asked, self.goes_on = aligner.attention, 0, threading.Event()
        aligner.attention = self

    def __call__(self, source: Sequence[int], target: Sequence[int]) -> Floats:
        self.asked += 1
        assert self.goes_on.wait(60)
        assert self.real is not None
        return self.real(source, target)


def test_the_deadline_applies_to_alignments(models: ModelSet, metrics: Metrics) -> None:
    attention = HeldAttention(models.models[0].translator.aligner)

    async def wait_too_long() -> None:
        with pytest.raises(DeadlineExceededError, match="not finished within the deadline of 4 s"):
            await models.translate(TEXTS, "de", "en", ALIGNED, timeout=4)
        attention.goes_on.set()

    asyncio.run(wait_too_long())
    assert outcomes(metrics) == {"expired": 2}
    assert len(asyncio.run(models.translate(TEXTS, "de", "en", ALIGNED, 60))) == 2
    assert attention.asked == 1 + 2


def test_cancelling_a_request_ends_its_alignments(models: ModelSet, metrics: Metrics) -> None:
    attention = HeldAttention(models.models[0].translator.aligner)

    async def begin_and_cancel() -> None:
        task = asyncio.create_task(models.translate(TEXTS, "de", "en", ALIGNED, 60))
        while not attention.asked:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        attention.goes_on.set()
        await models.translate(TEXTS, "de", "en", ALIGNED, 60)

    asyncio.run(begin_and_cancel())
    assert attention.asked == 1 + 2
    assert outcomes(metrics) == {"cancelled": 2, "ok": 2}


def total(counter: Counter) -> float:
    [metric] = counter.collect()
    return metric.samples[0].value


def test_cached_translations_are_used_only_for_equal_options() -> None:
    metrics = Metrics()
    settings = Settings(precision="fp32", device="cpu", cached_sentences=3)
    models = start(settings, metrics)
    try:
        first = translate(models, TEXTS)
        assert total(metrics.cached_sentences) == 0
        engine_tokens = total(metrics.source_tokens)
        assert translate(models, TEXTS[::-1]) == first[::-1]
        assert total(metrics.cached_sentences) == 2
        assert total(metrics.source_tokens) == engine_tokens
        greedy = TranslationOptions(beam_size=1)
        asyncio.run(models.translate(TEXTS, "de", "en", greedy, 60))
        assert total(metrics.cached_sentences) == 2
        translate(models, TEXTS)  # one of the two has made room for the greedy ones
        assert total(metrics.cached_sentences) == 3
    finally:
        models.close()


@pytest.mark.parametrize("stream", [False, True])
def test_equal_sentences_of_a_request_are_searched_once(stream: bool) -> None:
    metrics = Metrics()
    models = start(Settings(precision="fp32", device="cpu"), metrics)
    texts = [*["Der alte Hund schläft."] * 100, f"{TEXTS[1]} Der alte Hund schläft."] * 2
    try:
        alone = translate(models, texts[:1])[0]
        tokens, told = total(metrics.source_tokens), list[SentenceResult]()

        async def run() -> list[Translation]:
            if not stream:
                return await models.translate(texts, "de", "en", OPTIONS, 60)
            async for event in models.stream(texts, "de", "en", OPTIONS, 60):
                if isinstance(event, Done):
                    return event.translations
                told.append(event)
            raise AssertionError("it has no end")

        found = asyncio.run(run())
        assert total(metrics.source_tokens) <= 4 * tokens, "two sentences"
        assert [one.text for one in found[:100]] == [alone] * 100
        assert found[100].text == f"{translate(models, TEXTS[1:])[0]} {alone}"
        assert len({one.score for one in found[:100]}) == 1
        assert outcomes(metrics) == {"ok": 1 + 204 + 1}
        places = {(one.text, one.segment) for one in told}
        assert len(places) == len(told) == (204 if stream else 0)
        greedy = TranslationOptions(beam_size=1)
        tokens = total(metrics.source_tokens)
        asyncio.run(models.translate(texts[:1], "de", "en", greedy, 60))
        assert total(metrics.source_tokens) > tokens
    finally:
        models.close()


def test_no_translation_is_cached_by_default(models: ModelSet, metrics: Metrics) -> None:
    assert translate(models, TEXTS) == translate(models, TEXTS)
    assert total(metrics.cached_sentences) == 0


def test_waiting_alignments_count_for_requests_with_alignment(
    models: ModelSet, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    [model], end = models.models, threading.Event()
    aligner, aligning = model.translator.aligner, replace(OPTIONS, align=True)
    attention = aligner.attention

    def held(source: Sequence[int], target: Sequence[int]) -> Floats:
        assert end.wait(60)
        assert attention is not None
        return attention(source, target)

    monkeypatch.setattr(aligner, "attention", held)
    with aligner.promised(TEXTS):
        assert model.expected_wait, "the start has shown how long an alignment takes"
    aligner.backlog.measured(1e6, 1e6)  # as if a character took about a second

    async def run() -> None:
        first = asyncio.create_task(models.translate(TEXTS, "de", "en", aligning, 60))
        await until(lambda: aligner.backlog.seconds > 60)
        for texts, options in (
            (TEXTS, aligning),
            (["Der <b>alte</b> Hund schläft."], replace(OPTIONS, format="html")),
        ):
            with pytest.raises(QueueFullError, match=r"it may take \d{3}\.\d s") as refused:
                await models.translate(texts, "de", "en", options, 60)
            assert refused.value.retry_after
        assert await models.translate(TEXTS, "de", "en", OPTIONS, 60)
        assert model.expected_wait
        assert model.expected_wait > 60
        end.set()
        assert await first

    asyncio.run(run())
    assert aligner.backlog.seconds == 0
    assert outcomes(metrics) == {"ok": 4, "rejected": 3}


def test_ignored_tags_may_be_a_list() -> None:
    names: list[str] = ["x"]
    given = TranslationOptions(ignored_tags=names)  # type: ignore[arg-type]
    assert hash(given) == hash(TranslationOptions(ignored_tags=("x",)))
