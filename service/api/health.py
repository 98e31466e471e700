"""Health checks and metrics."""

from importlib.metadata import version
from typing import Annotated, Literal

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field

from service import metrics
from service.api.dependencies import ModelsDependency, Services, ServicesDependency
from service.api.errors import ErrorResponse, documented
from service.errors import EngineDeadError, ModelUnavailableError, NotReadyError
from service.models.loading import ServedModel
from service.models.model_set import ModelSet
from service.models.pool import RETRY_SECONDS
from service.models.pooled_model import PooledModel

router = APIRouter(tags=["health"])
VERSION = version("attendant")
_UNREADY = documented(ErrorResponse, 503)


class Health(BaseModel):
    """The answer of health checks."""

    status: Annotated[str, Field(description="Always `ok`; otherwise the answer is an error.")]


class ServedBundle(BaseModel):
    """A model and its state."""

    bundle: str
    state: Annotated[
        Literal["loaded", "unloaded", "failed"],
        Field(
            description="`unloaded`: will be loaded on demand. `failed`: could not be loaded the last time; "
            "is tried again on demand."
        ),
    ]
    reason: Annotated[
        str | None, Field(description="Why it could not be loaded the last time.")
    ] = None
    provider: Annotated[
        str | None, Field(description="ONNX Runtime's execution provider, if it is loaded.")
    ] = None
    device: Annotated[
        str | None, Field(description="`cpu`, or the GPU's name, if it is loaded.")
    ] = None
    share_on_device: Annotated[
        float | None,
        Field(
            description="Share of the graphs' nodes that run on the GPU, if it is loaded there; the others "
            "are arithmetic on shapes."
        ),
    ] = None
    precision: Annotated[
        str | None, Field(description="Precision of the loaded graphs, such as `int8`.")
    ] = None


class Readiness(Health):
    """The answer of the readiness check: `status`, and every model with its state."""

    models: list[ServedBundle]


@router.get("/health/live")
async def live() -> Health:
    """Return 200 whenever the process is running."""
    return Health(status="ok")


@router.get("/health/ready", responses=_UNREADY, response_model_exclude_none=True)
async def ready(service: ServicesDependency, models: ModelsDependency) -> Readiness:
    """Return 200 if startup is complete, every loaded engine works, and the service is not stopping."""
    _check(service, models)
    return readiness(models)


@router.get("/health", responses=_UNREADY)
async def health(service: ServicesDependency, models: ModelsDependency) -> Health:
    """Return 200 under the same conditions as `ready`; LibreTranslate's health check."""
    _check(service, models)
    return Health(status="ok")


@router.get("/metrics", response_class=PlainTextResponse)
async def scrape(service: ServicesDependency) -> Response:
    """Return the metrics in Prometheus' text format."""
    return Response(service.metrics.render_seldom(), media_type=metrics.CONTENT_TYPE)


def _check(service: Services, models: ModelSet) -> None:
    """Check that translations are possible.

    Raises:
        NotReadyError, ModelUnavailableError, EngineDeadError: they are not.
    """
    if service.store.is_stopping:
        raise NotReadyError("the service is stopping")
    refusals = [model.refusal for model in models.described]
    if refusals and all(refusals):
        raise ModelUnavailableError(refusals[0], RETRY_SECONDS)
    if obstacle := service.store.obstacle(service.settings.request_timeout_seconds):
        raise ModelUnavailableError(f"no model can be loaded: {obstacle}", RETRY_SECONDS)
    if not models.is_alive:
        raise EngineDeadError("the engine is not working")


def readiness(models: ModelSet) -> Readiness:
    """Return the state of each model, and the provider and precision with which it is loaded."""
    return Readiness(status="ok", models=[_served(model) for model in models.described])


def _served(model: ServedModel | PooledModel) -> ServedBundle:
    served = ServedBundle(
        bundle=model.bundle.manifest.name, state=model.state, reason=model.failure or None
    )
    if loaded := model.loaded:
        placement = loaded.placement
        served.provider, served.device = placement.provider, placement.device
        served.precision, served.share_on_device = loaded.precision, placement.share_on_device
    return served
