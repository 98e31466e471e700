"""The check before a model is served: it must translate as it did when its bundle was made."""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Annotated, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from service.engine import cache, packing
from service.engine.engine import Engine
from service.engine.runner import OnnxModelRunner
from service.engine.types import DecodingOptions, FinishReason, Hypothesis, RunPlan, SpecialIds
from service.errors import BundleError
from service.models.bundle import GOLDEN, Bundle, Code, Direction, Manifest
from service.text.sentence import Sentence
from service.text.tokenizer import Tokenizers
from service.translation.aligner import Aligner
from service.translation.types import TranslatedSentence

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

PROOF_SECONDS = 60.0
"""In which each part of the proof must be done."""
SENTENCES = 3
"""Of the golden ones, by direction; more where there are more workers."""
MEASURED = 8
"""Of the golden sentences, all of which are aligned."""
MAX_PROVEN = 8
"""Directions; of more, those that the golden sentences are of."""
MAX_GOLDEN_LENGTH = 32
"""Tokens of a source; longer ones take too long at a start."""
MAX_DIFFERENCE = 1.0
"""Of a sentence's score and the golden one. In int8 the shipped models differ by 0.06 on average and by up
to 0.4, but for one of 80 sentences; in fp16 by 0.004."""
MIN_SHARE = 0.5
"""More of the sentences than this must come out well: near ties, a precision may find another one."""
BEAM_SIZE, LENGTH_PENALTY, EXTRA_LENGTH = 4, 0.6, 50
"""Of the search that found the golden ones."""


class Golden(BaseModel):
    """A sentence and its best translation, as the reference search found it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source_ids: Annotated[tuple[int, ...], Field(min_length=1)]
    """tag ... EOS, as far as the model has them"""
    ids: tuple[int, ...]
    score: Annotated[float, Field(allow_inf_nan=False)]
    target: Code | None = None
    """The translation's language, whose tag in the manifest must be this one; older bundles do not say it."""

    def proves(self, direction: Direction) -> bool:
        """Whether it is a sentence of that direction."""
        return self.has_prefix(direction.prefix) and self.target in (None, direction.target)

    def has_prefix(self, prefix: tuple[int, ...]) -> bool:
        """Whether its source begins so."""
        return self.source_ids[: len(prefix)] == prefix


def read_golden(bundle: Bundle) -> list[Golden]:
    """The golden sentences; none where the bundle does not have any.

    Raises:
        BundleError: a line is none, has ids that the vocabulary does not, or the tag of another language than
            it says.
    """
    if GOLDEN not in bundle.manifest.files:
        return []
    path, manifest = bundle.folder / GOLDEN, bundle.manifest
    prefixes: dict[str, set[tuple[int, ...]]] = {}
    for direction in manifest.directions:
        prefixes.setdefault(direction.target, set()).add(direction.prefix)
    golden = []
    for number, line in enumerate(bundle.read_text(GOLDEN).splitlines(), start=1):
        try:
            one = Golden.model_validate_json(line)
        except (ValidationError, RecursionError):
            raise BundleError(f": line {number} is not a golden sentence", path) from None
        outside = [id for id in (*one.source_ids, *one.ids) if not 0 <= id < manifest.vocab_size]
        if outside:
            raise BundleError(
                f": line {number} has id {outside[0]}, and the vocabulary {manifest.vocab_size}",
                path,
            )
        if one.target in prefixes and not any(map(one.has_prefix, prefixes[one.target])):
            raise BundleError(
                f": line {number} is a translation to {one.target}, for which the manifest has another tag",
                path,
            )
        golden.append(one)
    return golden


def check_graphs(bundle: Bundle, runner: OnnxModelRunner, special: SpecialIds) -> None:
    """Run every graph with the last id of the vocabulary, and the decoder at its last position.

    Raises:
        Exception: whatever ONNX Runtime says, or that an answer has invalid values.
    """
    manifest = bundle.manifest
    last = manifest.vocab_size - 1
    short = [*manifest.directions[0].prefix, last, *manifest.special_tokens.source_end]
    source_ids, bias = cache.pad([short], special.pad)
    if manifest.scorer is not None:
        target = [special.bos, last, special.eos]
        weights = runner.align(short, target)
        if weights.shape != (1, len(short)) or not np.isfinite(weights).all():
            raise ValueError(f"the scorer aligns one token with {len(short)} as {weights.tolist()}")
        scores = runner.score(source_ids, bias, np.array([target]))
        if scores.shape != (1,) or not scores[0] < np.inf:  # which NaN is not, either
            raise ValueError(f"the scorer finds a translation as probable as {scores.tolist()}")
    longest = manifest.limits.max_target_length
    state = cache.admit(
        cache.empty_state(), [DecodingOptions(longest)], [0], [len(short)], bos_id=last
    )
    state.rows["position"] = longest - 1  # a source of the limit's length would keep its memory
    cross = runner.encode(source_ids, bias)
    packing.decode(runner, state, None, cross, RunPlan(1, 1, np.zeros((0, 3), np.int64)))


def check_translations(bundle: Bundle, engine: Engine, tokenizers: Tokenizers) -> None:
    """Translate with every worker, which allocates its memory by that, and look at what comes out.

    Raises:
        BundleError: it is not what the bundle itself says it should be.
        Exception: no translation came.
    """
    golden = [one for one in read_golden(bundle) if len(one.source_ids) <= MAX_GOLDEN_LENGTH]
    count, known = max(SENTENCES, engine.config.num_workers), []
    for direction in _proven(bundle.manifest.directions, golden):
        mine = [one for one in golden if one.proves(direction)]
        known += [(mine[number % len(mine)], direction) for number in range(count)] if mine else []
        if not mine:
            name, target = bundle.manifest.name, direction.target
            logger.warning(
                "%s: translations to %s are not verified, because %s has no sentence for them",
                name,
                target,
                GOLDEN,
            )
        source = mine[0].source_ids if mine else _any_source(direction, bundle.manifest)
        # judged by the scorer, too; an engine whose steps fail has to do this one again
        items = [(source, _options(bundle, source, direction, reranks=True))]
        items += [] if mine else [(source, _options(bundle, source, direction))] * count
        _decoded([best for best, *_ in _translate(engine, items)], tokenizers)
    items = [(one.source_ids, _options(bundle, one.source_ids, of)) for one, of in known]
    found = [best for best, *_ in _translate(engine, items)]
    texts = _decoded(found, tokenizers)
    good = sum(map(_is_near, [one for one, _ in known], found, texts))
    if known and good / len(known) <= MIN_SHARE:
        raise BundleError(
            f": only {good} of {len(known)} sentences of {GOLDEN} are translated as expected",
            bundle.folder,
        )


def measure_alignment(bundle: Bundle, aligner: Aligner) -> None:
    """Align golden sentences, so that how long it takes is known before a request asks for it."""
    for one in read_golden(bundle)[:MEASURED]:
        direction = next(
            filter(one.proves, bundle.manifest.directions), bundle.manifest.directions[0]
        )
        before = len(direction.prefix)
        behind = len(one.source_ids) - len(bundle.manifest.special_tokens.source_end)
        [source] = aligner.tokenizers.source.decode([one.source_ids[before:behind]])
        [target] = aligner.tokenizers.target.decode([one.ids])
        sentence = TranslatedSentence(Sentence(source), (target,), (one.score,))
        aligner.measure(sentence, (direction.prefix, direction.start_tokens))


def _proven(directions: Sequence[Direction], golden: Sequence[Golden]) -> list[Direction]:
    """One of each target's, or, of many, those that golden sentences are of."""
    found = {one.asking: one for one in directions}
    if len(found) > MAX_PROVEN:
        wanted = {(one.source_ids[:1], one.target) for one in golden}
        found = {
            one.asking: one
            for one in directions
            if (one.prefix, one.target) in wanted or one is directions[0]
        }
    return list(found.values())[:MAX_PROVEN]


def _any_source(direction: Direction, manifest: Manifest) -> tuple[int, ...]:
    """Something to translate."""
    return *direction.prefix, manifest.vocab_size - 1, *manifest.special_tokens.source_end


def _decoded(found: Sequence[Hypothesis], tokenizers: Tokenizers) -> list[str]:
    return tokenizers.target.decode([one.ids for one in found])


def _is_near(golden: Golden, found: Hypothesis, text: str) -> bool:
    """Whether a translation is finished, is a text, and is about as probable as the golden one."""
    return (
        found.finish_reason is FinishReason.END
        and abs(found.score - golden.score) <= MAX_DIFFERENCE
        and bool(text) == bool(golden.ids)
    )


def _translate(
    engine: Engine, items: Sequence[tuple[tuple[int, ...], DecodingOptions]]
) -> list[list[Hypothesis]]:
    """As many at once as may wait."""
    found: list[list[Hypothesis]] = []
    while items:
        part, items = items[: engine.config.max_waiting], items[engine.config.max_waiting :]
        sequences = engine.submit(part)
        found += [sequence.future.result(PROOF_SECONDS) for sequence in sequences]
    return found


def _options(
    bundle: Bundle, source: tuple[int, ...], direction: Direction, reranks: bool = False
) -> DecodingOptions:
    """Those of the golden sentences; with `reranks`, the channel model ranks what is found."""
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


def run_with_timeout(seconds: float, function: Callable[[], Result]) -> Result:
    """What a function returns, if it does in time; else its thread is left behind.

    Raises:
        TimeoutError: it did not.
        Exception: what it raised.
    """
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(function())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="proof", daemon=True).start()
    return done.result(seconds)
