"""The documentation at `/docs`: Swagger UI, served from an installed package instead of a CDN.

The OpenAPI schema is at `/openapi.json`, and also at `/spec`, where clients of LibreTranslate expect it.
"""

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from service.api import page

ASSETS = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript"}


def install(app: FastAPI) -> None:
    """Serve `/docs`, its assets and the schema.

    `app` itself should not serve the schema (`openapi_url=None`): its route would have no name in metrics.
    """
    app.openapi = partial(_openapi, app.openapi)  # type: ignore[method-assign]

    async def schema() -> JSONResponse:
        return JSONResponse(app.openapi())

    for path in ("/openapi.json", "/spec"):
        app.add_api_route(path, schema, methods=["GET", "HEAD"], include_in_schema=False)
    html = (page.WEB / "docs.html").read_text(encoding="utf-8")
    page.add(app, "/docs", html, "text/html", page.policy_of(html, files=True))
    folder = files("fastapi_offline") / "static"
    for name, media_type in ASSETS.items():
        content = (folder / name).read_text(encoding="utf-8")
        page.add(app, f"/docs/{name}", content, media_type)


def _openapi(generate: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the OpenAPI schema without FastAPI's 422, which is 400 in this service."""
    schema = generate()
    for path in schema["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    schemas = schema.get("components", {}).get("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    return schema
