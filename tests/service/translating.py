"""Helpers that translate with models of the tiny bundle, without HTTP."""

import asyncio

from service.metrics import Metrics
from service.models.bundle import load
from service.models.loading import start_model
from service.models.model_set import ModelSet
from service.models.model_store import model_options
from service.settings import Settings
from service.translation.options import TranslationOptions
from tests.conftest import TINY_BUNDLE

OPTIONS = TranslationOptions()
TEXTS = ["Der alte Hund schläft.", "Die alte Frau wartet."]


def start(settings: Settings, metrics: Metrics) -> ModelSet:
    return ModelSet(
        [start_model(load(TINY_BUNDLE), model_options(settings), metrics)], max_characters=50_000
    )


def translate(models: ModelSet, texts: list[str], timeout: float = 60) -> list[str]:
    work = models.translate(texts, "de", "en", OPTIONS, timeout)
    return [translation.text for translation in asyncio.run(work)]


def outcomes(metrics: Metrics) -> dict[str, float]:
    return {
        sample.labels["outcome"]: sample.value
        for metric in metrics.sentences.collect()
        for sample in metric.samples
        if sample.name.endswith("_total")
    }
