"""Prometheus metrics. No other package depends on Prometheus: they report plain numbers.

No label ever contains a key, an address or a text; one has the names of the keys in the operator's file.
"""

import math
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from service.engine.runner import VERSION as ONNX_RUNTIME_VERSION
from service.engine.types import StepStats
from service.models.model_set import ModelSet
from service.models.observer import Observer

CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
RENDER_SECONDS = 0.1
"""Minimum age of a rendered page before it is rendered anew, as anybody may ask for it at any rate."""
MAX_DIRECTIONS = 200
"""Number of directions that are counted separately; all others are counted as `other`."""
Labels = Sequence[str]
ROWS = (1, 2, 4, 8, 12, 16, 24, 32, 64, 128, 256, 512)


class Metrics(Observer):
    """All metrics of one service, in its own registry."""

    def __init__(self) -> None:
        """Register every metric."""
        self.registry = CollectorRegistry()
        self._rendered, self._rendered_at = b"", -math.inf
        self._directions: set[str] = set()
        # memory, CPU time and open files, on Linux
        ProcessCollector(registry=self.registry)
        self._register_build()
        self._register_http()
        self._register_engine()
        self._register_models()

    def _register_build(self) -> None:
        text = "1, with the versions of Attendant, Python and ONNX Runtime."
        versions = version("attendant"), platform.python_version(), ONNX_RUNTIME_VERSION
        labels = ["version", "python", "onnxruntime"]
        Gauge("attendant_build_info", text, labels, registry=self.registry).labels(*versions).set(1)

    def _register_http(self) -> None:
        self.requests = self._counter(
            "attendant_requests", "Requests answered.", ["route", "method", "status"]
        )
        self.request_seconds = self._histogram(
            "attendant_request_duration_seconds",
            "From the request's head to the answer's end, by the class of its status (2xx, 4xx, 5xx).",
            ["route", "status"],
        )
        self.errors = self._counter(
            "attendant_errors",
            "Requests refused, cancelled or failed, by the code of their error.",
            ["code"],
        )
        self.tokenize_seconds = self._histogram(
            "attendant_tokenize_duration_seconds",
            "Splitting a request's texts into sentences and tokens.",
        )
        self._in_flight = self._gauge("attendant_requests_in_flight", "Requests being served.")
        self.requests_by_key = self._counter(
            "attendant_requests_by_key",
            "Requests with an API key, by the key's name and the class of the status.",
            ["key", "status"],
        )
        self.deepl_characters = self._counter(
            "attendant_deepl_characters", "Characters of texts translated under DeepL's paths."
        )
        self.sentences = self._counter(
            "attendant_sentences",
            "Sentences by direction (`other` after the first 200) and outcome (ok, rejected, cancelled, "
            "expired, error).",
            ["direction", "outcome"],
        )
        self._sentences = cache(self.sentences.labels)

    def _register_engine(self) -> None:
        self.cached_sentences = self._counter(
            "attendant_cached_sentences", "Sentences answered from the cache."
        )
        self.source_tokens = self._counter(
            "attendant_source_tokens", "Tokens of sentences that were encoded."
        )
        self.target_tokens = self._counter(
            "attendant_target_tokens", "Tokens of the translations returned."
        )
        self.queue_wait = self._histogram(
            "attendant_queue_wait_seconds", "From a sentence's arrival until it joins a batch."
        )
        self.encode_seconds = self._histogram(
            "attendant_encode_duration_seconds",
            "Encoding of the sentences that join a batch together.",
        )
        self.decode_step_seconds = self._histogram(
            "attendant_decode_step_duration_seconds", "One decoder step of a whole batch."
        )
        self.rerank_seconds = self._histogram(
            "attendant_rerank_duration_seconds",
            "Reranking the hypotheses of sentences that a batch finishes together.",
        )
        self.step_rows = Histogram(
            "attendant_step_rows",
            "Sentences in a batch that is decoded.",
            buckets=ROWS,
            registry=self.registry,
        )
        self.faults = self._counter(
            "attendant_engine_faults",
            "Failures of a model's graphs: failed steps, sentences with invalid values, lack of memory, "
            "failed reranking and alignments, runs that hang.",
            ["kind"],
        )
        for kind in ("step", "sentence", "memory", "rerank", "alignment", "stall"):
            self.faults.labels(kind)

    def _register_models(self) -> None:
        self.loads = self._counter(
            "attendant_model_loads", "Models of a folder loaded, or not (ok, failed).", ["outcome"]
        )
        self.load_seconds = self._histogram(
            "attendant_model_load_duration_seconds", "Loading and verifying a model of a folder."
        )
        self.unloads = self._counter(
            "attendant_model_unloads",
            "Models of a folder unloaded, by reason (idle, memory, removed).",
            ["reason"],
        )
        for outcome in ("ok", "failed"):
            self.loads.labels(outcome)
        for reason in ("idle", "memory", "removed"):
            self.unloads.labels(reason)

    def _counter(self, name: str, text: str, labels: Labels = ()) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self.registry)

    def _histogram(self, name: str, text: str, labels: Labels = ()) -> Histogram:
        return Histogram(name, text, labels, buckets=SECONDS, registry=self.registry)

    def watch(self, current: Callable[[], ModelSet | None]) -> None:
        """Register a function that returns the current models, whose state is read at scrape time."""
        self.registry.register(_ModelInfo(current))
        gauges: tuple[tuple[str, str, Callable[[ModelSet], int]], ...] = (
            (
                "attendant_sequences_waiting",
                "Sentences that wait for a place in a batch.",
                lambda models: models.num_waiting,
            ),
            (
                "attendant_sequences_running",
                "Sentences in a batch.",
                lambda models: models.num_running,
            ),
            ("attendant_engine_up", "1 while every engine works.", lambda models: models.is_alive),
            (
                "attendant_models_loaded",
                "Models that are loaded.",
                lambda models: len(models.models),
            ),
            (
                "attendant_models",
                "Models that are served, loaded or not.",
                lambda models: len(models.described),
            ),
        )
        for name, text, read in gauges:
            self._gauge(name, text).set_function(partial(_of, current, read))

    def watch_requests(self, count: Callable[[], int]) -> None:
        """Register a function that returns the number of requests in progress at scrape time."""
        self._in_flight.set_function(partial(_as_float, count))

    def watch_connections(self, count: Callable[[], int]) -> None:
        """Register a function that returns the number of open connections at scrape time."""
        gauge = self._gauge("attendant_connections", "Connections that are open.")
        gauge.set_function(partial(_as_float, count))

    def on_step(self, stats: StepStats) -> None:
        """Record a step of an engine; called by its threads."""
        for wait in stats.queue_waits:
            self.queue_wait.observe(wait)
        if stats.admitted:
            self.encode_seconds.observe(stats.encode_seconds)
            self.source_tokens.inc(stats.source_tokens)
        if stats.steps:
            self.decode_step_seconds.observe(stats.decode_seconds / stats.steps)
            self.step_rows.observe(stats.rows)
        if stats.rerank_seconds:
            self.rerank_seconds.observe(stats.rerank_seconds)
        self.target_tokens.inc(stats.target_tokens)

    def on_fault(self, kind: str, count: int) -> None:
        """Record failures in an engine; called by its threads."""
        self.faults.labels(kind).inc(count)

    def on_outcome(self, direction: str, outcome: str, sentences: int) -> None:
        """Record how a request's sentences ended."""
        if direction not in self._directions and len(self._directions) < MAX_DIRECTIONS:
            self._directions.add(direction)
        label = direction if direction in self._directions else "other"
        self._sentences(label, outcome).inc(sentences)

    def on_prepared(self, seconds: float) -> None:
        """Record the time to split a request's texts."""
        self.tokenize_seconds.observe(seconds)

    def on_loaded(self, seconds: float) -> None:
        """Record that a model was loaded."""
        self.loads.labels("ok").inc()
        self.load_seconds.observe(seconds)

    def on_load_failed(self) -> None:
        """Record that a model could not be loaded."""
        self.loads.labels("failed").inc()

    def on_unloaded(self, reason: str) -> None:
        """Record that a model was unloaded."""
        self.unloads.labels(reason).inc()

    def on_cached(self) -> None:
        """Record a sentence that was answered from the cache."""
        self.cached_sentences.inc()

    def render(self) -> bytes:
        """Return the metrics in Prometheus's text format."""
        return generate_latest(self.registry)

    def render_seldom(self) -> bytes:
        """Like `render`, which takes milliseconds, but at most once in `RENDER_SECONDS`."""
        now = time.monotonic()
        if now >= self._rendered_at + RENDER_SECONDS:
            self._rendered, self._rendered_at = self.render(), now
        return self._rendered


class _ModelInfo(Collector):
    """The loaded models, with the provider and the precision that run each."""

    def __init__(self, current: Callable[[], ModelSet | None]) -> None:
        self.current = current

    def collect(self) -> Iterator[Metric]:
        """Yield a sample for each model."""
        text = (
            "1 for each loaded model, with the provider, the device and the precision that run it."
        )
        names = ["bundle", "provider", "device", "precision"]
        family = GaugeMetricFamily("attendant_model_info", text, labels=names)
        models = self.current()
        loaded = models.models if models else ()
        labels = {
            (
                model.bundle.manifest.name,
                model.placement.provider,
                model.placement.device,
                model.precision,
            )
            for model in loaded
        }
        for values in sorted(labels):
            family.add_metric(values, 1)
        yield family


def _as_float(read: Callable[[], int]) -> float:
    return float(read())


def _of(current: Callable[[], ModelSet | None], read: Callable[[ModelSet], int]) -> float:
    """Return a value of the current models; 0 without models."""
    models = current()
    return 0.0 if models is None else float(read(models))
