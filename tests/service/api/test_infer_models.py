"""The Open Inference Protocol's inference with several models, and with keys."""

import json
import shutil
from pathlib import Path

from service.keys import digest_of
from service.settings import Settings
from tests.conftest import TINY_BUNDLE, started
from tests.service.api.test_infer import GERMAN, INFER, TRANSLATIONS, asked


def test_the_model_that_is_named_translates(tmp_path: Path) -> None:
    """Both are copies of the same model, but one declares French instead of English."""
    other = tmp_path / "other"
    shutil.copytree(TINY_BUNDLE, other)
    manifest = json.loads((other / "manifest.json").read_text("utf-8"))
    manifest["name"] = "other"
    for direction in manifest["directions"]:
        direction["target"] = direction["target"].replace("en", "fr")
        direction["source"] = direction["source"].replace("en", "fr")
    (other / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    settings = Settings(bundle=(TINY_BUNDLE, other), precision="fp32", device="cpu", num_workers=1)
    with started(settings) as client:
        refused = client.post("/v2/models/other/infer", json=asked())
        assert (refused.status_code, refused.json()["error"]) == (
            400,
            "en is not supported, only de, fr",
        )
        french = asked(parameters={"source": "de"})  # the only target that this model has
        for name, parameters in (("tiny", GERMAN), ("other", french["parameters"])):
            answer = client.post(f"/v2/models/{name}/infer", json=asked(parameters=parameters))
            assert answer.json()["model_name"] == name
            assert answer.json()["outputs"][0]["data"] == TRANSLATIONS
        models = client.app.state.services.store.current  # type: ignore[attr-defined]
        assert models.named("none") is None
        assert models.num_active == 0


def test_a_key_is_required_if_configured(tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text(f'[one]\nsha256 = "{digest_of("secret")}"\n')
    settings = Settings(
        bundle=(TINY_BUNDLE,),
        precision="fp32",
        device="cpu",
        num_workers=1,
        api_keys=keys,
        key_required=True,
    )
    with started(settings) as client:
        assert client.post(INFER, json=asked()).status_code == 401
        wrong = client.post(INFER, content="{", headers={"Authorization": "Bearer wrong"})
        assert wrong.status_code == 403
        right = client.post(INFER, json=asked(), headers={"Authorization": "Bearer secret"})
        assert right.status_code == 200
