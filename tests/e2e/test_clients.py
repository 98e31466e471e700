"""Real client libraries, unmodified, against a real server."""

import asyncio
from collections.abc import Iterator

import deepl
import httpx
import libretranslatepy
import numpy as np
import pytest
import tritonclient.http as triton
import tritonclient.http.aio as triton_aio
from tritonclient.utils import InferenceServerException

from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import serving

TEXT, TRANSLATION = "Der alte Hund schläft.", "The old dog sleeps."


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(TINY_BUNDLE, precision="fp32") as server:
        yield server.url


def test_the_official_deepl_client(url: str) -> None:
    client = deepl.DeepLClient("k", server_url=url)
    assert client.translate_text(TEXT, target_lang="EN-US").text == TRANSLATION  # type: ignore[union-attr]
    several = client.translate_text(
        [TEXT, "Das gute Kind wartet."], source_lang="DE", target_lang="EN-GB"
    )
    assert isinstance(several, list)
    assert [one.text for one in several] == [TRANSLATION, "The good child waits."]
    assert several[0].detected_source_lang == "DE"
    assert {language.code for language in client.get_source_languages()} == {"DE", "EN"}
    assert {"DE", "EN-US"} <= {language.code for language in client.get_target_languages()}
    usage = client.get_usage()
    assert usage.character.valid
    assert not usage.any_limit_reached
    with pytest.raises(deepl.DeepLException, match="'target_lang' not supported"):
        client.translate_text(TEXT, target_lang="JA")


def test_libretranslatepy(url: str) -> None:
    client = libretranslatepy.LibreTranslateAPI(f"{url}/")
    assert client.translate(TEXT, "de", "en") == TRANSLATION
    assert client.detect(TEXT)[0]["language"] == "de"
    assert {language["code"] for language in client.languages()} == {"de", "en"}


def test_mastodon(url: str) -> None:
    body = {
        "q": [f"<p>{TEXT}</p>"],
        "source": "de",
        "target": "en",
        "format": "html",
        "api_key": None,
    }
    answer = httpx.post(f"{url}/translate", json=body, timeout=60).json()
    assert answer == {"translatedText": [f"<p>{TRANSLATION}</p>"]}


def test_deep_translator(url: str) -> None:
    query = {"q": TEXT, "source": "de", "target": "en", "format": "text", "api_key": "any"}
    answer = httpx.post(f"{url}/translate", params=query, timeout=60)
    assert answer.json()["translatedText"] == TRANSLATION


def test_weblate_and_npm_translate(url: str) -> None:
    weblate = {"api_key": "", "q": TEXT, "source": "de", "target": "en"}
    assert (
        httpx.post(f"{url}/translate", json=weblate, timeout=60).json()["translatedText"]
        == TRANSLATION
    )
    npm = {"q": TEXT, "source": "de", "target": "en", "api_key": "x"}
    assert (
        httpx.post(f"{url}/translate", json=npm, timeout=60).json()["translatedText"] == TRANSLATION
    )
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert len(httpx.get(f"{url}/languages", headers=form, timeout=60).json()) == 2


def triton_input(binary: bool, kind: object = triton.InferInput) -> object:
    """Two texts, as bytes behind the JSON or in it."""
    texts = np.array([TEXT, "Das gute Kind wartet."], dtype=np.object_)
    made = kind("text", [2], "BYTES")  # type: ignore[operator]
    return made.set_data_from_numpy(texts, binary_data=binary)


@pytest.mark.parametrize("binary", [True, False])
def test_tritonclient(url: str, binary: bool) -> None:
    with triton.InferenceServerClient(url.removeprefix("http://")) as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("tiny")
        assert client.is_model_ready("tiny", "1")
        assert client.get_server_metadata()["extensions"] == ["binary_tensor_data"]
        [described] = client.get_model_metadata("tiny")["inputs"]
        assert described == {"name": "text", "datatype": "BYTES", "shape": [-1]}
        for outputs in (None, [triton.InferRequestedOutput("text", binary_data=binary)]):
            result = client.infer(
                "tiny",
                [triton_input(binary)],
                model_version="1",
                outputs=outputs,
                request_id="7",
                parameters={"source": "de", "target": "en", "beam_size": 1},
            )
            assert [as_text(one) for one in result.as_numpy("text")] == [
                TRANSLATION,
                "The good child waits.",
            ]
            assert result.get_response()["id"] == "7"
        with pytest.raises(InferenceServerException, match="zz is not supported") as caught:
            client.infer("tiny", [triton_input(binary)], parameters={"source": "zz"})
        assert caught.value.status() == "400"


def test_tritonclient_without_threads(url: str) -> None:
    async def run() -> list[object]:
        async with triton_aio.InferenceServerClient(url.removeprefix("http://")) as client:
            result = await client.infer(
                "tiny",
                [triton_input(True, triton_aio.InferInput)],
                parameters={"source": "de", "target": "en"},
            )
            return list(result.as_numpy("text"))

    first, _ = asyncio.run(run())
    assert as_text(first) == TRANSLATION


def as_text(element: object) -> str:
    """What NumPy holds for an element: bytes of binary data, a string of JSON."""
    return element.decode() if isinstance(element, bytes) else str(element)
