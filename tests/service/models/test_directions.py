"""Models between two hundred languages: their manifests, directions and metrics."""

import json
import shutil
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest

from service.errors import BundleError
from service.metrics import MAX_DIRECTIONS, Metrics
from service.models.bundle import Direction, load
from service.models.bundle_files import MAX_MANIFEST_BYTES
from service.models.directions import MAX_LANGUAGES, Many
from service.models.proof import MAX_PROVEN
from service.settings import Settings
from tests.conftest import TINY_BUNDLE, started

PIECES = 72


def codes(count: int) -> list[str]:
    """Return the codes of German, English and invented languages."""
    others = ("q" + "".join(two) for two in product(ascii_lowercase, repeat=2))
    return ["de", "en", *(code for code, _ in zip(others, range(count - 2), strict=False))]


def between_many(folder: Path, count: int) -> Path:
    """Make the tiny bundle multilingual, with one more token per language after the vocabulary."""
    shutil.copytree(TINY_BUNDLE, folder)
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    names = codes(count)
    tokens = dict(zip(names, [4 + at % (PIECES - 4) for at in range(count)], strict=True))
    manifest["directions"] = {"from_tags": tokens, "into_start_tokens": tokens}
    manifest["files"].pop("golden.jsonl")
    path.write_text(json.dumps(manifest))
    return folder


def test_the_short_form_means_all_pairs_of_different_languages() -> None:
    many = Many(from_tags={"de": 4, "en": 5}, into_start_tokens={"en": 5, "fr": 6})
    found = [(one.source, one.target, one.prefix, one.start_tokens) for one in many.directions]
    assert found == [
        ("de", "en", (4,), (5,)),
        ("de", "fr", (4,), (6,)),
        ("en", "fr", (5,), (6,)),
    ]


def test_other_sets_of_pairs_are_written_as_a_list() -> None:
    tokens = {code: 4 + at for at, code in enumerate(codes(5))}
    every = Many(from_tags=tokens, into_start_tokens=tokens).directions
    assert Many.of(every) == Many(from_tags=tokens, into_start_tokens=tokens)
    assert Many.of(every[1:]) is None
    assert Many.of([*every[1:], every[0].model_copy(update={"start_token": 9})]) is None
    assert Many.of([Direction(source="de", target="en", tag=4)]) is None


def test_two_hundred_languages_are_served(tmp_path: Path, settings: Settings) -> None:
    folder = between_many(tmp_path / "bundle", PIECES - 4)
    bundle = load(folder)
    assert len(bundle.manifest.directions) == 68 * 67
    assert len(bundle.manifest.model_dump_json()) < MAX_MANIFEST_BYTES / 50
    with started(settings.model_copy(update={"bundle": (folder,)})) as client:
        listed = client.get("/languages").json()
        asked = {"text": "Der alte Hund wartet.", "source": "de", "target": "qaa"}
        assert client.post("/translate", json=asked).status_code == 200
        assert client.post("/translate", json={**asked, "target": "de"}).status_code == 200
        missing = client.post("/translate", json={**asked, "target": "fr"})
        assert missing.status_code == 400
    assert len(listed) == 68
    assert {len(one["targets"]) for one in listed} == {67}
    assert MAX_PROVEN < 10  # else a start would take minutes


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"from_tags": {}, "into_start_tokens": {"en": 5}}, "at least 1 item"),
        ({"from_tags": {"de": 4}, "into_start_tokens": {"de": 4}}, "at least 1 item"),
        ({"from_tags": {"de": -4}, "into_start_tokens": {"en": 5}}, "greater than or equal to 0"),
        ({"from_tags": {"d e": 4}, "into_start_tokens": {"en": 5}}, "should match pattern"),
        ({"from_tags": {"de": 4}, "into": {"en": 5}}, "Extra inputs are not permitted|required"),
        ({"from_tags": {"de": 4}, "into_start_tokens": {"en": 99}}, "outside the vocabulary of 72"),
        ({"from_tags": {"de": 3}, "into_start_tokens": {"en": 5}}, "tag 3 is one of the special"),
        (
            {"from_tags": {"de": 4}, "into_start_tokens": {"en": 5, "fr": 5}},
            "two targets have tag 4",
        ),
        (
            dict.fromkeys(
                ("from_tags", "into_start_tokens"), dict.fromkeys(codes(MAX_LANGUAGES + 1), 4)
            ),
            "at most 256 items",
        ),
    ],
)
def test_invalid_languages_are_refused(tmp_path: Path, said: dict[str, Any], message: str) -> None:
    folder = between_many(tmp_path / "bundle", 5)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["directions"] = said
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BundleError, match=message):
        load(folder)


def test_metrics_count_further_directions_as_other() -> None:
    metrics = Metrics()
    for number in range(MAX_DIRECTIONS + 50):
        metrics.on_outcome(f"de-q{number}", "ok", 2)
    metrics.on_outcome("de-q7", "ok", 1)
    text = metrics.render().decode()
    assert text.count("attendant_sentences_total{") == MAX_DIRECTIONS + 1
    assert 'attendant_sentences_total{direction="other",outcome="ok"} 100.0' in text
    assert 'attendant_sentences_total{direction="de-q7",outcome="ok"} 3.0' in text
