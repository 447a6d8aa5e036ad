"""The server put together: endpoints, errors, and what lies around them."""

from typing import TextIO

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
from gossamer.api.description import describe
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

# What a page of a listed origin may read of an answer, beside what browsers always show.
_EXPOSED = (
    *("X-Request-Id", "RateLimit", "RateLimit-Policy", "Retry-After", "Location", "Idempotent-Replayed"),
    *("X-Gossamer-Credits", "X-Gossamer-Final-Url", "X-Gossamer-Method", "X-Gossamer-Job", "X-Gossamer-Reason"),
    *("X-Gossamer-As-Of", "X-Next-Cursor", "Age", "Warning"),
)


def make_api(parts: Parts, access_log: TextIO | None = None) -> Wire:
    """The whole as one ASGI application."""
    settings = parts.app.settings
    proxies = settings.api_trusted_proxies
    return Wire(make_app(parts), max_body=settings.api_max_body, trusted=proxies, access_log=access_log)


def make_app(parts: Parts) -> FastAPI:
    """The endpoints and their errors."""
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
    api.include_router(scrapingbee.absent)
    for prefix in ("/firecrawl/v2", "/firecrawl/v1", "/v2"):
        api.include_router(firecrawl.absent, prefix=prefix)
    describe(api)
    origins = parts.app.settings.api_cors
    if origins:
        api.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "X-API-Key", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
            expose_headers=_EXPOSED,
            max_age=600,
        )
    return api


def _operation_name(route: APIRoute) -> str:
    verb = next(iter(sorted(route.methods or ())), "get").lower()
    words = [part.strip("{}").replace("-", "_") for part in route.path.split("/") if part]
    return "_".join([verb, *words])
