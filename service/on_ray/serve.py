"""The service on Ray Serve: `serve run service.on_ray.serve:app`; its settings are those of the service.

Each replica runs the whole application with its own models and queue. Its responses are passed on unchanged,
including 429 with Retry-After.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import ray
from fastapi import FastAPI
from prometheus_client import CollectorRegistry, start_http_server
from ray import serve

from service.api.dependencies import Services
from service.app import create_app
from service.process import LAST_RESORT_SECONDS
from service.settings import Settings

logger = logging.getLogger(__name__)

CORES = 2
"""Cores of a replica, unless its deployment sets others."""
ROOM = 2
"""Ray's limit of requests as a multiple of the service's own limit: the service must be the one to refuse
requests, because Ray would queue them unseen."""
BUSY_REQUESTS = 32
"""Requests in flight that keep a replica with `CORES` busy; with more of them, Ray adds replicas."""
METRICS_PORT, METRICS_PORTS = 9400, 100
"""First port for metrics, and the number of ports: each replica of a node uses the first free one."""
POLL_SECONDS = 0.1


def replica_app(settings: Settings) -> FastAPI:
    """Return the application of one replica; its startup ends when its models are loaded."""
    failures: list[str] = []
    assigned = ray.get_runtime_context().get_assigned_resources()
    if not assigned.get("GPU"):  # Ray does not confine a replica to the cores that it assigns
        cores = math.ceil(assigned.get("CPU", 0))
        settings = settings.model_copy(update={"num_workers": settings.num_workers or cores})
    _share_the_log()
    app = create_app(settings, failures.append)
    app.state.failures = failures
    services: Services = app.state.services
    begin = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with begin(app):
            while services.store.current is None:
                if failures:
                    raise RuntimeError(failures[0])
                await asyncio.sleep(POLL_SECONDS)
            _serve_metrics(services.metrics.registry)
            yield

    app.router.lifespan_context = lifespan
    return app


def _share_the_log() -> None:
    """Write the service's warnings and errors to the replica's log, too."""
    ours = logging.getLogger(__name__.partition(".")[0])
    for handler in logging.getLogger("ray.serve").handlers:
        ours.addHandler(handler)


def _serve_metrics(registry: CollectorRegistry) -> None:
    """Serve metrics on a separate port for each replica: Serve's own port leads to any replica."""
    last = METRICS_PORT + METRICS_PORTS - 1
    for port in range(METRICS_PORT, last + 1):
        try:
            start_http_server(port, registry=registry)
        except OSError:  # another replica's
            continue
        return
    logger.error("this replica has no metrics: no port from %d to %d is free", METRICS_PORT, last)


class Attendant:
    """A replica of the service."""

    app: FastAPI  # set by Serve

    def check_health(self) -> None:
        """Check that requests can be answered; Ray replaces a replica that raises.

        Raises:
            RuntimeError: an engine has failed permanently, or a thread hangs.
        """
        if failures := self.app.state.failures:
            raise RuntimeError(failures[0])
        models = self.app.state.services.store.current
        if models is not None and not models.is_alive:
            raise RuntimeError(models.failure or "an engine has failed")


def deployment_of(settings: Settings) -> serve.Deployment:
    """Return the deployment of the service with these settings; a Serve config file takes precedence."""

    def build() -> FastAPI:  # a closure, so that the settings are sent to every node
        return replica_app(settings)

    return serve.deployment(
        serve.ingress(build)(Attendant),
        name="attendant",
        max_ongoing_requests=ROOM * settings.max_requests,
        graceful_shutdown_timeout_s=settings.drain_seconds + LAST_RESORT_SECONDS,
        health_check_period_s=2,
        autoscaling_config={
            "min_replicas": 1,
            "max_replicas": 8,
            "target_ongoing_requests": BUSY_REQUESTS,
        },
        ray_actor_options={"num_cpus": CORES},
    )


app = deployment_of(Settings()).bind()
