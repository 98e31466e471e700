"""Everything an operator can set, from the environment; built once, in `__main__`, never at import."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

DEFAULT_BUNDLE = Path(__file__).parent / "default_bundle"


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Settings(BaseSettings):
    """`ATTENDANT_HOST` sets `host`, and so on; a wrong value is an error at start-up."""

    model_config = SettingsConfigDict(env_prefix="ATTENDANT_", frozen=True, env_ignore_empty=True)

    host: Annotated[
        str, Field(description="Address to listen on; 0.0.0.0 for every interface.")
    ] = "127.0.0.1"
    port: Annotated[
        int, Field(ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    ] = 8000
    bundle: Annotated[Path, Field(description="Folder of the model to serve.")] = DEFAULT_BUNDLE
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        Field(
            description="Where to run; auto takes CUDA if a device is there and the bundle fits it."
        ),
    ] = "auto"
    precision: Annotated[
        Literal["auto", "int8", "fp16", "fp32"],
        Field(
            description="Graphs to run; auto takes int8 on a CPU and fp16 on CUDA, if the bundle has them."
        ),
    ] = "auto"
    num_loops: Annotated[
        int,
        Field(
            ge=0,
            description="Batches that run side by side, a thread each; 0 is one for each core (1 on CUDA).",
        ),
    ] = 0
    max_num_seqs: Annotated[
        int,
        Field(
            ge=1,
            description="Sentences in one batch; more wait. Larger is more throughput, slower steps.",
        ),
    ] = 16
    max_num_batched_tokens: Annotated[
        int,
        Field(
            ge=64,
            description="Bound on a batch's sentences x twice its longest source, in tokens; bounds memory.",
        ),
    ] = 4096
    max_waiting: Annotated[
        int, Field(ge=1, description="Sentences that may wait, beyond which new requests get 429.")
    ] = 2000
    steps_per_run: Annotated[
        int,
        Field(
            ge=1,
            description="Fewest decoder steps between two looks at who joins; "
            "more: throughput, fewer: latency.",
        ),
    ] = 4
    cached_sentences: Annotated[
        int,
        Field(
            ge=0,
            description="Translated sentences kept in memory, about 2 KB each, and given again when asked "
            "for in the same way; 0 keeps none.",
        ),
    ] = 0
    max_beam_size: Annotated[
        int,
        Field(ge=1, description="Largest beam a request may ask for, beyond which it gets 400."),
    ] = 8
    max_text_characters: Annotated[
        int,
        Field(ge=1, description="Characters of all texts of a request, beyond which it gets 400."),
    ] = 50_000
    max_body_bytes: Annotated[
        int, Field(ge=1, description="Size of a request's body, beyond which it gets 413.")
    ] = 1_048_576
    request_timeout_seconds: Annotated[
        float,
        Field(
            gt=0,
            description="Deadline of a request, past which it gets 504 and its work is given up.",
        ),
    ] = 60.0
    drain_seconds: Annotated[
        float,
        Field(ge=0, description="How long running requests may take to finish after SIGTERM."),
    ] = 30.0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Field(description="What is logged.")
    ] = "info"
