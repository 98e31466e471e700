"""A folder of models that is damaged, or changes while the service runs."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.errors import AttendantError, BundleError, ModelUnavailableError
from service.models.proof import StuckError
from service.translation.options import TranslationOptions
from tests.conftest import started
from tests.service.api.model_folder import (
    CODES,
    TEXT,
    TRANSLATION,
    add,
    ask,
    fill,
    settings_of,
    states,
)
from tests.service.models.breaking import file
from tests.waiting import wait_until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path)


def test_preloaded_models_are_ready_with_the_service(folder: Path) -> None:
    with started(settings_of(folder, preload="tiny-nl,tiny-fr")) as client:
        assert states(client) == {"fr": "loaded", "it": "unloaded", "nl": "loaded"}


def test_a_reload_that_fails_loads_nothing(folder: Path, tmp_path_factory: Any) -> None:
    named = add(tmp_path_factory.mktemp("named"), "it")
    with started(settings_of(folder, preload="all", bundle=named)) as client:
        store = client.app.state.services.store  # type: ignore[attr-defined]
        add(folder, "es")
        (named / "manifest.json").unlink()
        with pytest.raises(BundleError):
            store.load()
        loads = len(CODES)
        assert (
            f'attendant_model_loads_total{{outcome="ok"}} {loads}.0' in client.get("/metrics").text
        )


def test_an_unknown_name_to_preload_ends_startup(folder: Path) -> None:
    reasons: list[str] = []
    with TestClient(create_app(settings_of(folder, preload=("tiny-xx",)), reasons.append)):
        wait_until(lambda: bool(reasons))
    assert reasons == [f"{folder} has no bundle named tiny-xx to preload"]


@pytest.mark.parametrize("preload", ["all", "tiny-it"])
def test_a_model_to_preload_that_cannot_be_loaded_ends_startup(folder: Path, preload: str) -> None:
    reasons: list[str] = []
    (folder / "it" / "decoder.fp32.onnx").write_bytes(b"broken")
    with TestClient(create_app(settings_of(folder, preload=preload), reasons.append)) as client:
        wait_until(lambda: bool(reasons))
        assert client.get("/health/ready").status_code == 503
    assert len(reasons) == 1
    assert reasons[0].startswith("tiny-it cannot be loaded: ")


def test_a_reload_goes_on_without_a_model_that_cannot_be_preloaded(folder: Path) -> None:
    with started(settings_of(folder, preload="all")) as client:
        (folder / "it" / "decoder.fp32.onnx").write_bytes(b"broken")
        (folder / "it" / "manifest.json").touch()
        add(folder, "es")
        client.app.state.services.store.load()  # type: ignore[attr-defined]
        expected = {"es": "loaded", "fr": "loaded", "it": "loaded", "nl": "loaded"}
        assert states(client) == expected


@pytest.mark.parametrize("broken", ["decoder.fp32.onnx", "manifest.json"])
def test_a_model_that_works_is_not_replaced_by_one_that_does_not(folder: Path, broken: str) -> None:
    with started(settings_of(folder)) as client:
        store = client.app.state.services.store  # type: ignore[attr-defined]
        assert ask(client, "it").status_code == 200
        add(folder, "es")
        manifest = folder / "it" / "manifest.json"
        good = json.loads(manifest.read_text())
        manifest.write_text(json.dumps(good | {"decoding": {"beam_size": 2}}))
        whole = (folder / "it" / broken).read_bytes()
        (folder / "it" / broken).write_bytes(whole[:-100])
        with pytest.raises(AttendantError, match="it"):
            store.load()
        assert states(client) == {"fr": "unloaded", "it": "loaded", "nl": "unloaded"}
        assert ask(client, "it").status_code == 200
        (folder / "it" / broken).write_bytes(whole)
        store.load()
        expected = {"es": "unloaded", "fr": "unloaded", "it": "loaded", "nl": "unloaded"}
        assert states(client) == expected
        assert ask(client, "it").status_code == 200


def test_a_new_model_must_work_if_it_takes_over_the_languages_of_a_loaded_one(
    folder: Path,
) -> None:
    with started(settings_of(folder)) as client:
        store = client.app.state.services.store  # type: ignore[attr-defined]
        assert ask(client, "it").status_code == 200
        (folder / "it").rename(folder / "it-2")
        decoder = folder / "it-2" / "decoder.fp32.onnx"
        whole = decoder.read_bytes()
        decoder.write_bytes(b"broken")
        with pytest.raises(ModelUnavailableError, match=r"decoder\.fp32\.onnx"):
            store.load()
        assert ask(client, "it").status_code == 200
        decoder.write_bytes(whole)
        store.load()
        assert ask(client, "it").status_code == 200
        shutil.rmtree(folder / "it-2")  # nothing takes over
        store.load()
        assert ask(client, "it").status_code == 400


def test_a_model_that_stays_must_work_if_another_hands_it_its_languages(folder: Path) -> None:
    """The first folder by name serves a language, also if another with it is loaded and stays."""
    with started(settings_of(folder)) as client:
        store = client.app.state.services.store  # type: ignore[attr-defined]
        assert ask(client, "it").status_code == 200
        first = shutil.copytree(folder / "it", folder / "a")
        (first / "decoder.fp32.onnx").write_bytes(b"broken")
        with pytest.raises(AttendantError, match="is damaged"):
            store.load()
        assert ask(client, "it").status_code == 200
        shutil.copyfile(folder / "it" / "decoder.fp32.onnx", first / "decoder.fp32.onnx")
        store.load()
        assert [one["state"] for one in client.get("/health/ready").json()["models"]] == [
            *("loaded", "unloaded", "loaded", "unloaded")
        ]


def test_models_go_on_beyond_the_memory_limit_until_those_that_replace_them_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started(settings_of(folder)) as client:
        store = client.app.state.services.store  # type: ignore[attr-defined]
        pool = store._folder.pool
        for code in ("fr", "it"):
            assert ask(client, code).status_code == 200
        monkeypatch.setattr(pool, "_resident", lambda: len(pool._loaded) * 1_000_000_000)
        monkeypatch.setattr(pool, "_max_bytes", 2_000_000_000)
        add(folder, "fr", name="newer")
        file("decoder.fp32.onnx", b"broken")(add(folder, "it"))
        with pytest.raises(AttendantError, match="it"):
            store.load()
        for code in ("fr", "it"):
            assert ask(client, code).status_code == 200
        add(folder, "it", name="newer")
        store.load()
        wait_until(lambda: len(pool._loaded) == 2)
        assert ask(client, "it").status_code == 200


def test_a_model_that_has_changed_is_loaded_also_for_requests_from_before_a_reload(
    folder: Path,
) -> None:
    with started(settings_of(folder)) as client:
        store = client.app.state.services.store  # type: ignore[attr-defined]
        before = store.current
        add(folder, "it", name="newer")
        store.load()
        options = TranslationOptions()
        [found] = asyncio.run(before.translate([TEXT], "it", "en", options, 60))
        assert found.text == TRANSLATION
        assert ask(client, "it").json() == {"translatedText": TRANSLATION}


def test_a_model_that_has_lost_a_language_is_not_loaded_before_a_reload(folder: Path) -> None:
    with started(settings_of(folder)) as client:
        shutil.copytree(add(folder, "es"), folder / "it", dirs_exist_ok=True)
        answer = ask(client, "it")
        assert (answer.status_code, answer.json()["code"]) == (503, "model_unavailable")
        assert "has changed: reload the models" in answer.json()["error"]
        client.app.state.services.store.load()  # type: ignore[attr-defined]
        assert ask(client, "it").status_code == 400
        assert ask(client, "es").status_code == 200


def test_a_hidden_folder_is_no_model(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    add(folder, "es").rename(folder / ".it.k3x9")  # as an export leaves it if it is killed
    with started(settings_of(folder)) as client:
        assert set(states(client)) == set(CODES)
    assert "left out" not in caplog.text


def test_a_reload_does_not_try_a_load_again_that_still_hangs(folder: Path) -> None:
    has_ended = False
    with started(settings_of(folder)) as client:
        store = client.app.state.services.store  # type: ignore[attr-defined]
        model = store.current.pooled[0]
        model.failure, model.stuck = "it hangs", StuckError(lambda: has_ended)
        store.load()
        assert ask(client, "fr").json()["error"] == "it hangs"
        has_ended = True
        store.load()
        assert ask(client, "fr").status_code == 200


def test_a_service_none_of_whose_models_can_be_loaded_is_not_ready(folder: Path) -> None:
    for code in ("it", "nl"):
        shutil.rmtree(folder / code)
    decoder = folder / "fr" / "decoder.fp32.onnx"
    whole = decoder.read_bytes()
    decoder.write_bytes(b"broken")
    with started(settings_of(folder)) as client:
        assert ask(client, "fr").status_code == 503
        for path in ("/health", "/health/ready", "/v2/health/ready"):
            assert client.get(path).status_code == 503
        decoder.write_bytes(whole)
        client.app.state.services.store.load()  # type: ignore[attr-defined]
        assert client.get("/health/ready").status_code == 200


def test_a_model_that_may_be_tried_again_is_ready_and_still_says_why_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder = add(tmp_path, "fr") / "decoder.fp32.onnx"
    whole = decoder.read_bytes()
    decoder.write_bytes(b"broken")
    with started(settings_of(tmp_path)) as client:
        reason = ask(client, "fr").json()["error"]
        assert "is damaged" in reason
        [model] = client.app.state.services.store.current.pooled  # type: ignore[attr-defined]
        monkeypatch.setattr(model.pool, "clock", lambda: model.retry_at)
        for path in ("/health", "/v2/health/ready", "/v2/models/tiny-fr/ready"):
            assert client.get(path).status_code == 200
        failed = {"bundle": "tiny-fr", "state": "failed", "reason": reason}
        assert client.get("/health/ready").json()["models"] == [failed]
        assert client.post("/v2/repository/index").json()[0]["reason"] == reason
        decoder.write_bytes(whole)
        assert ask(client, "fr").status_code == 200
        assert states(client) == {"fr": "loaded"}


def test_a_manifest_that_cannot_be_reached_is_told(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loop = folder / "loop"
    loop.mkdir()
    (loop / "manifest.json").symlink_to("manifest.json")
    with started(settings_of(folder)) as client:
        assert set(states(client)) == set(CODES)
    assert "a bundle is left out: " in caplog.text


def test_a_folder_without_bundles_ends_startup(tmp_path: Path) -> None:
    reasons: list[str] = []
    with TestClient(create_app(settings_of(tmp_path), reasons.append)):
        wait_until(lambda: bool(reasons))
    assert reasons == [f"{tmp_path} has no subfolder with the manifest.json of a bundle"]


def test_a_folder_that_cannot_be_read_ends_startup(tmp_path: Path) -> None:
    reasons: list[str] = []
    file = tmp_path / "folder"
    file.touch()
    with TestClient(create_app(settings_of(file), reasons.append)):
        wait_until(lambda: bool(reasons))
    assert reasons == [f"{file}: cannot be read: Not a directory"]


def test_a_broken_bundle_only_affects_its_directions(folder: Path) -> None:
    (folder / "it" / "decoder.fp32.onnx").write_bytes(b"broken")
    (folder / "nl" / "manifest.json").write_text("{")
    with started(settings_of(folder)) as client:
        answer = ask(client, "it")
        assert (answer.status_code, answer.json()["code"]) == (503, "model_unavailable")
        assert answer.json()["error"].startswith(
            "tiny-it cannot be loaded: it/decoder.fp32.onnx is damaged"
        )
        assert int(answer.headers["Retry-After"]) > 1
        assert ask(client, "fr").json() == {"translatedText": TRANSLATION}
        assert states(client) == {"fr": "loaded", "it": "failed"}
        assert client.get("/v2/models/tiny-it/ready").status_code == 503
        assert client.get("/v2/models/tiny-fr/ready").status_code == 200
        assert ask(client, "nl").status_code == 400
        assert 'attendant_model_loads_total{outcome="failed"} 2.0' in client.get("/metrics").text


def test_a_reload_finds_new_changed_repaired_and_removed_bundles(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.models.model_store.GRACE_SECONDS", 0.0)
    decoder = folder / "nl" / "decoder.fp32.onnx"
    whole = decoder.read_bytes()
    decoder.write_bytes(b"broken")
    with started(settings_of(folder)) as client:
        assert [ask(client, code).status_code for code in CODES] == [200, 200, 503]
        store = client.app.state.services.store  # type: ignore[attr-defined]
        kept, changed, _ = store.current.pooled
        same = kept.loaded
        add(folder, "it", name="newer")
        add(folder, "es")
        decoder.write_bytes(whole)
        store.load()
        assert store.current.pooled[1].loaded is same
        assert {**states(client), "fr": "loaded"} == {
            **{"es": "unloaded", "fr": "loaded", "newer": "loaded", "nl": "unloaded"}
        }
        for code in ("es", "fr", "it", "nl"):
            assert ask(client, code).json() == {"translatedText": TRANSLATION}
        wait_until(lambda: changed.loaded is None)
        shutil.rmtree(folder / "fr")
        store.load()
        assert ask(client, "fr").status_code == 400
        wait_until(lambda: kept.loaded is None)
        counted = 'attendant_model_unloads_total{reason="removed"} 2.0'
        wait_until(lambda: counted in client.get("/metrics").text)
