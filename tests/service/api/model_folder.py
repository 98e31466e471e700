"""A folder of models that translate other languages than German, and requests to them."""

import json
import shutil
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from service.settings import Settings
from tests.conftest import TINY_BUNDLE

CODES = ("fr", "it", "nl")
TEXT, TRANSLATION = "Der alte Hund schläft.", "The old dog sleeps."


def add(folder: Path, code: str, **changed: Any) -> Path:
    """Add a copy of the tiny bundle that declares another language instead of German."""
    path = folder / code
    shutil.copytree(TINY_BUNDLE, path, dirs_exist_ok=True)
    text = (TINY_BUNDLE / "manifest.json").read_text("utf-8").replace('"de"', f'"{code}"')
    manifest = {**json.loads(text), "name": f"tiny-{code}", **changed}
    (path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return path


def fill(folder: Path) -> Path:
    """Add a model for each of `CODES`, and a folder that is none."""
    (folder / "no bundle").mkdir()
    for code in CODES:
        add(folder, code)
    return folder


def settings_of(folder: Path, **changed: Any) -> Settings:
    chosen = {
        "bundles": folder,
        "precision": "fp32",
        "device": "cpu",
        "num_workers": 1,
        "pivot": "off",
    }
    return Settings(**{**chosen, **changed})


def ask(client: TestClient, code: str, **fields: Any) -> Any:
    return client.post("/translate", json={"q": TEXT, "source": code, "target": "en", **fields})


def states(client: TestClient) -> dict[str, str]:
    found = client.get("/health/ready").json()["models"]
    return {one["bundle"].removeprefix("tiny-"): one["state"] for one in found}
