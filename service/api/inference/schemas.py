"""Answers of the Open Inference Protocol's health and metadata, and its errors."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field


class InferenceError(BaseModel):
    """The answer for every error of this dialect."""

    error: str
    code: str


class ServerLive(BaseModel):
    """`GET /v2/health/live` of the Open Inference Protocol."""

    live: bool


class ServerReady(BaseModel):
    """`GET /v2/health/ready` of the Open Inference Protocol."""

    ready: bool


class ModelReady(ServerReady):
    """`GET /v2/models/NAME/ready` of the Open Inference Protocol."""

    name: str


class ServerMetadata(BaseModel):
    """`GET /v2` of the Open Inference Protocol."""

    name: str
    version: str
    extensions: list[str]


class ModelNames(BaseModel):
    """`GET /v2/models` of KServe."""

    models: list[str]


class IndexedModel(BaseModel):
    """One entry of Triton's `POST /v2/repository/index`."""

    name: str
    version: str
    state: Literal["READY", "UNAVAILABLE"]
    reason: Annotated[str, Field(description="`unloaded`, or why it could not be loaded.")]


class TensorMetadata(BaseModel):
    """An input or output of a model."""

    name: str
    datatype: str
    shape: list[int]


class ModelMetadata(BaseModel):
    """`GET /v2/models/NAME` of the Open Inference Protocol."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]
