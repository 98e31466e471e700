"""A model in service: bundle, runner, engine and translator, built together."""

from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Self, get_args

from service.engine.config import EngineConfig
from service.engine.cores import available_cores
from service.engine.engine import Engine
from service.engine.runner import Device, OnnxModelRunner, cuda_is_usable, runners_for
from service.engine.single_sequence import runner_for_one
from service.engine.turns import Turns
from service.engine.types import SpecialIds
from service.errors import BundleError
from service.models.bundle import Bundle, Manifest, Precision
from service.models.observer import Observer
from service.models.proof import (
    PROOF_SECONDS,
    check_graphs,
    check_translations,
    measure_alignment,
    run_with_timeout,
)
from service.models.vocabularies import load_tokenizers
from service.text.tokenizer import Tokenizers
from service.translation.aligner import Aligner, Attention
from service.translation.cache import SentenceCache
from service.translation.preparation import SearchPolicy
from service.translation.searcher import Searcher
from service.translation.translator import Translator

DEVICES = ("auto", *get_args(Device))
PRECISIONS = ("auto", *get_args(Precision))
FIRST_RUN_SECONDS = 60.0
"""In which graphs must have run for the first time: one may loop for ever."""
PADDING_ON_CUDA = 256
"""`EngineConfig.max_padding` there: tokens cost little beside the start of a run's kernels."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How a model is run; the same for every model of a process."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "int8", "fp16", "fp32"] = "auto"
    num_workers: int = 0
    """Batches that run side by side; 0 is one for each core (1 on CUDA)."""
    engine: EngineConfig = field(default_factory=EngineConfig)
    """All but its `num_workers`."""
    cached_sentences: int = 0
    max_beam_size: int = 8
    """Largest beam that a request may ask for."""
    rerank: bool = False
    """Where a request does not say."""
    single_sequence: bool = True
    """Whether to try, at the start, if a sentence that is alone runs faster on all cores."""

    def __post_init__(self) -> None:
        """Refuse what names no device and no precision.

        Raises:
            ValueError: a value is not among its choices, or is out of its range.
        """
        for name, choices in (("device", DEVICES), ("precision", PRECISIONS)):
            if (value := getattr(self, name)) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, but is {value!r}")
        if not isinstance(self.num_workers, int) or self.num_workers < 0:
            raise ValueError(f"num_workers must be an integer >= 0, but is {self.num_workers!r}")


@dataclass(frozen=True, slots=True)
class ServedModel:
    """What serves one bundle."""

    bundle: Bundle
    engine: Engine
    translator: Translator
    precision: Precision
    provider: str

    @property
    def loaded(self) -> Self:
        """Itself; a model of a pool may not be loaded."""
        return self

    @property
    def state(self) -> Literal["loaded"]:
        """As `PooledModel` has it."""
        return "loaded"

    @property
    def failure(self) -> str:
        """Why it could not be loaded: it was."""
        return ""

    def lease(self, timeout: float) -> AbstractAsyncContextManager[Self]:  # noqa: ARG002
        """Itself, at once; see `PooledModel.lease`."""
        return nullcontext(self)

    @property
    def expected_wait(self) -> float | None:
        """Seconds that what waits now should take; None while that cannot be told."""
        searches = self.engine.expected_wait
        return None if searches is None else searches + self.translator.aligner.backlog.seconds

    def close(self) -> bool:
        """Stop what works for it; whether all its threads ended in time."""
        closed = self.engine.close()
        self.translator.close()
        return closed


def choose_device(options: ModelOptions, bundle: Bundle) -> tuple[Device, Precision]:
    """Where to run and in which precision.

    Raises:
        BundleError: what was asked for is not there.
    """
    has = bundle.manifest.graphs
    device: Device = "cpu"
    if options.device == "cuda" and not cuda_is_usable():
        raise BundleError("device is cuda, but no CUDA driver or device was found")
    if options.device == "cuda" or (
        options.device == "auto"
        and options.precision != "int8"
        and has.keys() != {"int8"}
        and cuda_is_usable()
    ):
        device = "cuda"
    if options.precision != "auto":
        bundle.graphs(options.precision)
        return device, options.precision
    order: tuple[Precision, ...] = (
        ("fp16", "fp32", "int8") if device == "cuda" else ("int8", "fp32", "fp16")
    )
    return device, next(precision for precision in order if precision in has)


def start_model(
    bundle: Bundle,
    options: ModelOptions | None = None,
    observer: Observer | None = None,
    turns: Turns | None = None,
) -> ServedModel:
    """Load a bundle's graphs, start its engine and have it prove that it translates.

    Args:
        bundle: of which model.
        options: how it is run.
        observer: told what it does.
        turns: on the cores, which models of a process share.

    Raises:
        BundleError: the bundle cannot be served.
    """
    options, observer = options or ModelOptions(), observer or Observer()
    manifest = bundle.manifest
    device, precision = choose_device(options, bundle)
    tokens, tokenizers = manifest.special_tokens, load_tokenizers(bundle)
    special = SpecialIds(tokens.pad, tokens.bos, tokens.eos, manifest.vocab_size)
    num_workers = options.num_workers or (1 if device == "cuda" else available_cores())
    config = replace(options.engine, num_workers=num_workers)
    if device == "cuda":
        config = replace(config, max_padding=max(config.max_padding, PADDING_ON_CUDA))
    how = device, precision, num_workers, options.single_sequence
    runners, single_sequence_runner = _load_graphs(bundle, *how, special)
    engine = Engine(
        runners,
        special,
        config,
        observer.on_step,
        single_sequence_runner=single_sequence_runner,
        on_fault=observer.on_fault,
        turns=turns,
    )
    attention = engine.watch.watched("an alignment", runners[0].align) if bundle.scorer else None
    aligner = _aligner(manifest, tokenizers, attention, engine, observer)
    translator = Translator(
        bundle,
        tokenizers,
        Searcher(engine, SentenceCache(options.cached_sentences, observer.on_cached)),
        aligner,
        SearchPolicy(options.max_beam_size, options.rerank),
        observer,
    )
    model = ServedModel(bundle, engine, translator, precision, runners[0].provider)
    _start(model, runners[0], special)
    return model


def _load_graphs(
    bundle: Bundle,
    device: Device,
    precision: Precision,
    num_workers: int,
    single_sequence: bool,
    special: SpecialIds,
) -> tuple[list[OnnxModelRunner], OnnxModelRunner | None]:
    """A runner for each worker, and one for a batch of a `single_sequence`, if that is wanted and pays.

    Raises:
        BundleError: they cannot run.
    """
    graphs = bundle.graphs(precision)
    threads = num_workers if device == "cpu" and single_sequence else 1
    try:
        runners = runners_for(num_workers, *graphs, device, bundle.scorer)
        build = partial(runner_for_one, *graphs, runners[0], special, threads)
        return runners, run_with_timeout(FIRST_RUN_SECONDS, build)
    except Exception as error:
        message = f": its {precision} graphs cannot run on {device}"
        raise BundleError(message, bundle.folder, _described(error)) from error


def _aligner(
    manifest: Manifest,
    tokenizers: Tokenizers,
    attention: Attention | None,
    engine: Engine,
    observer: Observer,
) -> Aligner:
    special, longest = manifest.special_tokens, manifest.limits.max_target_length
    threads, clock = engine.config.num_workers, engine.clock
    return Aligner(tokenizers, special, attention, threads, clock, observer.on_fault, longest)


def _start(model: ServedModel, runner: OnnxModelRunner, special: SpecialIds) -> None:
    """Start a model's engine and have it show what it can do; one that cannot is closed.

    Raises:
        BundleError: it cannot.
    """
    bundle, translator = model.bundle, model.translator
    model.engine.start()
    try:
        run_with_timeout(PROOF_SECONDS, lambda: check_graphs(bundle, runner, special))
        check_translations(bundle, model.engine, translator.tokenizers)
        run_with_timeout(PROOF_SECONDS, lambda: measure_alignment(bundle, translator.aligner))
    except BaseException as error:
        model.close()
        if isinstance(error, BundleError) or not isinstance(error, Exception):
            raise
        message = ": a first translation failed"
        raise BundleError(message, bundle.folder, _described(error)) from error


def _described(error: Exception) -> str:
    """An error of another's, whose message may be empty."""
    return f"{type(error).__name__}: {error}"
