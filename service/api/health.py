"""Is it alive, is it ready, what is it doing; the Open Inference Protocol's form of it under /v2."""

from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Path, Response
from starlette.exceptions import HTTPException

from service import metrics
from service.api.dependencies import (
    MetricsDependency,
    ModelsDependency,
    StoreDependency,
)
from service.api.errors import documented, shortened
from service.api.schemas import (
    ErrorResponse,
    Health,
    ModelMetadata,
    ModelReady,
    Readiness,
    ServedBundle,
    ServerLive,
    ServerMetadata,
    ServerReady,
    TensorMetadata,
)
from service.errors import EngineDeadError, NotReadyError
from service.model_set import ModelSet
from service.serving import ServedModel

router = APIRouter(tags=["health"])
VERSION = version("attendant")
_UNREADY = documented(ErrorResponse, 503)
_UNKNOWN = documented(ErrorResponse, 404, 503)
ONE = "1"
"""The version of every model."""
_Version = Annotated[str, Path(description="Of a model: 1.")]
_Name = Annotated[str, Path(description="A bundle's name.")]


@router.get("/health/live")
async def live() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/v2/health/live")
async def server_live() -> ServerLive:
    """The same, as the Open Inference Protocol says it."""
    return ServerLive(live=True)


@router.get("/health/ready", responses=_UNREADY)
async def ready(store: StoreDependency, models: ModelsDependency) -> Readiness:
    """All models are loaded and their engines work, and the service is not about to stop."""
    if store.is_stopping:
        raise NotReadyError("the service is stopping")
    _check(models)
    return readiness(models)


@router.get("/v2/health/ready", responses=_UNREADY)
async def server_ready(store: StoreDependency, models: ModelsDependency) -> ServerReady:
    """The same, as the Open Inference Protocol says it."""
    await ready(store, models)
    return ServerReady(ready=True)


@router.get("/health", responses=_UNREADY)
async def health(models: ModelsDependency) -> Health:
    """LibreTranslate's form of the same question."""
    _check(models)
    return Health(status="ok")


@router.get("/v2")
async def server() -> ServerMetadata:
    """What this is."""
    return ServerMetadata(name="attendant", version=VERSION, extensions=[])


@router.get("/v2/models/{name}", responses=_UNKNOWN)
async def model(name: _Name, models: ModelsDependency) -> ModelMetadata:
    """What a model takes and gives."""
    _find(models, name)
    text = TensorMetadata(name="text", datatype="BYTES", shape=[-1])
    return ModelMetadata(
        name=name, versions=[ONE], platform="onnx_onnxv1", inputs=[text], outputs=[text]
    )


@router.get("/v2/models/{name}/versions/{version}", responses=_UNKNOWN)
async def model_version(name: _Name, version: _Version, models: ModelsDependency) -> ModelMetadata:
    """The same of its only version."""
    _check_version(name, version)
    return await model(name, models)


@router.get("/v2/models/{name}/ready", responses=_UNKNOWN)
async def model_ready(name: _Name, models: ModelsDependency) -> ModelReady:
    """Whether a model's engine works."""
    if not _find(models, name).engine.is_alive:
        raise EngineDeadError(f"the engine of {name} does not work")
    return ModelReady(name=name, ready=True)


@router.get("/v2/models/{name}/versions/{version}/ready", responses=_UNKNOWN)
async def model_version_ready(
    name: _Name, version: _Version, models: ModelsDependency
) -> ModelReady:
    """The same of its only version."""
    _check_version(name, version)
    return await model_ready(name, models)


@router.get("/metrics", response_class=Response)
async def scrape(registered: MetricsDependency) -> Response:
    """Prometheus text."""
    return Response(registered.render(), media_type=metrics.CONTENT_TYPE)


def _check(models: ModelSet) -> None:
    if not models.is_alive:
        raise EngineDeadError("the engine does not work")


def readiness(models: ModelSet) -> Readiness:
    """What is served, and what really runs it."""
    served = [
        ServedBundle(
            bundle=one.bundle.manifest.name, provider=one.provider, precision=one.precision
        )
        for one in models.models
    ]
    return Readiness(status="ok", models=served)


def _check_version(name: str, version: str) -> None:
    if version != ONE:
        message = f"no version {shortened(version)} of {shortened(name)}, only {ONE}"
        raise HTTPException(HTTPStatus.NOT_FOUND, message)


def _find(models: ModelSet, name: str) -> ServedModel:
    for one in models.models:
        if one.bundle.manifest.name == name:
            return one
    raise HTTPException(HTTPStatus.NOT_FOUND, f"no model is named {shortened(name)}")
