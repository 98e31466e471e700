"""The Open Inference Protocol's health and metadata under /v2, as KServe's and Triton's clients read them."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.exceptions import HTTPException

from service.api import health
from service.api.dependencies import ModelsDependency, ServicesDependency
from service.api.errors import documented, shortened
from service.api.inference.schemas import (
    IndexedModel,
    InferenceError,
    ModelMetadata,
    ModelNames,
    ModelReady,
    ServerLive,
    ServerMetadata,
    ServerReady,
    TensorMetadata,
)
from service.errors import EngineDeadError, ModelUnavailableError
from service.models.model_set import ModelSet

router = APIRouter(prefix="/v2", tags=["Open Inference Protocol"])
_UNREADY = documented(InferenceError, 503)
_UNKNOWN = documented(InferenceError, 404, 503)
ONE = "1"
"""The version of every model."""
ModelName = Annotated[str, Path(description="Name of the model.")]
ModelVersion = Annotated[str, Path(description="Always 1.")]


@router.get("/health/live")
async def server_live() -> ServerLive:
    """The same, as the Open Inference Protocol says it."""
    return ServerLive(live=True)


@router.get("/health/ready", responses=_UNREADY)
async def server_ready(service: ServicesDependency, models: ModelsDependency) -> ServerReady:
    """The same, as the Open Inference Protocol says it."""
    await health.ready(service, models)
    return ServerReady(ready=True)


@router.get("")
async def server() -> ServerMetadata:
    """What this is."""
    return ServerMetadata(
        name="attendant", version=health.VERSION, extensions=["binary_tensor_data"]
    )


@router.get("/models", responses=_UNREADY)
async def names(models: ModelsDependency) -> ModelNames:
    """The names of all models, loaded or not, as KServe lists them."""
    return ModelNames(models=[one.bundle.manifest.name for one in models.described])


@router.post("/repository/index", responses=_UNREADY)
async def index(models: ModelsDependency) -> list[IndexedModel]:
    """Which models are loaded, as Triton says it; the others are loaded when they are first needed."""
    return [
        IndexedModel(
            name=one.bundle.manifest.name,
            version=ONE,
            state="READY" if one.loaded else "UNAVAILABLE",
            reason=one.failure or ("" if one.loaded else "unloaded"),
        )
        for one in models.described
    ]


@router.get("/models/{name}", responses=_UNKNOWN)
async def model(name: ModelName, models: ModelsDependency) -> ModelMetadata:
    """What a model takes and gives."""
    find(models, name)
    text = TensorMetadata(name="text", datatype="BYTES", shape=[-1])
    return ModelMetadata(
        name=name, versions=[ONE], platform="onnx_onnxv1", inputs=[text], outputs=[text]
    )


@router.get("/models/{name}/versions/{version}", responses=_UNKNOWN)
async def model_version(
    name: ModelName, version: ModelVersion, models: ModelsDependency
) -> ModelMetadata:
    """The same of its only version."""
    check_version(name, version)
    return await model(name, models)


@router.get("/models/{name}/ready", responses=_UNKNOWN)
async def model_ready(name: ModelName, models: ModelsDependency) -> ModelReady:
    """Whether a model's engine works, or would be loaded for a request."""
    found = find(models, name)
    if not found.is_alive:
        raise EngineDeadError(f"the engine of {name} is not working")
    [described] = found.described
    if described.failure:
        raise ModelUnavailableError(described.failure)
    return ModelReady(name=name, ready=True)


@router.get("/models/{name}/versions/{version}/ready", responses=_UNKNOWN)
async def model_version_ready(
    name: ModelName, version: ModelVersion, models: ModelsDependency
) -> ModelReady:
    """The same of its only version."""
    check_version(name, version)
    return await model_ready(name, models)


def check_version(name: str, version: str) -> None:
    """Refuse a version that is none.

    Raises:
        HTTPException: 404.
    """
    if version != ONE:
        message = f"no version {shortened(version)} of {shortened(name)}, only {ONE}"
        raise HTTPException(HTTPStatus.NOT_FOUND, message)


def find(models: ModelSet, name: str) -> ModelSet:
    """The model of that name.

    Raises:
        HTTPException: 404, there is none.
    """
    found = models.named(name)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"no model is named {shortened(name)}")
    return found
