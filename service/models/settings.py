"""The operator's settings for models: which are served, where they run, and how much work they accept."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import BaseSettings, NoDecode

from service.engine.config import MAX_WORKERS
from service.engine.types import DeviceChoice
from service.models.bundle import DEFAULT_BUNDLE, Code, PrecisionChoice


def split(value: object) -> object:
    """Split a comma-separated string, and make a list of a single path."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, Path) else value


ALL, OFF = "all", "off"
"""Values of `preload` and `pivot`."""


class ModelSettings(BaseSettings):
    """The settings for models."""

    @property
    def named_bundles(self) -> tuple[Path, ...]:
        """The bundles to load at startup; with a folder, the default bundle only if it is named."""
        return self.bundle if self.bundles is None or "bundle" in self.model_fields_set else ()

    bundle: Annotated[
        tuple[Path, ...],
        NoDecode,
        BeforeValidator(split),
        Field(
            min_length=1,
            description="Folders of the models to serve, separated by commas; if two have the same "
            "direction, the first one serves it.",
        ),
    ] = (DEFAULT_BUNDLE,)
    bundles: Annotated[
        Path | None,
        Field(
            description="Folder whose subfolders are bundles, each loaded on demand; ATTENDANT_BUNDLE "
            "is then empty by default, and takes precedence if both have a direction."
        ),
    ] = None
    preload: Annotated[
        tuple[str, ...],
        NoDecode,
        BeforeValidator(split),
        Field(
            description="Names of bundles in that folder to load at startup, separated by commas, or all, "
            "as far as they fit into memory. If one of them cannot be loaded, the service does not start."
        ),
    ] = ()
    max_memory_mb: Annotated[
        int,
        Field(
            ge=0,
            le=10_000_000,
            description="Resident memory of the process in MB, beyond which models of that folder are "
            "unloaded, the least recently used first; 0 means no limit.",
        ),
    ] = 0
    model_idle_seconds: Annotated[
        float,
        Field(
            ge=0,
            le=31_536_000,
            allow_inf_nan=False,
            description="Idle time after which a model of that folder is unloaded; 0 means never.",
        ),
    ] = 0.0
    pivot: Annotated[
        Code,
        AfterValidator(lambda code: "" if code.lower() == OFF else code),
        Field(
            description="Language through which texts are translated if no model has their direction; off "
            "disables this."
        ),
    ] = "en"
    device: Annotated[
        DeviceChoice,
        Field(
            description="Where to run; auto uses CUDA if there is a device and the bundle has graphs for it."
        ),
    ] = "auto"
    precision: Annotated[
        PrecisionChoice,
        Field(
            description="Precision; auto uses int8 on a CPU and fp16 on CUDA, if the bundle has them."
        ),
    ] = "auto"
    num_workers: Annotated[
        int,
        Field(
            ge=0,
            le=MAX_WORKERS,
            description="Batches that run in parallel, one thread each; 0 means one per core that the "
            "container may use (1 on CUDA). On a CPU, up to 8 of them have their own packed copy of the "
            "weights.",
        ),
    ] = 0
    gpu_memory_limit_mb: Annotated[
        int,
        Field(
            ge=0,
            le=10_000_000,
            description="Memory of the GPU in MB that a model may take; 0 means no limit.",
        ),
    ] = 0
    max_num_seqs: Annotated[
        int,
        Field(
            ge=0,
            le=4096,
            description="Maximum sentences in one batch; 0 means 16 on a CPU, and on CUDA 16 to 256, by the "
            "device's memory. Higher values raise throughput and step latency.",
        ),
    ] = 0
    max_num_batched_tokens: Annotated[
        int,
        Field(
            ge=0,
            le=1_048_576,
            description="Memory budget of a batch in tokens: sentences x the largest of (beams x maximum "
            "translation length + a quarter of the source). About 55 KB per token with the bundled model. A "
            "single sentence may exceed it. 0 means 5120 on a CPU, and on CUDA as many as fit into half of "
            "the device's memory.",
        ),
    ] = 0
    max_waiting: Annotated[
        int,
        Field(
            ge=1,
            le=1_000_000,
            description="Sentences of new requests that may wait, beyond which others get 429; a single "
            "request with more gets 400. Further searches of admitted requests do not count.",
        ),
    ] = 2000
    max_waiting_tokens: Annotated[
        int,
        Field(
            ge=1,
            le=1_000_000_000,
            description="Source and target tokens of these sentences, beyond which new requests get 429; a "
            "single request with more gets 400.",
        ),
    ] = 200_000
    steps_per_run: Annotated[
        int,
        Field(
            ge=1,
            le=1000,
            description="Minimum number of decoder steps between two points at which sentences may join or "
            "leave a batch. While sentences wait, there are twice as many, unless a quarter of the batch "
            "finishes earlier. Higher values raise throughput, lower ones reduce latency.",
        ),
    ] = 4
    cached_sentences: Annotated[
        int,
        Field(
            ge=0,
            le=10_000_000,
            description="Translated sentences kept in memory, about 2 KB each, and returned when the same "
            "sentence is requested with the same options; 0 keeps none. Longer ones, or those with many "
            "alternatives, count as several.",
        ),
    ] = 0
    rerank: Annotated[
        bool,
        Field(
            description="Whether hypotheses are reranked by the opposite direction, unless a request says "
            "otherwise: fewer omissions, but less than half the throughput."
        ),
    ] = False
    max_beam_size: Annotated[
        int,
        Field(
            ge=1,
            le=128,
            description="Largest beam size that a request may ask for, beyond which it gets 400.",
        ),
    ] = 8
    max_text_characters: Annotated[
        int,
        Field(
            ge=1,
            le=1_000_000,
            description="Characters in all texts of a request, beyond which it gets 400; `target_prefix` "
            "counts for each text.",
        ),
    ] = 50_000
    stall_seconds: Annotated[
        float,
        Field(
            gt=0,
            le=3600,
            allow_inf_nan=False,
            description="A model run, or work on a text, without progress for this long is treated as "
            "hung: readiness fails and the process exits.",
        ),
    ] = 60.0
