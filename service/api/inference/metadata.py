"""Health and metadata of the Open Inference Protocol under /v2, as clients of KServe and Triton use them."""

import re
from http import HTTPStatus
from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Request
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
from service.api.middleware.targets import is_wrongly_encoded
from service.errors import EngineDeadError, ModelUnavailableError
from service.models.model_set import ModelSet

router = APIRouter(prefix="/v2", tags=["Open Inference Protocol"])
_UNREADY = documented(InferenceError, 503)
_UNKNOWN = documented(InferenceError, 404, 503)
ONE = "1"
"""The version of every model."""


async def _model_name(
    request: Request, name: Annotated[str, Path(description="Name of the model.")]
) -> str:
    """Decode a name with encoded slashes, if `middleware.targets` left its path encoded because of them."""
    raw_path = request.scope.get("raw_path", b"").decode("latin-1")
    is_encoded = is_wrongly_encoded(raw_path)
    rest = re.sub("%2F", "", name, flags=re.IGNORECASE)
    return unquote(name) if is_encoded and not is_wrongly_encoded(rest) else name


ModelName = Annotated[str, Depends(_model_name)]
ModelVersion = Annotated[str, Path(description="Always 1.")]


@router.get("/health/live")
async def server_live() -> ServerLive:
    """Return 200 whenever the process is running."""
    return ServerLive(live=True)


@router.get("/health/ready", responses=_UNREADY)
async def server_ready(service: ServicesDependency, models: ModelsDependency) -> ServerReady:
    """Return 200 if startup is complete, every loaded engine works, and the service is not stopping."""
    await health.ready(service, models)
    return ServerReady(ready=True)


@router.get("")
@router.get("/", include_in_schema=False)  # as in the protocol's OpenAPI document
async def server() -> ServerMetadata:
    """Return the server's name, version and extensions."""
    return ServerMetadata(
        name="attendant", version=health.VERSION, extensions=["binary_tensor_data"]
    )


@router.get("/models", responses=_UNREADY)
async def names(models: ModelsDependency) -> ModelNames:
    """List the names of all models, loaded or not, in KServe's format."""
    return ModelNames(models=[model.bundle.manifest.name for model in models.described])


@router.post("/repository/index", responses=_UNREADY)
async def index(models: ModelsDependency) -> list[IndexedModel]:
    """List all models and whether they are loaded, in Triton's format; others are loaded on demand."""
    return [
        IndexedModel(
            name=model.bundle.manifest.name,
            version=ONE,
            state="READY" if model.loaded else "UNAVAILABLE",
            reason=model.failure or ("" if model.loaded else "unloaded"),
        )
        for model in models.described
    ]


@router.get("/models/{name}", responses=_UNKNOWN)
async def model(name: ModelName, models: ModelsDependency) -> ModelMetadata:
    """Return the inputs and outputs of a model."""
    find(models, name)
    text = TensorMetadata(name="text", datatype="BYTES", shape=[-1])
    return ModelMetadata(
        name=name, versions=[ONE], platform="onnx_onnxv1", inputs=[text], outputs=[text]
    )


@router.get("/models/{name}/versions/{version}", responses=_UNKNOWN)
async def model_version(
    name: ModelName, version: ModelVersion, models: ModelsDependency
) -> ModelMetadata:
    """Return the inputs and outputs of a model, whose only version is 1."""
    check_version(name, version)
    return await model(name, models)


@router.get("/models/{name}/ready", responses=_UNKNOWN)
async def model_ready(name: ModelName, models: ModelsDependency) -> ModelReady:
    """Return 200 if a model can be used: its engine works, or it will be loaded on demand."""
    model = find(models, name)
    if not model.is_alive:
        raise EngineDeadError(f"the engine of {name} is not working")
    [described] = model.described
    if described.refusal:
        raise ModelUnavailableError(described.refusal)
    return ModelReady(name=name, ready=True)


@router.get("/models/{name}/versions/{version}/ready", responses=_UNKNOWN)
async def model_version_ready(
    name: ModelName, version: ModelVersion, models: ModelsDependency
) -> ModelReady:
    """Return 200 if a model, whose only version is 1, can be used."""
    check_version(name, version)
    return await model_ready(name, models)


def check_version(name: str, version: str) -> None:
    """Check that a model's version exists.

    Raises:
        HTTPException: 404, the version is not 1.
    """
    if version != ONE:
        message = f"no version {shortened(version)} of {shortened(name)}, only {ONE}"
        raise HTTPException(HTTPStatus.NOT_FOUND, message)


def find(models: ModelSet, name: str) -> ModelSet:
    """Return the model with the given name.

    Raises:
        HTTPException: 404, no model has this name.
    """
    model = models.named(name)
    if model is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"no model is named {shortened(name)}")
    return model
