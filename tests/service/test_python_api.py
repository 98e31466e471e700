"""Translation from Python: the same results as over HTTP, from any thread and event loop."""

import asyncio
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import attendant
import service
from service import (
    AttendantError,
    Done,
    SentenceResult,
    Translation,
    TranslationOptions,
    Translator,
)
from service.errors import (
    CancelledError,
)
from service.python_api import Options
from tests import toy
from tests.conftest import TINY_BUNDLE
from tests.waiting import wait_until

TEXT, ENGLISH = "Der alte Hund schläft.", "The old dog sleeps."
MANY = [german for german, _ in toy.sentences()]
"""Sentences that differ, as equal ones of a request are searched once."""
TEXTS = [TEXT, "", "42", "Die alte Frau wartet. Das gute Kind wartet."]
IN_ENGLISH = [ENGLISH, "", "42", "The old woman waits. The good child waits."]


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    with Translator.load(TINY_BUNDLE, device="cpu", precision="fp32", num_workers=2) as translator:
        yield translator


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_text_returns_a_translation_and_a_list_returns_a_list(translator: Translator) -> None:
    found = translator.translate(TEXT, "de", "en")
    assert isinstance(found, Translation)
    assert found.text == ENGLISH
    assert [one.text for one in translator.translate(TEXTS, "de", "en")] == IN_ENGLISH
    assert [one.text for one in translator.translate(iter(TEXTS), "de", "en")] == IN_ENGLISH
    assert translator.translate([], "de", "en") == []


def test_sentences_have_their_source_their_target_and_their_score(translator: Translator) -> None:
    found = translator.translate(TEXTS[3], "de", "en")
    assert [(one.source, one.target) for one in found.sentences] == [
        ("Die alte Frau wartet.", "The old woman waits."),
        ("Das gute Kind wartet.", "The good child waits."),
    ]
    first, second = (one.score for one in found.sentences)
    assert found.score == pytest.approx((first + second) / 2)
    assert found.score < 0
    assert translator.translate("", "de", "en").score == 0


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({}, {}),
        ({"alternatives": 2, "beam_size": 5}, {"alternatives": 2, "beam_size": 5}),
        ({"format": "html"}, {"format": "html"}),
        ({"format": "html", "splitting": "all"}, {"format": "html", "split_sentences": "1"}),
        ({"splitting": "paragraphs"}, {"split_sentences": "nonewlines"}),
        ({"splitting": "none"}, {"split_sentences": "0"}),
        ({"target_prefix": "The"}, {"target_prefix": "The"}),
        ({"rerank": True, "length_penalty": 0.0}, {"rerank": True, "length_penalty": 0}),
    ],
)
def test_translations_equal_those_over_http(
    translator: Translator, client: TestClient, options: Any, fields: dict[str, Any]
) -> None:
    texts = ["Der alte <b>Hund</b>\nschläft. Die Frau wartet.", "Das gute Kind fällt dort."]
    body = {"q": texts, "source": "de", "target": "en", "return_scores": True, **fields}
    answer = client.post("/translate", json=body).json()
    found = translator.translate(texts, "de", "en", **options)
    assert [one.text for one in found] == answer["translatedText"]
    if "alternatives" in options:
        assert [list(one.alternatives) for one in found] == answer["alternatives"]
    scores = [[one.score for one in text.sentences] for text in found]
    assert scores == [
        [pytest.approx(one["score"], abs=1e-4) for one in text] for text in answer["details"]
    ]


def test_languages_are_detected(translator: Translator) -> None:
    assert translator.languages == {"de": ["en"], "en": ["de"]}
    found = translator.translate("Die alte Frau wartet.", target="en")
    assert found.text == "The old woman waits."
    assert found.detected is not None
    assert found.detected.language == "de"


def test_stream_yields_sentences_as_they_are_done(translator: Translator) -> None:
    async def streamed() -> list[SentenceResult | Done]:
        return [event async for event in translator.stream_async(TEXTS, "de", "en")]

    for events in (list(translator.stream(TEXTS, "de", "en")), asyncio.run(streamed())):
        *sentences, done = events
        told = [
            (one.text, one.segment, one.source, one.target)
            for one in sentences
            if isinstance(one, SentenceResult)
        ]
        assert sorted(told) == [
            (0, 0, TEXT, ENGLISH),
            (3, 0, "Die alte Frau wartet.", "The old woman waits."),
            (3, 1, "Das gute Kind wartet.", "The good child waits."),
        ]
        assert len(sentences) == 3
        assert isinstance(done, Done)
        assert [one.text for one in done.translations] == IN_ENGLISH


def test_an_invalid_request_ends_a_stream(translator: Translator) -> None:
    with pytest.raises(AttendantError, match="fr is not supported"):
        next(translator.stream(TEXT, "de", "fr"))


def test_closing_a_stream_cancels_the_rest(translator: Translator) -> None:
    texts = [german for german, _ in toy.sentences()]
    events = translator.stream(texts, "de", "en", beam_size=8)
    next(events)
    started = translator._models.models[0].engine.num_waiting
    events.close()  # type: ignore[attr-defined]
    wait_until(lambda: translator._models.num_waiting == 0, seconds=20)
    assert started > 0
    assert translator.translate(TEXT, "de", "en").text == ENGLISH


def test_event_loops_and_threads_may_share_a_translator(translator: Translator) -> None:
    async def some() -> list[str]:
        work = (translator.translate_async(text, "de", "en") for text in TEXTS)
        return [one.text for one in await asyncio.gather(*work)]

    async def within_a_loop() -> str:
        return translator.translate(TEXT, "de", "en").text

    with ThreadPoolExecutor(4) as threads:
        jobs = [threads.submit(asyncio.run, some()) for _ in range(8)]
        assert [job.result() for job in jobs] == [IN_ENGLISH] * 8
    assert asyncio.run(within_a_loop()) == ENGLISH


def test_the_number_of_sentences_is_not_limited(translator: Translator) -> None:
    sentences = 2500
    found = translator.translate("Der alte Hund schläft.\n" * sentences, "de", "en", beam_size=1)
    assert found.text == "The old dog sleeps.\n" * sentences


def test_cancelling_aborts_the_sentences(translator: Translator) -> None:
    engine = translator._models.models[0].engine

    async def cancelled() -> None:
        work = translator.translate_async(MANY, "de", "en", beam_size=8)
        task = asyncio.create_task(work)
        while not (engine.num_running or task.done()):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert translator.translate(TEXT, "de", "en").text == ENGLISH
    assert engine.num_waiting == 0


def test_the_repr_of_a_result_is_one_readable_line(translator: Translator) -> None:
    [sentence] = translator.translate(TEXT, "de", "en").sentences
    assert repr(sentence) == (
        f"TranslatedSentence(source={TEXT!r}, target={ENGLISH!r}, score={sentence.score!r}, "
        "finish_reason=<FinishReason.END: 'end'>, recovery=None)"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_closed_translator_keeps_no_weights(tmp_path: Path) -> None:
    bundle = shutil.copytree(TINY_BUNDLE, tmp_path / "bundle")
    with Translator.load(bundle, device="cpu", num_workers=1) as translator:
        assert str(bundle) in Path("/proc/self/maps").read_text()
    assert str(bundle) not in Path("/proc/self/maps").read_text()
    assert translator.languages == {}


def test_closing_a_translator_fails_pending_requests() -> None:
    translator = Translator.load(TINY_BUNDLE, device="cpu", precision="fp32", num_workers=1)
    before, engine = threading.active_count(), translator._models.models[0].engine
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(translator.translate, MANY, "de", "en", beam_size=8)
        wait_until(lambda: engine.num_running > 0 or waiting.done())
        translator.close()
        with pytest.raises(CancelledError):
            waiting.result(60)
    translator.close()
    assert threading.active_count() < before
    with pytest.raises(RuntimeError, match="the translator is closed"):
        translator.translate(TEXT, "de", "en")


def test_a_program_may_end_in_the_middle_of_a_translation() -> None:
    code = (
        "import threading\nfrom service import Translator\n"
        f"translators = [Translator.load({str(TINY_BUNDLE)!r}, num_workers=2) for _ in range(4)]\n"
        "for translator in translators:\n"
        f"    events = translator.stream({MANY!r}, 'de', 'en', beam_size=8)\n"
        "    print(next(events).target)\n"
        "    threading.Thread(target=list, args=(events,), daemon=True).start()"
    )
    targets = run(code).splitlines()
    assert len(targets) == 4
    assert set(targets) <= {english for _, english in toy.sentences()}


def test_a_fork_of_the_process_is_told_that_it_has_no_translator() -> None:
    code = (
        "import os\nfrom service import Translator\n"
        f"translator = Translator.load({str(TINY_BUNDLE)!r}, num_workers=1)\n"
        "if os.fork():\n"
        "    print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "else:\n"
        "    try:\n"
        f"        translator.translate({TEXT!r}, 'de', 'en')\n"
        "    except RuntimeError:\n"
        "        os._exit(7)"
    )
    assert run(code) == "7"


def test_a_translator_of_a_forked_process_detects_languages() -> None:
    text = TEXT + " " + "\\u00ad" * 100
    code = (
        "import os\nfrom service import Translator\n"
        f"def translate():\n"
        f"    translator = Translator.load({str(TINY_BUNDLE)!r}, num_workers=1)\n"
        f"    return translator.translate('{text}', 'auto', 'en', timeout_seconds=30)\n"
        "translate()\n"
        "if os.fork():\n"
        "    print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "else:\n"
        "    translate()\n"
        "    os._exit(7)"
    )
    assert run(code) == "7"


def test_options_are_the_fields_of_translation_options() -> None:
    assert list(Options.__annotations__) == [one.name for one in fields(TranslationOptions)]


def test_the_package_exports_exactly_all() -> None:
    assert set(service.__all__) <= set(dir(service))
    assert attendant.__all__ == service.__all__
    assert set(attendant.__all__) <= set(dir(attendant))
    assert all(getattr(attendant, name) is getattr(service, name) for name in service.__all__)
    with pytest.raises(AttributeError, match="module 'attendant' has no attribute 'translate'"):
        attendant.translate  # type: ignore[attr-defined]  # noqa: B018
    assert all(getattr(service, name) for name in service.__all__)
    with pytest.raises(AttributeError, match="module 'service' has no attribute 'Translater'"):
        service.Translater  # type: ignore[attr-defined]  # noqa: B018


def test_the_command_line_imports_the_python_api_on_first_use_only() -> None:
    code = "import sys, attendant.__main__; print('service' in sys.modules)"
    assert run(code) == "False"
    assert run("from attendant import Translator; print(Translator.__module__)") == (
        "service.python_api"
    )


def test_importing_the_package_does_not_load_onnx_runtime() -> None:
    for imported in ("import service", "from service.api.native.schemas import TranslateRequest"):
        assert run(f"import sys; {imported}; print('onnxruntime' in sys.modules)") == "False"


def test_the_translator_does_not_import_http_settings_or_prometheus() -> None:
    names = ("fastapi", "starlette", "uvicorn", "pydantic_settings", "prometheus_client", "torch")
    code = (
        "import sys\nfrom service import Translator\n"
        f"print([name for name in {names} if name in sys.modules])"
    )
    assert run(code) == "[]"


def test_an_unclosed_translator_does_not_keep_the_program_running() -> None:
    code = (
        "from service import Translator\n"
        f"translator = Translator.load({str(TINY_BUNDLE)!r}, precision='fp32', num_workers=1)\n"
        f"print(translator.translate({TEXT!r}, 'de', 'en').text)"
    )
    assert run(code) == ENGLISH
