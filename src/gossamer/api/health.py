"""Health of the server and its database, and the server's capabilities."""

from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import HTMLResponse, RedirectResponse, Response

from gossamer import __version__
from gossamer.api.answers import JsonAnswer
from gossamer.api.caller import Reader
from gossamer.api.codes import declared, only
from gossamer.api.docs_intro import POLICY
from gossamer.api.docs_page import docs_page
from gossamer.api.guarded import Guarded
from gossamer.api.parts import GivenParts
from gossamer.api.problems import AWAY, problem, request_id
from gossamer.api.vitals import Workers

router = APIRouter(tags=["server"], route_class=Guarded)


class Health(BaseModel):
    status: Literal["ok", "degraded"] = Field(description="ok: the server, its database and the workers are well.")
    live: bool = Field(description="The server answers.")
    ready: bool = Field(description="It takes requests: it is not being stopped, and has its database.")
    database: str = Field(description="ok, or what is wrong.", examples=["ok"])
    workers: Workers = Field(
        description="ok; idle where no job is at work; none where work waits and nobody does it; standing still where "
        "a process holds work and shows no sign of life."
    )
    version: str


class RecipeView(BaseModel):
    name: str
    description: str
    records: list[str] = Field(description="The kinds of records it finds.")
    params: dict[str, Any] = Field(description="The JSON schema of `params` in POST /v1/jobs.")


class Recipes(BaseModel):
    items: list[RecipeView]


@router.get("/api/health", responses=only("internal"), summary="Whether the server is alive, and how it does")
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


@router.get(
    "/api/ready", responses=only("database.away", "server.stopping"), summary="Whether the server takes requests"
)
async def ready(request: Request, parts: GivenParts) -> Response:
    """503 while it is being stopped, or without its database: send requests elsewhere."""
    again = {"Retry-After": str(AWAY)}
    if request.scope["state"]["stopping"]():
        detail = "The server is being stopped."
        return problem(request_id(request), 503, "server.stopping", detail, hint="Try again.", headers=again)
    if not parts.vitals.is_ready:
        detail = "The database does not answer just now."
        return problem(request_id(request), 503, "database.away", detail, hint="Try again.", headers=again)
    return JsonAnswer({"status": "ready"})


@router.get("/v1/recipes", responses=declared(), summary="The recipes there are")
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
    """A page for people, a word for programs."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/docs")
    return JsonAnswer({"status": "ok", "service": "gossamer", "docs": "/docs"})
