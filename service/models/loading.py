"""Builds what serves one model: runners, engine and translator."""

import logging
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Self, get_args

from service.engine.config import MAX_WORKERS, EngineConfig
from service.engine.cores import available_cores
from service.engine.cuda import CudaUnusableError
from service.engine.engine import Engine
from service.engine.runner import OnnxModelRunner, cuda_device, runners_for
from service.engine.single_sequence import runner_for_one
from service.engine.turns import Turns
from service.engine.types import Device, DeviceChoice, Placement, SpecialIds
from service.errors import BundleError, quoted, reason
from service.models.bundle import Bundle, Precision, PrecisionChoice
from service.models.observer import Observer
from service.models.proof import (
    PROOF_SECONDS,
    StuckError,
    check_graphs,
    check_translations,
    measure_alignment,
    run_with_timeout,
)
from service.models.vocabularies import load_tokenizers
from service.text.tokenizer import Tokenizers
from service.translation.aligner import Aligner
from service.translation.cache import SentenceCache
from service.translation.decoding import SearchPolicy
from service.translation.options import is_number
from service.translation.searcher import Searcher
from service.translation.translator import ModelTranslator

logger = logging.getLogger(__name__)

FIRST_RUN_SECONDS = 60.0
"""Time limit for a graph's first run, as a graph may loop forever."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How models are run; the same for all models of a process."""

    device: DeviceChoice = "auto"
    precision: PrecisionChoice = "auto"
    num_workers: int = 0
    """Batches that run in parallel; 0 means one per core (1 on CUDA)."""
    engine: EngineConfig = field(default_factory=EngineConfig)
    """Its `num_workers` is ignored, and on CUDA the limits of a batch, which are the next two."""
    max_num_seqs: int = 0
    """Maximum sentences in a batch; 0 means those of `engine`, or on CUDA as the device's memory allows."""
    max_num_batched_tokens: int = 0
    """The same for the entries of a batch."""
    gpu_memory_limit: int = 0
    """Bytes of the device's memory that a model may take; 0 means all."""
    cached_sentences: int = 0
    max_beam_size: int = 8
    """Largest beam size that a request may ask for."""
    rerank: bool = False
    """Default for requests that do not set it."""
    single_sequence: bool = True
    """Whether to measure at startup if a sentence that is alone runs faster on all cores."""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: a value is not among its choices, or is out of range.
        """
        for name, choice_type in (("device", DeviceChoice), ("precision", PrecisionChoice)):
            choices = get_args(choice_type)
            if (value := getattr(self, name)) not in choices:
                expected = f"one of {', '.join(choices)}"
                raise ValueError(f"{name} must be {expected}, but is {quoted(value)}")
        workers = self.num_workers
        if not is_number(workers, int) or not 0 <= workers <= MAX_WORKERS:
            raise ValueError(
                f"num_workers must be an integer between 0 and {MAX_WORKERS}, but is {quoted(workers)}"
            )


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A bundle with the engine and the translator that serve it."""

    bundle: Bundle
    engine: Engine
    translator: ModelTranslator
    precision: Precision
    placement: Placement

    @property
    def loaded(self) -> Self:
        """The model itself; see `PooledModel.loaded`."""
        return self

    @property
    def state(self) -> Literal["loaded"]:
        """See `PooledModel.state`."""
        return "loaded"

    @property
    def failure(self) -> str:
        """Always empty; see `PooledModel.failure`."""
        return ""

    @property
    def refusal(self) -> str:
        """Always empty; see `PooledModel.refusal`."""
        return ""

    def lease(self, timeout: float) -> AbstractAsyncContextManager[Self]:  # noqa: ARG002
        """Return a context manager that yields the model at once; see `PooledModel.lease`."""
        return nullcontext(self)

    @property
    def expected_wait(self) -> float | None:
        """Estimated seconds until all waiting work is done; None if there is no estimate yet."""
        searches = self.engine.expected_wait
        return None if searches is None else searches + self.translator.aligner.backlog.seconds

    def close(self) -> bool:
        """Stop the engine and the translator; return whether all threads ended in time."""
        closed = self.engine.close()
        self.translator.close()
        return closed


def choose_device(options: ModelOptions, bundle: Bundle) -> tuple[Device, Precision]:
    """Choose the device and the precision.

    Raises:
        BundleError: the requested device or precision is not available.
    """
    graphs = bundle.manifest.graphs
    device: Device = "cuda" if _uses_cuda(options, bundle) else "cpu"
    if options.precision != "auto":
        bundle.graphs(options.precision)
        return device, options.precision
    order: tuple[Precision, ...] = (
        ("fp16", "fp32", "int8") if device == "cuda" else ("int8", "fp32", "fp16")
    )
    return device, next(precision for precision in order if precision in graphs)


def _uses_cuda(options: ModelOptions, bundle: Bundle) -> bool:
    """Return whether to run on CUDA.

    Raises:
        BundleError: CUDA was requested, and cannot be used.
    """
    is_only_int8 = options.precision == "int8" or bundle.manifest.graphs.keys() == {"int8"}
    if options.device == "cpu" or (options.device == "auto" and is_only_int8):
        return False
    try:
        cuda_device()
    except CudaUnusableError as error:
        if options.device == "cuda":
            raise BundleError(f"device is cuda, but {error}") from None
        if not error.is_absent:
            logger.warning("CUDA is not used: %s", error)
        return False
    return True


def start_model(
    bundle: Bundle,
    options: ModelOptions | None = None,
    observer: Observer | None = None,
    turns: Turns | None = None,
) -> ServedModel:
    """Load a bundle's graphs, start an engine, and check that it translates as expected.

    Args:
        bundle: the bundle, already verified.
        options: how the model is run.
        observer: receives events and counts.
        turns: limits how many engines of this process compute at the same time.

    Raises:
        BundleError: the bundle cannot be served.
    """
    options, observer = options or ModelOptions(), observer or Observer()
    manifest = bundle.manifest
    device, precision = choose_device(options, bundle)
    tokens, tokenizers = manifest.special_tokens, load_tokenizers(bundle)
    special = SpecialIds(tokens.pad, tokens.bos, tokens.eos, manifest.vocab_size)
    try:
        runners, single_sequence_runner = _load_graphs(bundle, device, precision, options, special)
    except BundleError as error:
        if options.device != "auto" or device == "cpu":
            raise
        logger.warning("CUDA is not used: %s", error)
        device, precision = choose_device(replace(options, device="cpu"), bundle)
        runners, single_sequence_runner = _load_graphs(bundle, device, precision, options, special)
    config = replace(options.engine, num_workers=_num_workers(options, device))
    if device == "cuda":
        memory = cuda_device().memory_bytes
        usable = min(memory, options.gpu_memory_limit or memory)
        config = config.for_device(usable, runners[0].bytes_per_entry)
    config = replace(
        config,
        max_num_seqs=options.max_num_seqs or config.max_num_seqs,
        max_num_batched_tokens=options.max_num_batched_tokens or config.max_num_batched_tokens,
    )
    engine = Engine(
        runners,
        special,
        config,
        observer.on_step,
        single_sequence_runner=single_sequence_runner,
        on_fault=observer.on_fault,
    )
    aligner = _aligner(bundle, tokenizers, runners[0], engine, observer)
    translator = ModelTranslator(
        bundle,
        tokenizers,
        Searcher(engine, SentenceCache(options.cached_sentences, observer.on_cached)),
        aligner,
        SearchPolicy(options.max_beam_size, options.rerank),
        observer,
    )
    model = ServedModel(bundle, engine, translator, precision, runners[0].placement)
    _start(model, runners[0], special, turns)
    return model


def _num_workers(options: ModelOptions, device: Device) -> int:
    return options.num_workers or (1 if device == "cuda" else available_cores())


def _load_graphs(
    bundle: Bundle,
    device: Device,
    precision: Precision,
    options: ModelOptions,
    special: SpecialIds,
) -> tuple[list[OnnxModelRunner], OnnxModelRunner | None]:
    """Build a runner for each worker and, if it is faster, one on all cores for a lone sentence.

    Raises:
        BundleError: the graphs cannot run on this device.
    """
    graphs = bundle.graphs(precision)
    num_workers = _num_workers(options, device)
    threads = num_workers if device == "cpu" and options.single_sequence else 1
    limit = options.gpu_memory_limit
    try:
        runners = runners_for(num_workers, *graphs, device, bundle.scorer, limit)
        build = partial(runner_for_one, *graphs, runners[0], special, threads)
        return runners, run_with_timeout(FIRST_RUN_SECONDS, build)
    except Exception as error:
        message = f": its {precision} graphs cannot run on {device}"
        raise BundleError(message, bundle.folder, _described(error)) from error


def _aligner(
    bundle: Bundle,
    tokenizers: Tokenizers,
    runner: OnnxModelRunner,
    engine: Engine,
    observer: Observer,
) -> Aligner:
    return Aligner(
        tokenizers,
        bundle.manifest.special_tokens,
        runner.align if bundle.scorer else None,
        engine.config.num_workers,
        engine.clock,
        observer.on_fault,
        bundle.manifest.limits.max_target_length,
        engine.watch,
    )


def _start(
    model: ServedModel, runner: OnnxModelRunner, special: SpecialIds, turns: Turns | None
) -> None:
    """Start a model's engine and check its translations; close the model if one of these fails.

    Only then does the engine share turns: otherwise, a search that hangs would keep one.

    Raises:
        BundleError: one of them failed.
    """
    bundle, translator = model.bundle, model.translator
    try:
        model.engine.start()
        run_with_timeout(PROOF_SECONDS, lambda: check_graphs(bundle, runner, special))
        check_translations(bundle, model.engine, translator.tokenizers)
        run_with_timeout(PROOF_SECONDS, lambda: measure_alignment(bundle, translator.aligner))
        if turns is not None:
            model.engine.share(turns)
    except BaseException as error:
        has_ended = model.close()
        if isinstance(error, BundleError) or not isinstance(error, Exception):
            raise
        if not (has_ended or isinstance(error, StuckError)):
            error = StuckError(model.engine.has_ended)
        message = ": a first translation failed"
        raise BundleError(message, bundle.folder, _described(error)) from error


def _described(error: Exception) -> str:
    """Return an error's type and, if there is one, its message."""
    return f"{type(error).__name__}: {error}" if str(error) else reason(error)
