"""Endpoints for operators only."""

import asyncio

from fastapi import APIRouter, Request

from service.api.dependencies import ServicesDependency
from service.api.errors import documented
from service.api.health import readiness
from service.api.native.schemas import ErrorResponse, Readiness

router = APIRouter(prefix="/admin", tags=["admin"])


@router.post(
    "/reload",
    responses=documented(ErrorResponse, 401, 403, 500, 503),
    response_model_exclude_none=True,
)
async def reload(request: Request, service: ServicesDependency) -> Readiness:
    """Load the bundles anew while the old ones serve on, then swap; SIGHUP does the same.

    Needs an API key with `admin = true`. If a bundle cannot be served, the old ones stay. In a folder of
    bundles, those that are new, changed or gone are found; the models of the others stay loaded.
    """
    service.gate.enter_admin(request)
    return readiness(await asyncio.to_thread(service.store.load))
