"""Language codes in every dialect, whatever codes the models use."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from fastapi.testclient import TestClient

from service.settings import Settings
from service.text import languages
from tests.conftest import TINY_BUNDLE, started

TEXT, TRANSLATION = "Der alte Hund schläft.", "The old dog sleeps."


def renamed(german: str, folder: Path) -> Path:
    """Return a copy of the tiny bundle with another code for German and FLORES's code for English."""
    path = folder / german
    shutil.copytree(TINY_BUNDLE, path)
    manifest = json.loads((path / "manifest.json").read_text("utf-8"))
    manifest["name"] = german
    codes = {"de": german, "en": "eng_Latn"}
    for direction in manifest["directions"]:
        direction["source"] = codes[direction["source"]]
        direction["target"] = codes[direction["target"]]
    (path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return path


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("bundles")
    bundles = tuple(renamed(code, folder) for code in ("deu_Latn", "zt", "pb", "zh-Hans"))
    with started(
        Settings(bundle=bundles, precision="fp32", device="cpu", num_workers=1, pivot="off")
    ) as client:
        yield client


def test_the_native_list_has_bcp_47_codes(client: TestClient) -> None:
    found = {one["code"]: (one["name"], one["targets"]) for one in client.get("/languages").json()}
    assert found == {
        "de": ("German", ["en"]),
        "en": ("English", ["de", "pt-BR", "zh", "zh-Hant"]),
        "pt-BR": ("Brazilian Portuguese", ["en"]),
        "zh": ("Chinese", ["en"]),
        "zh-Hant": ("Traditional Chinese", ["en"]),
    }
    settings = client.get("/frontend/settings").json()["language"]
    assert settings["source"] == {"code": "de", "name": "German"}


def test_sources_for_deepl_have_no_variants(client: TestClient) -> None:
    assert client.get("/v2/languages").json() == [
        {"language": "DE", "name": "German"},
        {"language": "EN", "name": "English"},
        {"language": "PT", "name": "Portuguese"},
        {"language": "ZH", "name": "Chinese"},
    ]


def test_targets_for_deepl_have_its_variants(client: TestClient) -> None:
    found = client.get("/v2/languages", params={"type": "target"}).json()
    assert {one["language"]: one["name"] for one in found} == {
        "DE": "German",
        "EN-GB": "English (British)",
        "EN-US": "English (American)",
        "PT-BR": "Portuguese (Brazilian)",
        "ZH": "Chinese (simplified)",
        "ZH-HANS": "Chinese (simplified)",
        "ZH-HANT": "Chinese (traditional)",
    }


def test_the_newer_list_of_deepl_has_both_sides(client: TestClient) -> None:
    found = client.get("/v3/languages", params={"resource": "translate_text"}).json()
    assert [
        (one["lang"], one["name"], one["usable_as_source"], one["usable_as_target"])
        for one in found
    ] == [
        ("de", "German", True, True),
        ("en", "English", True, True),
        ("en-GB", "English (British)", False, True),
        ("en-US", "English (American)", False, True),
        ("pt", "Portuguese", True, False),
        ("pt-BR", "Portuguese (Brazilian)", False, True),
        ("zh", "Chinese", True, True),
        ("zh-Hans", "Chinese (simplified)", False, True),
        ("zh-Hant", "Chinese (traditional)", False, True),
    ]
    features = {one["lang"]: one["features"] for one in found}
    stable = {"status": "stable"}
    assert features["de"] == {"tag_handling": stable, "auto_detection": stable}
    assert features["en-US"] == {"tag_handling": stable}


@pytest.mark.parametrize(
    ("source", "told"),
    [
        *(("DE", "DE"), ("deu_Latn", "DE"), ("PT", "PT"), ("pt-BR", "PT"), ("PT-PT", "PT")),
        *(("ZH", "ZH"), ("zh-TW", "ZH"), ("ZH-HANT", "ZH"), ("zt", "ZH")),
    ],
)
def test_source_codes_are_accepted_in_both_dialects(
    client: TestClient, source: str, told: str
) -> None:
    fields = {"text": TEXT, "source_lang": source, "target_lang": "EN-US"}
    answer = client.post("/v2/translate", json=fields).json()
    assert answer["translations"][0]["text"] == TRANSLATION
    assert answer["translations"][0]["detected_source_language"] == told
    native = client.post("/translate", json={"q": TEXT, "source": source, "target": "en"})
    assert native.json() == {"translatedText": TRANSLATION}


@pytest.mark.parametrize(
    "target",
    [
        *("de", "deu_Latn", "DE-AT", "pb", "pt-BR", "PT", "zt", "zh-TW", "zh-Hant"),
        *("zh", "zh-Hans", "zho_Hans"),
    ],
)
def test_target_codes_are_accepted_in_both_dialects(client: TestClient, target: str) -> None:
    expected = client.post("/translate", json={"q": TRANSLATION, "source": "en", "target": "de"})
    answer = client.post("/translate", json={"q": TRANSLATION, "source": "en", "target": target})
    assert answer.json() == expected.json()
    fields = {"text": TRANSLATION, "source_lang": "EN", "target_lang": target}
    deepl = client.post("/v2/translate", json=fields).json()
    assert deepl["translations"][0]["text"] == expected.json()["translatedText"]


def test_detected_languages_have_the_codes_of_the_list(client: TestClient) -> None:
    for text, code in ((TEXT, "de"), ("你們在幹什麼啊？", "zh-Hant"), ("你们在干什么啊？", "zh")):
        assert client.post("/detect", json={"q": text}).json()[0]["language"] == code
    answer = client.post("/translate", json={"q": TEXT, "source": "auto", "target": "en"}).json()
    assert answer["detectedLanguage"]["language"] == "de"
    deepl = client.post(
        "/v2/translate", json={"text": "你們在幹什麼啊？", "target_lang": "EN"}
    ).json()
    assert deepl["translations"][0]["detected_source_language"] == "ZH"


def test_two_codes_of_one_language_are_merged(tmp_path: Path) -> None:
    bundles = tuple(renamed(code, tmp_path) for code in ("deu_Latn", "ger"))
    with started(
        Settings(bundle=bundles, precision="fp32", device="cpu", num_workers=1, pivot="off")
    ) as client:
        assert [one["code"] for one in client.get("/languages").json()] == ["de", "en"]
        assert len(client.get("/v2/models/ger").json()["inputs"]) == 1


def test_the_list_of_languages_is_built_only_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a model of 200 languages, it has 40,000 directions, and no other request is served meanwhile."""
    listed = client.get("/languages").json()
    monkeypatch.setattr(languages, "name", Mock(side_effect=AssertionError("it is built again")))
    assert client.get("/languages").json() == listed
