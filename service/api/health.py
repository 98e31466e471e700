"""Health checks and metrics."""

from importlib.metadata import version

from fastapi import APIRouter, Response

from service import metrics
from service.api.dependencies import ModelsDependency, ServicesDependency
from service.api.errors import documented
from service.api.native.schemas import (
    ErrorResponse,
    Health,
    Readiness,
    ServedBundle,
)
from service.errors import EngineDeadError, NotReadyError
from service.models.model_set import ModelSet

router = APIRouter(tags=["health"])
VERSION = version("attendant")
_UNREADY = documented(ErrorResponse, 503)


@router.get("/health/live")
async def live() -> Health:
    """Return 200 whenever the process is running."""
    return Health(status="ok")


@router.get("/health/ready", responses=_UNREADY, response_model_exclude_none=True)
async def ready(service: ServicesDependency, models: ModelsDependency) -> Readiness:
    """Return 200 if startup is complete, every loaded engine works, and the service is not stopping."""
    if service.store.is_stopping:
        raise NotReadyError("the service is stopping")
    _check(models)
    return readiness(models)


@router.get("/health", responses=_UNREADY)
async def health(models: ModelsDependency) -> Health:
    """Return 200 if startup is complete and every loaded engine works; LibreTranslate's health check."""
    _check(models)
    return Health(status="ok")


@router.get("/metrics", response_class=Response)
async def scrape(service: ServicesDependency) -> Response:
    """Return the metrics in Prometheus' text format."""
    return Response(service.metrics.render_seldom(), media_type=metrics.CONTENT_TYPE)


def _check(models: ModelSet) -> None:
    if not models.is_alive:
        raise EngineDeadError("the engine is not working")


def readiness(models: ModelSet) -> Readiness:
    """Return the state of each model, and the provider and precision with which it is loaded."""
    served = [
        ServedBundle(
            bundle=one.bundle.manifest.name,
            state=one.state,
            reason=one.failure or None,
            provider=loaded.provider if loaded else None,
            precision=loaded.precision if loaded else None,
        )
        for one, loaded in [(one, one.loaded) for one in models.described]
    ]
    return Readiness(status="ok", models=served)
