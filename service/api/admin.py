"""Endpoints for operators only."""

import asyncio

from fastapi import APIRouter, Request

from service.api.dependencies import ServicesDependency
from service.api.errors import ErrorResponse, documented
from service.api.health import Readiness, readiness

router = APIRouter(prefix="/admin", tags=["admin"])


@router.post(
    "/reload",
    responses=documented(ErrorResponse, 401, 403, 500, 503),
    response_model_exclude_none=True,
)
async def reload(request: Request, service: ServicesDependency) -> Readiness:
    """Reload the bundles and replace the ones in use; SIGHUP does the same.

    Needs an API key with `admin = true`. The current bundles keep serving until the new ones are loaded. If a
    new bundle cannot be served, they stay in use. In a folder of bundles, only bundles that were added,
    changed or removed are reloaded.
    """
    service.gate.enter_admin(request)
    loop = asyncio.get_running_loop()
    return readiness(await loop.run_in_executor(service.threads, service.store.load))
