"""The check before a model is served: it must translate as it did when the bundle was exported."""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Annotated, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from service.engine import cache, packing
from service.engine.engine import Engine
from service.engine.runner import OnnxModelRunner
from service.engine.sources import pad
from service.engine.types import DecodingOptions, FinishReason, Hypothesis, RunPlan, SpecialIds
from service.errors import BundleError
from service.models.bundle import GOLDEN, Bundle, Code, Direction, Manifest
from service.text.sentence import Sentence
from service.text.tokenizer import Tokenizers
from service.translation.aligner import Aligner
from service.translation.decoding import SearchPolicy, decoding_options
from service.translation.options import TranslationOptions

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

PROOF_SECONDS = 60.0
"""Time limit for each part of the check."""
SENTENCES = 3
"""Golden sentences to translate per direction; at least one per worker."""
MEASURED = 8
"""Golden sentences to align, to measure how long that takes."""
MAX_PROVEN = 8
"""Maximum number of directions to check; those with golden sentences are preferred."""
MAX_GOLDEN_LENGTH = 32
"""Maximum tokens of a golden source; longer ones would delay startup."""
MAX_DIFFERENCE = 1.0
"""Maximum difference from the golden score. The bundled models in int8 differ by 0.06 on average and by at
most 0.4, except for one of 80 sentences; in fp16, by 0.004."""
MIN_SHARE = 0.5
"""More than this share must be as expected. Not all: near ties, another precision may choose differently."""
BEAM_SIZE, LENGTH_PENALTY, EXTRA_LENGTH = 4, 0.6, 50
"""Options of the search that found the golden translations."""


class Golden(BaseModel):
    """A sentence and the best translation that the reference search found."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source_ids: Annotated[tuple[int, ...], Field(min_length=1)]
    """From tag to EOS, if the model uses them."""
    ids: tuple[int, ...]
    score: Annotated[float, Field(allow_inf_nan=False)]
    target: Code | None = None
    """The target language; missing in older bundles."""

    def proves(self, direction: Direction) -> bool:
        """Check whether the sentence belongs to a direction."""
        return self.has_prefix(direction.prefix) and self.target in (None, direction.target)

    def has_prefix(self, prefix: tuple[int, ...]) -> bool:
        """Check whether the source begins with `prefix`."""
        return self.source_ids[: len(prefix)] == prefix


def read_golden(bundle: Bundle) -> list[Golden]:
    """Read the golden sentences; return an empty list if the bundle has none.

    Raises:
        BundleError: a line is invalid, has ids outside the vocabulary, or contradicts the manifest about tags
            or the end of sources.
    """
    if GOLDEN not in bundle.manifest.files:
        return []
    path, manifest = bundle.folder / GOLDEN, bundle.manifest
    special = manifest.special_tokens
    prefixes: dict[str, set[tuple[int, ...]]] = {}
    for direction in manifest.directions:
        prefixes.setdefault(direction.target, set()).add(direction.prefix)
    golden = []
    for number, line in enumerate(bundle.read_text(GOLDEN).splitlines(), start=1):
        try:
            sentence = Golden.model_validate_json(line)
        except (ValidationError, RecursionError):
            raise BundleError(f": line {number} is not a golden sentence", path) from None
        outside = [
            id for id in (*sentence.source_ids, *sentence.ids) if not 0 <= id < manifest.vocab_size
        ]
        if outside:
            raise BundleError(
                f": line {number} has id {outside[0]}, and the vocabulary {manifest.vocab_size}",
                path,
            )
        if sentence.target in prefixes and not any(
            map(sentence.has_prefix, prefixes[sentence.target])
        ):
            raise BundleError(
                f": line {number} is a translation to {sentence.target}, for which the manifest has "
                f"another tag",
                path,
            )
        if (sentence.source_ids[-1] == special.eos) != special.ends_source:
            raise BundleError(
                f": line {number} ends with id {sentence.source_ids[-1]}, which is not what ends_source says",
                path,
            )
        golden.append(sentence)
    return golden


def check_graphs(bundle: Bundle, runner: OnnxModelRunner, special: SpecialIds) -> None:
    """Run every graph with the last id of the vocabulary, and the decoder at its last position.

    Raises:
        Exception: ONNX Runtime's own error, or a ValueError if the scorer returns invalid values.
    """
    manifest = bundle.manifest
    last_id = manifest.vocab_size - 1
    source = [
        *manifest.directions[0].prefix,
        last_id,
        *manifest.special_tokens.source_end,
    ]
    source_ids, bias = pad([source], special.pad)
    if manifest.scorer is not None:
        target = [special.bos, last_id, special.eos]
        weights = runner.align(source, target)
        if weights.shape != (1, len(source)) or not np.isfinite(weights).all():
            raise ValueError(
                f"the scorer aligns one token with {len(source)} as {weights.tolist()}"
            )
        scores = runner.score(source_ids, bias, np.array([target]))
        if scores.shape != (1,) or not scores[0] < np.inf:  # also true for NaN
            raise ValueError(f"the scorer finds a translation as probable as {scores.tolist()}")
    longest = manifest.limits.max_target_length
    state = cache.admit(
        cache.empty_state(),
        [DecodingOptions(longest, stop_rule=manifest.decoding.stop_rule)],
        [0],
        [len(source)],
        bos_id=last_id,
    )
    state.rows["position"] = longest - 1  # really decoding that far would take too much memory
    cross = runner.encode(source_ids, bias)
    packing.decode(runner, state, None, cross, RunPlan(1, 1, np.zeros((0, 3), np.int64)))


def check_translations(bundle: Bundle, engine: Engine, tokenizers: Tokenizers) -> None:
    """Translate golden sentences with every worker, which also warms it up, and check the translations.

    Raises:
        BundleError: too few translations are as expected.
        Exception: a translation failed.
    """
    golden = [
        sentence
        for sentence in read_golden(bundle)
        if len(sentence.source_ids) <= MAX_GOLDEN_LENGTH
    ]
    count = max(SENTENCES, engine.config.num_workers)
    cases: list[tuple[Golden, Direction]] = []
    for direction in _proven(bundle.manifest.directions, golden):
        matching = [sentence for sentence in golden if sentence.proves(direction)]
        if matching:
            cases += [(matching[number % len(matching)], direction) for number in range(count)]
        else:
            name, target = bundle.manifest.name, direction.target
            logger.warning(
                "%s: translations to %s are not verified, because %s has no sentence for them",
                name,
                target,
                GOLDEN,
            )
        source = matching[0].source_ids if matching else _any_source(direction, bundle.manifest)
        # reranked, so that the scorer is checked, too; after failed steps, the engine repeats this sentence
        items = [
            (source, _options(bundle, source, direction, reranks=True)),
            (source, _requested(bundle.manifest, source, direction)),
        ]
        if not matching:
            items += [(source, _options(bundle, source, direction))] * count
        _decoded([best for best, *_ in _translate(engine, items)], tokenizers)
    items = [
        (sentence.source_ids, _options(bundle, sentence.source_ids, direction))
        for sentence, direction in cases
    ]
    hypotheses = [best for best, *_ in _translate(engine, items)]
    texts = _decoded(hypotheses, tokenizers)
    num_near = sum(map(_is_near, [sentence for sentence, _ in cases], hypotheses, texts))
    if cases and num_near / len(cases) <= MIN_SHARE:
        raise BundleError(
            f": only {num_near} of {len(cases)} sentences of {GOLDEN} are translated as expected",
            bundle.folder,
        )


def measure_alignment(bundle: Bundle, aligner: Aligner) -> None:
    """Align golden sentences, so that the time it takes is known before the first request."""
    for golden in read_golden(bundle)[:MEASURED]:
        direction = next(
            filter(golden.proves, bundle.manifest.directions), bundle.manifest.directions[0]
        )
        start = len(direction.prefix)
        end = len(golden.source_ids) - len(bundle.manifest.special_tokens.source_end)
        [source] = aligner.tokenizers.source.decode([golden.source_ids[start:end]])
        [target] = aligner.tokenizers.target.decode([golden.ids])
        aligner.measure(Sentence(source), target, direction.around)


def _proven(directions: Sequence[Direction], golden: Sequence[Golden]) -> list[Direction]:
    """Choose one direction per target, or if there are too many, those with golden sentences."""
    by_asking = {direction.asking: direction for direction in directions}
    if len(by_asking) > MAX_PROVEN:
        wanted = {(sentence.source_ids[:1], sentence.target) for sentence in golden}
        by_asking = {
            direction.asking: direction
            for direction in directions
            if (direction.prefix, direction.target) in wanted or direction is directions[0]
        }
    return list(by_asking.values())[:MAX_PROVEN]


def _any_source(direction: Direction, manifest: Manifest) -> tuple[int, ...]:
    """Return a source of one arbitrary token."""
    return *direction.prefix, manifest.vocab_size - 1, *manifest.special_tokens.source_end


def _decoded(hypotheses: Sequence[Hypothesis], tokenizers: Tokenizers) -> list[str]:
    return tokenizers.target.decode([hypothesis.ids for hypothesis in hypotheses])


def _is_near(golden: Golden, hypothesis: Hypothesis, text: str) -> bool:
    """Check that a translation is complete, not empty, and about as probable as the golden one."""
    return (
        hypothesis.finish_reason is FinishReason.END
        and abs(hypothesis.score - golden.score) <= MAX_DIFFERENCE
        and bool(text) == bool(golden.ids)
    )


def _translate(
    engine: Engine, items: Sequence[tuple[tuple[int, ...], DecodingOptions]]
) -> list[list[Hypothesis]]:
    """Translate all, at most as many at once as the engine's queue holds."""
    hypotheses: list[list[Hypothesis]] = []
    while items:
        batch, items = items[: engine.config.max_waiting], items[engine.config.max_waiting :]
        sequences = engine.submit(batch)
        hypotheses += [sequence.future.result(PROOF_SECONDS) for sequence in sequences]
    return hypotheses


def _options(
    bundle: Bundle, source: tuple[int, ...], direction: Direction, reranks: bool = False
) -> DecodingOptions:
    """Return the golden search's options; with `reranks`, the channel model reranks."""
    manifest = bundle.manifest
    channel = manifest.channel_direction(direction) if reranks else None
    return DecodingOptions(
        min(len(source) - 2 + EXTRA_LENGTH, manifest.limits.max_target_length),
        beam_size=BEAM_SIZE,
        num_hypotheses=BEAM_SIZE,
        length_penalty=LENGTH_PENALTY,
        start_tokens=direction.start_tokens,
        channel_tag=channel.tag if channel else None,
    )


def _requested(
    manifest: Manifest, source: tuple[int, ...], direction: Direction
) -> DecodingOptions:
    """Return the options of a request that leaves the search to the bundle."""
    policy = SearchPolicy(max_beam_size=manifest.decoding.beam_size)
    options = decoding_options(manifest, direction, TranslationOptions(), policy)
    length = min(len(source) - 2 + EXTRA_LENGTH, options.max_decoding_length)
    return replace(options, max_decoding_length=length, start_tokens=direction.start_tokens)


class StuckError(TimeoutError):
    """Something did not end in time, and goes on. `has_ended` returns whether it has ended since."""

    def __init__(self, has_ended: Callable[[], bool]) -> None:
        """Keep the function."""
        super().__init__("not done in time")
        self.has_ended = has_ended


def run_with_timeout(seconds: float, function: Callable[[], Result]) -> Result:
    """Run a function in a thread and return its result. After a timeout, the thread is left running.

    Raises:
        StuckError: the function did not finish in time.
        Exception: whatever the function raised.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="proof", daemon=True).start()
    wait([future], seconds)
    if not future.done():
        raise StuckError(future.done)
    return future.result()
