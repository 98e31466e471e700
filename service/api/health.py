"""Is it alive, is it ready, what is it doing."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Response

from service import metrics
from service.api.dependencies import MetricsDependency, ModelDependency
from service.api.schemas import ErrorResponse, Health, Readiness
from service.errors import EngineDeadError

router = APIRouter(tags=["health"])
_UNREADY: dict[int | str, dict[str, Any]] = {
    HTTPStatus.SERVICE_UNAVAILABLE.value: {
        "model": ErrorResponse,
        "description": "It does not serve.",
    }
}


@router.get("/health/live")
async def live() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/health/ready", responses=_UNREADY)
async def ready(model: ModelDependency) -> Readiness:
    """A model is loaded and its engine works."""
    if not model.engine.is_alive:
        raise EngineDeadError("the engine does not work")
    return Readiness(
        status="ok",
        bundle=model.bundle.manifest.name,
        provider=model.provider,
        precision=model.precision,
    )


@router.get("/health", responses=_UNREADY)
async def health(model: ModelDependency) -> Health:
    """LibreTranslate's form of the same question."""
    await ready(model)
    return Health(status="ok")


@router.get("/metrics", response_class=Response)
async def scrape(registered: MetricsDependency) -> Response:
    """Prometheus text."""
    return Response(registered.render(), media_type=metrics.CONTENT_TYPE)
