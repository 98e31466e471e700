"""What only an operator may do."""

import asyncio

from fastapi import APIRouter, Request

from service.api.dependencies import GateDependency, StoreDependency
from service.api.routes import ERRORS
from service.api.schemas import Readiness, ServedBundle

router = APIRouter(prefix="/admin", tags=["admin"])


@router.post("/reload", responses={status: ERRORS[status] for status in (401, 403, 500, 503)})
async def reload(request: Request, gate: GateDependency, store: StoreDependency) -> Readiness:
    """Load the bundles anew while the old ones serve on, then swap; SIGHUP does the same.

    Needs an API key with `admin = true`. If a bundle cannot be served, the old ones stay.
    """
    gate.enter_admin(request)
    models = await asyncio.to_thread(store.load)
    return Readiness(
        status="ok",
        models=[
            ServedBundle(
                bundle=one.bundle.manifest.name, provider=one.provider, precision=one.precision
            )
            for one in models.models
        ],
    )
