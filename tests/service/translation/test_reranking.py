"""When the opposite direction takes part in ranking, and with which length penalty."""

import asyncio
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from service.engine.types import DecodingSequence, Work
from service.models.bundle import load
from service.models.loading import start_model
from service.models.model_set import ModelSet
from service.models.model_store import model_options
from service.settings import Settings
from service.translation.decoding import SearchPolicy, decoding_options
from service.translation.options import TranslationOptions
from tests.conftest import TINY_BUNDLE
from tests.service.translating import OPTIONS, TEXTS


def channel_tags(models: ModelSet, options: TranslationOptions) -> set[int | None]:
    """What the engine is asked to judge translations by."""
    model = models.models[0]
    submit, seen = model.engine.submit, set[int | None]()

    def spy(
        items: Sequence[Work], deadline: float, seconds_after: float, is_further: bool
    ) -> list[DecodingSequence]:
        seen.update(decoding.channel_tag for _, decoding in items)
        return submit(items, deadline, seconds_after, is_further)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model.engine, "submit", spy)
        asyncio.run(models.translate(TEXTS, "de", "en", options, 60))
    return seen


def test_reranking_is_enabled_by_request_or_by_setting(models: ModelSet, tmp_path: Path) -> None:
    german = load(TINY_BUNDLE).manifest.direction("en", "de")
    assert german is not None
    assert channel_tags(models, OPTIONS) == {None}
    asking, refusing = replace(OPTIONS, rerank=True), replace(OPTIONS, rerank=False)
    assert channel_tags(models, asking) == {german.tag}
    one_way = shutil.copytree(TINY_BUNDLE, tmp_path / "one_way")
    manifest = json.loads((one_way / "manifest.json").read_text())
    manifest["directions"] = [one for one in manifest["directions"] if one["source"] == "de"]
    (one_way / "manifest.json").write_text(json.dumps(manifest))
    weightless = shutil.copytree(TINY_BUNDLE, tmp_path / "weightless")
    manifest = json.loads((weightless / "manifest.json").read_text())
    manifest["decoding"].pop("reverse_weight", None)
    manifest["decoding"]["channel_weight"] = 0
    (weightless / "manifest.json").write_text(json.dumps(manifest))
    settings = Settings(precision="fp32", device="cpu", rerank=True)
    for folder, options, tags in (
        (TINY_BUNDLE, OPTIONS, {german.tag}),
        (TINY_BUNDLE, refusing, {None}),
        (one_way, asking, {None}),
        (weightless, asking, {None}),
    ):
        others = ModelSet(
            [start_model(load(folder), model_options(settings))], max_characters=50_000
        )
        try:
            assert channel_tags(others, options) == tags
        finally:
            others.close()


@pytest.mark.parametrize(
    ("own", "weight", "asked", "rerank", "penalty"),
    [
        (0.25, 0.5, None, True, 0.25),
        (0.25, 0.5, None, False, 1.5),
        (0.25, 0.5, 0.75, True, 0.75),
        (0.0, 0.5, None, True, 0.0),
        (0.25, 0.0, None, True, 1.5),  # nothing is judged
        (None, 0.5, None, True, 1.5),
    ],
)
def test_reranking_may_have_its_own_length_penalty(
    own: float | None, weight: float, asked: float | None, rerank: bool, penalty: float
) -> None:
    manifest = load(TINY_BUNDLE).manifest
    decoding = manifest.decoding.model_copy(
        update={
            "length_penalty": 1.5,
            "channel_length_penalty": own,
            "channel_weight": weight,
        }
    )
    manifest = manifest.model_copy(update={"decoding": decoding})
    direction = manifest.direction("de", "en")
    assert direction is not None
    options = replace(OPTIONS, length_penalty=asked, rerank=rerank)
    found = decoding_options(manifest, direction, options, SearchPolicy(4))
    assert found.length_penalty == penalty


def test_translations_that_are_too_long_for_the_scorer_are_not_reranked(models: ModelSet) -> None:
    manifest = models.models[0].translator.manifest
    german = manifest.direction("en", "de")
    assert german is not None
    begins = "Der alte Hund schläft und " * 40
    pieces = len(models.models[0].translator.tokenizers.target.encode([begins])[0])
    prefix = begins[: len(begins) * (manifest.limits.max_target_length - 4) // pieces]
    options = replace(OPTIONS, target_prefix=prefix, rerank=True)
    # the first text's sentence begins with the prefix, and so does the second's
    assert channel_tags(models, options) == {None}
    assert channel_tags(models, replace(options, target_prefix="")) == {german.tag}
