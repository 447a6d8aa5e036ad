"""The server put together: endpoints, errors, and what lies around them."""

from collections.abc import Mapping
from typing import Any, TextIO

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware

from gossamer import __version__
from gossamer.api import (
    account,
    estimates,
    files,
    health,
    jobs,
    login,
    questions,
    records,
    results,
    scrape,
    scrapersky,
    sitemap_jobs,
    streams,
    webhooks,
)
from gossamer.api.answers import JsonAnswer
from gossamer.api.dialects import firecrawl, scrapingbee
from gossamer.api.parts import Parts
from gossamer.api.problems import install
from gossamer.api.wire import Wire

_ABOUT = (
    "Visits web sites politely and cheaply and turns them into tables people can use. Every request but /api/health, "
    "/api/ready and the signed links of files needs a key: 'Authorization: Bearer KEY'. Errors are RFC 9457 problems "
    "with a code and a hint."
)
_ROUTERS = (
    scrape,
    scrapersky,
    sitemap_jobs,
    estimates,
    jobs,
    results,
    files,
    streams,
    records,
    webhooks,
    account,
    login,
    questions,
    health,
)
_DIALECTS = ("/api/v1", "/firecrawl/")  # whose errors are of another shape


def make_api(parts: Parts, access_log: TextIO | None = None) -> Wire:
    """The whole as one ASGI application."""
    settings = parts.app.settings
    api = FastAPI(
        title="Gossamer",
        description=_ABOUT,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        default_response_class=JsonAnswer,
        generate_unique_id_function=_operation_name,
        redirect_slashes=False,
    )
    api.state.parts = parts
    install(api)
    for one in _ROUTERS:
        api.include_router(one.router)
    api.include_router(scrapingbee.router)
    api.include_router(firecrawl.router, prefix="/firecrawl/v2")
    api.include_router(firecrawl.router, prefix="/v2", include_in_schema=False)
    _without_422(api)
    if settings.api_cors:
        api.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.api_cors),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "X-API-Key", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
            expose_headers=["X-Request-Id", "RateLimit", "RateLimit-Policy", "Retry-After", "Location"],
            max_age=600,
        )
    proxies = settings.api_trusted_proxies
    return Wire(api, max_body=settings.api_max_body, trusted=proxies, access_log=access_log)


def _operation_name(route: APIRoute) -> str:
    verb = next(iter(sorted(route.methods or ())), "get").lower()
    words = [part.strip("{}").replace("-", "_") for part in route.path.split("/") if part]
    return "_".join([verb, *words])


def _without_422(api: FastAPI) -> None:
    """What cannot be read is a 400 here: the library's own 422 is never sent, and should not be promised."""
    written = api.openapi

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            spec = written()
            for path, verbs in spec["paths"].items():
                for operation in verbs.values():
                    operation["responses"].pop("422", None)
                    if not path.startswith(_DIALECTS):
                        _as_problems(operation["responses"])
            for name in ("HTTPValidationError", "ValidationError"):
                spec["components"]["schemas"].pop(name, None)
            api.openapi_schema = spec
        return api.openapi_schema

    api.openapi = openapi  # type: ignore[method-assign]


def _as_problems(responses: Mapping[str, Any]) -> None:
    """Errors are of one media type only."""
    for status, answer in responses.items():
        if status.startswith(("4", "5")):
            answer.get("content", {}).pop("application/json", None)
