"""Mistakes in Python: errors that name what is wrong, and what is allowed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service import AttendantError, Translator
from service.errors import (
    BundleError,
    DeadlineExceededError,
    InvalidRequestError,
    LimitExceededError,
    QueueFullError,
    UnsupportedLanguageError,
)
from tests.conftest import TINY_BUNDLE

TEXT, ENGLISH = "Der alte Hund schläft.", "The old dog sleeps."


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    with Translator.load(TINY_BUNDLE, device="cpu", precision="fp32", num_workers=1) as translator:
        yield translator


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"beam_size": 0}, "beam_size parameter must be >= 1, but is 0"),
        ({"alternatives": -1}, "alternatives parameter must be >= 0, but is -1"),
        ({"max_decoding_length": 0}, "max_decoding_length parameter must be >= 1"),
        ({"no_repeat_ngram_size": -1}, "no_repeat_ngram_size parameter must be between 0 and 1000"),
        ({"length_penalty": float("nan")}, "length_penalty parameter must be between -10 and 10"),
        ({"ignored_tags": "abc"}, 'ignored_tags parameter must be a list of strings, but is "abc"'),
        ({"format": "pdf"}, 'format parameter must be one of text, html, xml, but is "pdf"'),
        ({"splitting": "some"}, "splitting parameter must be one of"),
        ({"beam_size": 2.5}, "beam_size parameter must be an integer, but is 2.5"),
        ({"alternatives": None}, "alternatives parameter must be an integer, but is null"),
        ({"length_penalty": "high"}, 'length_penalty parameter must be a number, but is "high"'),
        ({"target_prefix": 5}, "target_prefix parameter must be a string, but is 5"),
        (
            {"ignored_tags": ("a", 5)},
            'ignored_tags parameter must be a list of strings, but is ["a',
        ),
        ({"ignored_tags": 5}, "ignored_tags parameter must be a list of strings, but is 5"),
        (
            {"target_prefix": "A\ud800"},
            "target_prefix parameter has an unpaired surrogate at character 1",
        ),
        ({"ignored_tags": ("x", "\udc00")}, "ignored_tags parameter has an unpaired surrogate at"),
        ({"beam_size": True}, "beam_size parameter must be an integer, but is true"),
        ({"length_penalty": False}, "length_penalty parameter must be a number, but is false"),
        ({"rerank": "x"}, 'rerank parameter must be true or false, but is "x"'),
        ({"rerank": 1}, "rerank parameter must be true or false, but is 1"),
        ({"align": None}, "align parameter must be true or false, but is null"),
        ({"beam_size": 10**5000}, "beam_size parameter must be <= 128, but is ..."),
        (
            {"target_prefix": "A\0"},
            "target_prefix parameter has a control character at character 1",
        ),
        (
            {"timeout_seconds": "5"},
            'timeout_seconds parameter must be a number above 0, but is "5"',
        ),
        ({"timeout_seconds": float("nan")}, "must be a number above 0, but is NaN"),
        ({"timeout_seconds": -1}, "must be a number above 0, but is -1"),
        ({"timeout_seconds": 0}, "must be a number above 0, but is 0"),
        ({"timeout_seconds": True}, "must be a number above 0, but is true"),
    ],
)
def test_invalid_options_are_refused(translator: Translator, options: Any, said: str) -> None:
    with pytest.raises(InvalidRequestError) as told:
        translator.translate(TEXT, "de", "en", **options)
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (5, "must be a language code, but is 5"),
        (["de"], 'must be a language code, but is ["de"]'),
        (b"de", """must be a language code, but is "b'de'\""""),
        ("", 'must be a language code, but is ""'),
        ("x" * 1_000_000, f'must be at most 64 characters long, but is "{"x" * 56}...'),
        ("d\ud800", "has an unpaired surrogate at character 1"),
    ],
)
def test_what_is_no_language_code_is_refused(translator: Translator, code: Any, said: str) -> None:
    for languages in ({"source": code}, {"source": "de", "target": code}):
        with pytest.raises(InvalidRequestError) as told:
            translator.translate(TEXT, **languages)
        [*_, name] = languages
        assert str(told.value) == f"Invalid request: {name} parameter {said}"


def test_a_time_limit_beyond_every_clock_is_none(translator: Translator) -> None:
    for limit in (float("inf"), 10**400):
        assert translator.translate(TEXT, "de", "en", timeout_seconds=limit).text == ENGLISH


def test_errors_are_the_same_as_over_http(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedLanguageError, match="fr is not supported, only de, en"):
        translator.translate(TEXT, "de", "fr")
    with pytest.raises(LimitExceededError, match="beam_size parameter must be <= 128"):
        translator.translate(TEXT, "de", "en", beam_size=129)
    with pytest.raises((DeadlineExceededError, QueueFullError)):
        translator.translate([TEXT] * 3000, "de", "en", timeout_seconds=0.001)
    with pytest.raises(
        InvalidRequestError, match="text 1 has an unpaired surrogate at character 2"
    ):
        translator.translate(["ja", "a \ud800"], "de", "en")
    with pytest.raises(TypeError, match="there is no option beams, only beam_size, length_penalty"):
        translator.translate(TEXT, "de", "en", beams=4)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="text 1 is bytes, and must be str"):
        translator.translate(["a", b"b"], "de", "en")  # type: ignore[list-item]
    with pytest.raises(TypeError, match="texts must be a str or several, but is int"):
        translator.translate(5, "de", "en")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="texts must be a str or several, but is bytes"):
        translator.translate(b"ab", "de", "en")  # type: ignore[arg-type]
    with pytest.raises(BundleError, match="is not a bundle"):
        Translator.load(tmp_path)
    assert issubclass(BundleError, AttendantError)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"device": "gpu"}, 'device must be one of auto, cpu, cuda, but is "gpu"'),
        ({"precision": "int4"}, 'precision must be one of auto, int8, fp16, fp32, but is "int4"'),
        ({"num_workers": -1}, "num_workers must be an integer between 0 and 1024, but is -1"),
        ({"num_workers": 1.5}, "num_workers must be an integer between 0 and 1024, but is 1.5"),
        (
            {"num_workers": 10**6},
            "num_workers must be an integer between 0 and 1024, but is 1000000",
        ),
        ({"num_workers": True}, "num_workers must be an integer between 0 and 1024, but is true"),
    ],
)
def test_an_unavailable_device_is_refused(options: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Translator.load(TINY_BUNDLE, **options)
