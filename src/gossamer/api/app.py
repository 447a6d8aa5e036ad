"""The application: its routers, its OpenAPI description, and its own endpoints for health, recipes and docs."""

from collections.abc import Mapping
from typing import Any, Literal, TextIO

from fastapi import APIRouter, FastAPI, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import HTMLResponse, RedirectResponse, Response

from gossamer import __version__
from gossamer.api import (
    account,
    estimates,
    jobs,
    questions,
    results,
    scrape,
    scrapersky,
    sitemap_jobs,
    streams,
    webhooks,
)
from gossamer.api.caller import Reader
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.dialects import firecrawl, scrapingbee
from gossamer.api.docs_page import KEYLESS, POLICY, docs_page
from gossamer.api.error_codes import declared, only
from gossamer.api.examples import OPERATIONS, SHAPES
from gossamer.api.guarded import Guarded
from gossamer.api.middleware import RequestMiddleware
from gossamer.api.problems import AWAY, Problem, install, problem, request_id
from gossamer.api.views import JsonAnswer
from gossamer.api.vitals import Workers

_ABOUT = (
    "Visits web sites politely and cheaply and turns them into tables people can use. Every request needs a key: "
    f"'Authorization: Bearer KEY'. Only {KEYLESS} need none. Errors are RFC 9457 problems with a code and a hint."
)
router = APIRouter(tags=["server"], route_class=Guarded)
_ROUTERS = (
    scrape.router,
    scrapersky.router,
    sitemap_jobs.router,
    estimates.router,
    jobs.router,
    results.router,
    results.links,
    streams.router,
    results.erasing,
    webhooks.router,
    account.router,
    account.logins,
    questions.router,
    router,
)

# Response headers that pages of a listed origin may read, besides those that browsers always expose.
_EXPOSED = (
    *("X-Request-Id", "RateLimit", "RateLimit-Policy", "Retry-After", "Location", "Idempotent-Replayed"),
    *("X-Gossamer-Credits", "X-Gossamer-Final-Url", "X-Gossamer-Method", "X-Gossamer-Job", "X-Gossamer-Reason"),
    *("X-Gossamer-As-Of", "X-Next-Cursor", "Age", "Warning"),
)


_FASTAPI_ERROR = "HTTPValidationError"  # what FastAPI documents for an unreadable body; here that is a 400

_KEYLESS = ("post_v1_auth_login", "post_v1_auth_refresh")  # their 401 means a wrong password or token
# Declared here: declared through FastAPI's security classes, both headers would be read in every request.
_KEYS = {
    "HTTPBearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, or the access token of a login.",
    },
    "APIKeyHeader": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key."},
}


def make_api(parts: Parts, access_log: TextIO | None = None) -> RequestMiddleware:
    """Return the complete ASGI application, middleware included."""
    settings = parts.app.settings
    proxies = settings.api_trusted_proxies
    return RequestMiddleware(make_app(parts), max_body=settings.api_max_body, trusted=proxies, access_log=access_log)


def make_app(parts: Parts) -> FastAPI:
    """Return the endpoints with their error handlers and description."""
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
        api.include_router(one)
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


def describe(api: FastAPI) -> None:
    """Complete the generated OpenAPI description with schemas, examples and key schemes."""
    written = api.openapi

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            api.openapi_schema = _finished(written())
        return api.openapi_schema

    api.openapi = openapi  # type: ignore[method-assign]


def _finished(spec: dict[str, Any]) -> dict[str, Any]:
    schemas = spec["components"]["schemas"]
    for name in (_FASTAPI_ERROR, "ValidationError"):
        schemas.pop(name, None)
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schema.pop("$defs", {}) | {"Problem": schema}
    for name, example in SHAPES.items():
        schemas[name]["example"] = example
    spec["components"]["securitySchemes"] = _KEYS
    for verbs in spec["paths"].values():
        for operation in verbs.values():
            _complete(operation)
            if "401" in operation["responses"] and operation["operationId"] not in _KEYLESS:
                operation["security"] = [{name: []} for name in _KEYS]
    return spec


def _complete(operation: Mapping[str, Any]) -> None:
    responses = operation["responses"]
    if _is_fastapi_422(responses):
        del responses["422"]
    if named := OPERATIONS.get(operation["operationId"]):
        media, example = named
        good = next(answer for status, answer in responses.items() if status.startswith("2"))
        good["content"].setdefault(media, {})["example"] = example


def _is_fastapi_422(responses: Mapping[str, Any]) -> bool:
    """Return True for the 422 that FastAPI adds, which is never sent; a 422 of our own has another schema."""
    content = responses.get("422", {}).get("content", {})
    return any(one.get("schema", {}).get("$ref", "").endswith(_FASTAPI_ERROR) for one in content.values())


class Health(BaseModel):
    status: Literal["ok", "degraded"] = Field(description="ok: the server, its database and the workers are healthy.")
    live: bool = Field(description="The server answers.")
    ready: bool = Field(description="The server accepts requests: it is not stopping, and its database answers.")
    database: str = Field(description="ok, or what is wrong.", examples=["ok"])
    workers: Workers = Field(
        description="ok; idle: no job is running; none: jobs wait and no worker is running; standing still: a process "
        "holds work and has stopped reporting."
    )
    version: str


class RecipeView(BaseModel):
    name: str
    description: str
    records: list[str] = Field(description="The kinds of records it finds.")
    params: dict[str, Any] = Field(description="The JSON schema of `params` in POST /v1/jobs.")


class Recipes(BaseModel):
    items: list[RecipeView]


@router.get("/api/health", responses=only("internal"), summary="Health of the server, its database and its workers")
async def health(request: Request, parts: GivenParts) -> Health:
    """Return at once the state of database and workers at the last check; the database is checked every second.

    Any answer shows that the server is alive. GET /api/ready shows by its status code if it accepts
    requests.
    """
    seen = parts.vitals
    ready = seen.is_ready and not request.scope["state"]["stopping"]()
    is_well = ready and seen.workers in (Workers.OK, Workers.IDLE)
    return Health(
        status="ok" if is_well else "degraded",
        live=True,
        ready=ready,
        database=seen.storage,
        workers=seen.workers,
        version=__version__,
    )


@router.get("/api/ready", responses=only("database.away", "server.stopping"), summary="Readiness of the server")
async def ready(request: Request, parts: GivenParts) -> Response:
    """Answer 503 while the server is stopping or its database is away."""
    again = {"Retry-After": str(AWAY)}
    if request.scope["state"]["stopping"]():
        detail = "The server is being stopped."
        return problem(request_id(request), 503, "server.stopping", detail, hint="Try again.", headers=again)
    if not parts.vitals.is_ready:
        detail = "The database does not answer just now."
        return problem(request_id(request), 503, "database.away", detail, hint="Try again.", headers=again)
    return JsonAnswer({"status": "ready"})


@router.get("/v1/recipes", responses=declared(), summary="List the recipes")
async def recipes(tenant: Reader, parts: GivenParts) -> Recipes:
    return Recipes(
        items=[
            RecipeView(
                name=name,
                description=(recipe.params.__doc__ or "").strip(),
                records=[kind.name for kind in recipe.kinds],
                params=recipe.params.model_json_schema(),
            )
            for name, recipe in parts.recipes.items()
        ]
    )


@router.get("/docs", include_in_schema=False)
async def docs(request: Request, parts: GivenParts) -> HTMLResponse:
    page = docs_page(request.app.openapi(), parts.link(request, ""))
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})


@router.get("/", include_in_schema=False)
async def root(request: Request) -> Response:
    """Redirect browsers to the documentation; tell programs where it is."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/docs")
    return JsonAnswer({"status": "ok", "service": "gossamer", "docs": "/docs"})
