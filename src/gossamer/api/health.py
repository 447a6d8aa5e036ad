"""Whether the server and its database are well, and what it can do."""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import HTMLResponse, RedirectResponse, Response

from gossamer import __version__
from gossamer.api.answers import JsonAnswer
from gossamer.api.caller import Reader
from gossamer.api.codes import declared, only
from gossamer.api.docs_page import docs_page
from gossamer.api.guarded import Guarded
from gossamer.api.parts import GivenParts
from gossamer.api.problems import AWAY, problem, request_id
from gossamer.errors import StorageAway
from gossamer.store.health import database_time

router = APIRouter(tags=["server"], route_class=Guarded)


class Health(BaseModel):
    status: str = Field(examples=["ok"])
    database: str = Field(examples=["ok"])
    version: str


class RecipeView(BaseModel):
    name: str
    description: str
    records: list[str] = Field(description="The kinds of records it finds.")
    params: dict[str, Any] = Field(description="The JSON schema of `params` in POST /v1/jobs.")


class Recipes(BaseModel):
    items: list[RecipeView]


@router.get("/api/health", responses=only("database.away"), summary="Whether the server is alive")
async def health(request: Request, parts: GivenParts) -> Health:
    """Asks the database. Needs no key."""
    await parts.app.database.read(database_time)
    return Health(status="ok", database="ok", version=__version__)


@router.get(
    "/api/ready", responses=only("database.away", "server.stopping"), summary="Whether the server takes requests"
)
async def ready(request: Request, parts: GivenParts) -> Response:
    """503 while it is being stopped, or without its database: send requests elsewhere."""
    again = {"Retry-After": str(AWAY)}
    if request.scope["state"]["stopping"]():
        detail = "The server is being stopped."
        return problem(request_id(request), 503, "server.stopping", detail, hint="Try again.", headers=again)
    try:
        await parts.app.database.read(database_time)
    except StorageAway:
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
async def docs(request: Request) -> HTMLResponse:
    return HTMLResponse(docs_page(request.app.openapi()))


@router.get("/", include_in_schema=False)
async def root(request: Request) -> Response:
    """A page for people, a word for programs."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/docs")
    return JsonAnswer({"status": "ok", "service": "gossamer"})
