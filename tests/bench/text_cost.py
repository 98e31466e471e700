"""`python -m tests.bench.text_cost`: what the text rules cost a sentence, without a model's part.

Each text is taken apart, and put together again with a translation that is there already: for everyday
German what the bundled model says of it, and for English the same once more, as a model that copies does.
CPU time of this thread.
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
from service.translation.types import TranslationOptions
from tests.bench.text import everyday_german

SENTENCES = 400
Work = Callable[[Pipeline, str, str], object]
"""With a text and its translation."""


def translated(texts: Sequence[str]) -> list[str]:
    """What the bundled model says of German sentences."""
    models = ModelSet([start_model(load(DEFAULT_BUNDLE))], 10**6)
    try:
        found = asyncio.run(models.translate(texts, "de", "en", TranslationOptions(), 600))
    finally:
        models.close()
    return [one.text for one in found]


def there_and_back(pipeline: Pipeline, text: str, target: str) -> str:
    """All that the rules do for a request of one text, of whose sentences the first is translated."""
    document = take_apart(text, "text", pipeline=pipeline)
    runs = []
    for sentence in document.sentences:
        sentence.pipeline.clauses.cut(sentence.text)
        sentence.came_through(target)
        runs.append(sentence.translated(target, None))
    return document.assemble(runs)


def apart(pipeline: Pipeline, text: str, _: str) -> Document:
    """The first half of it."""
    return take_apart(text, "text", pipeline=pipeline)


def microseconds(
    work: Work, pipeline: Pipeline, texts: Sequence[str], targets: Sequence[str]
) -> float:
    """A sentence's, on average over all."""
    started = time.thread_time()
    for text, target in zip(texts, targets, strict=True):
        work(pipeline, text, target)
    return 1e6 * (time.thread_time() - started) / len(texts)


def pipelines(bundle: Bundle) -> dict[str, Pipeline]:
    """By source."""
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
        both, half = map(statistics.median, zip(*rounds, strict=True))
        print(f"{source}: {both:.1f} us a sentence, of which {half:.1f} until it is taken apart")


if __name__ == "__main__":
    main()
