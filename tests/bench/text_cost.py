"""`python -m tests.bench.text_cost`: measure the CPU time of the text rules per sentence, without a model.

Each text is taken apart and assembled with a translation that exists already: for everyday German, that of
the bundled model, and for English, the same text again, like the output of a model that copies.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable, Sequence

from service.models.bundle import DEFAULT_BUNDLE, Bundle, load
from service.models.loading import start_model
from service.models.model_set import ModelSet
from service.models.vocabularies import load_tokenizers
from service.text.document import Document, take_apart
from service.text.pipeline import Pipeline
from service.translation.options import TranslationOptions
from tests.bench.text import everyday_german

SENTENCES = 400
Work = Callable[[Pipeline, str, str], object]
"""Processes a text and its translation."""


def translated(texts: Sequence[str]) -> list[str]:
    """Translate German sentences with the bundled model."""
    models = ModelSet([start_model(load(DEFAULT_BUNDLE))], 10**6)
    try:
        translations = asyncio.run(models.translate(texts, "de", "en", TranslationOptions(), 600))
    finally:
        models.close()
    return [translation.text for translation in translations]


def there_and_back(pipeline: Pipeline, text: str, target: str) -> str:
    """Apply the rules as for a request with one text, whose sentences all have the translation `target`."""
    document = take_apart(text, "text", pipeline=pipeline)
    runs = []
    for sentence in document.sentences:
        sentence.pipeline.clauses.cut(sentence.text)
        sentence.came_through(target)
        runs.append(sentence.translated(target, None))
    return document.assemble(runs)


def apart(pipeline: Pipeline, text: str, _: str) -> Document:
    """Apply only the rules before translation."""
    return take_apart(text, "text", pipeline=pipeline)


def microseconds(
    work: Work, pipeline: Pipeline, texts: Sequence[str], targets: Sequence[str]
) -> float:
    """Return the mean CPU time of a sentence in microseconds."""
    started = time.thread_time()
    for text, target in zip(texts, targets, strict=True):
        work(pipeline, text, target)
    return 1e6 * (time.thread_time() - started) / len(texts)


def pipelines(bundle: Bundle) -> dict[str, Pipeline]:
    """Return the pipelines by source language."""
    make = bundle.pipelines(load_tokenizers(bundle))
    return {direction.source: make(direction) for direction in bundle.manifest.directions}


def main() -> None:
    """Measure and print medians."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.text_cost", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    german = everyday_german(SENTENCES)
    english = translated(german)
    by_source = pipelines(load(DEFAULT_BUNDLE))
    for source, texts in (("de", german), ("en", english)):
        rounds = [
            [
                microseconds(work, by_source[source], texts, english)
                for work in (there_and_back, apart)
            ]
            for _ in range(options.rounds)
        ]
        total_cost, cost_before = map(statistics.median, zip(*rounds, strict=True))
        print(
            f"{source}: {total_cost:.1f} us per sentence, of which {cost_before:.1f} before translation"
        )


if __name__ == "__main__":
    main()
