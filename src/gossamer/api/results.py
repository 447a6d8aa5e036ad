"""Results of jobs: records, failures and files, how to fetch them, and how to erase a page or a domain from them."""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import FileResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import HTTPConnection
from starlette.responses import Response

from gossamer.api import cursors, views
from gossamer.api.caller import Keyless, Reader, Submitter
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.error_codes import FILES, declared
from gossamer.api.guarded import Guarded, ReadAgain
from gossamer.blobs.folder import SERVED
from gossamer.blobs.seam import MAX_KEY
from gossamer.errors import UserError
from gossamer.exports.formats import formats_named
from gossamer.exports.orders import Wish
from gossamer.model.export import Export, list_formats
from gossamer.model.fields import Strict
from gossamer.model.job import Job
from gossamer.model.states import OVER
from gossamer.recipes.base import Looks
from gossamer.retention.erase import JobMentions, domain_named, page_named

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"], route_class=ReadAgain)
links = APIRouter(tags=["results"], route_class=Guarded)
erasing = APIRouter(prefix="/v1/records", tags=["results"], route_class=Guarded)

Cursor = Annotated[str | None, Query(max_length=400, description="`next_cursor` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=1_000)]


LINE = r"^[^\x00-\x1f\x7f]*$"


class NewExport(Strict):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"type": "results", "format": "csv"}})

    type: str = Field("results", max_length=40, description="results, prospects, errors, pages or costs.")
    format: str = Field("csv", max_length=100, description=f"{list_formats()}; several with commas.")
    columns: list[Annotated[str, Field(max_length=100)]] = Field(default_factory=list, max_length=200)
    filter: str = Field("", max_length=40, description="unlinked; new, of prospects.")
    bom: bool = Field(False, description="Begin CSV files with a byte order mark, for Excel.")
    raw: bool = Field(False, description="Leave text that looks like a formula as it is.")
    costs: bool = Field(True, description="False: leave costs out of the workbook.")
    title: str = Field("", max_length=200, pattern=LINE, description="Title of the workbook; default: the job's name.")
    client: str = Field("", max_length=200, pattern=LINE, description="Name of the client that the workbook is for.")
    since_job: UUID | None = Field(
        None, description="An earlier job to compare with: marks prospects that it did not have."
    )
    exclude_domains: Annotated[list[Annotated[str, Field(max_length=300)]], Field(fail_fast=True)] = Field(
        default_factory=list, max_length=200_000, description="Domains to leave out, with all their sites."
    )


class Exports(BaseModel):
    items: list[views.ExportView]


class ForgottenIn(BaseModel):
    job_id: str
    name: str
    recipe: str
    pages: int
    records: int
    mentions: int


class Forgotten(BaseModel):
    forgotten: bool
    jobs: list[ForgottenIn]


@router.get(
    "/results", responses=declared("job.not_found", "results.deleted", "request.cursor"), summary="Results of a job"
)
async def results(
    job_id: UUID,
    tenant: Reader,
    parts: GivenParts,
    cursor: Cursor = None,
    limit: Limit = 100,
    kind: Annotated[str | None, Query(max_length=24, description="Kind of records, if the recipe has several.")] = None,
) -> views.ResultPage:
    """Return a page of records, and a cursor for the next page. A running job may have more later."""
    job = await tenant.job(job_id)
    found = await tenant.found(
        job, kind or _first_kind(job, parts), tenant.cursors.place(f"results {job_id}", cursor), limit + 1
    )
    more = len(found) > limit
    return views.ResultPage(
        items=[one.data for one in found[:limit]],
        has_more=more,
        next_cursor=tenant.cursors.cursor(f"results {job_id}", found[limit - 1].key) if more else None,
        complete=job.state in OVER,
    )


def _first_kind(job: Job, parts: Parts) -> str:
    recipe = parts.recipes.get(job.recipe)
    return recipe.kinds[0].name if recipe and recipe.kinds else ""


@router.get("/errors", responses=declared("job.not_found", "request.cursor"), summary="Failures of a job")
async def errors(
    job_id: UUID,
    tenant: Reader,
    cursor: Cursor = None,
    limit: Limit = 100,
    of: Annotated[
        str | None,
        Query(
            pattern="^(sites|pages)$",
            description="Failed sites, or failed pages. Default: the kind that the job was given.",
        ),
    ] = None,
) -> views.FailurePage:
    """List failures. For a job of pages: each page without a result, by the address that was given.

    For a job of sites: the sites that failed as a whole; with `of=pages`, the single pages of the others.
    """
    job = await tenant.job(job_id)
    of = of or ("pages" if job.extent.names_pages else "sites")
    ask = tenant.failed_sites if of == "sites" else tenant.failed_pages
    found = await ask(job, tenant.cursors.place(f"{of} {job_id}", cursor), limit)
    return views.FailurePage(
        items=[views.failure(one) for one in found.items],
        has_more=bool(found.next),
        next_cursor=tenant.cursors.cursor(f"{of} {job_id}", found.next) if found.next else None,
    )


async def _shown(connection: HTTPConnection, parts: Parts, *some: Export) -> list[views.ExportView]:
    return [
        views.export(one, f"/v1/jobs/{one.job_id}/exports/{one.id}/file", await parts.signed(connection, one))
        for one in some
    ]


@router.post("/exports", status_code=202, responses=declared(*FILES), summary="Export a job to files")
async def export(
    job_id: UUID, body: NewExport, tenant: Submitter, parts: GivenParts, connection: HTTPConnection
) -> Exports:
    """Start exports in the background. They have the results so far if the job is running, and are kept for 7 days."""
    job = await tenant.job(job_id)
    looks = Looks(bom=body.bom, raw=body.raw, costs=body.costs, title=body.title, client=body.client)
    since = await tenant.job(body.since_job) if body.since_job else None
    left_out = frozenset(body.exclude_domains)
    wish = Wish(body.type, formats_named(body.format), tuple(body.columns), body.filter, looks, since, left_out)
    return Exports(items=await _shown(connection, parts, *await tenant.order_files(job, wish)))


@router.get("/exports", responses=declared("job.not_found", "request.cursor"), summary="List the exports of a job")
async def exports(
    job_id: UUID, tenant: Reader, parts: GivenParts, connection: HTTPConnection, cursor: cursors.NoCursor = None
) -> Exports:
    cursors.refuse(cursor)
    return Exports(items=await _shown(connection, parts, *await tenant.files(await tenant.job(job_id))))


@router.post(
    "/exports/cancel", status_code=202, responses=declared("job.not_found"), summary="Cancel the exports of a job"
)
async def cancel_exports(job_id: UUID, tenant: Submitter, parts: GivenParts, connection: HTTPConnection) -> Exports:
    job = await tenant.job(job_id)
    await tenant.cancel_files(job)
    return Exports(items=await _shown(connection, parts, *await tenant.files(job)))


@router.get(
    "/exports/{export_id}", responses=declared("job.not_found", "export.not_found"), summary="Status of an export"
)
async def look(
    job_id: UUID, export_id: UUID, tenant: Reader, parts: GivenParts, connection: HTTPConnection
) -> views.ExportView:
    (shown,) = await _shown(connection, parts, await tenant.file(await tenant.job(job_id), export_id))
    return shown


@router.get(
    "/exports/{export_id}/file",
    responses={
        **declared("job.not_found", "export.not_found", "export.not_ready"),
        200: {"description": "The file.", "content": {"application/octet-stream": {}}},
        307: {"description": "Temporary link to the file in object storage."},
    },
    response_class=Response,
    summary="Download an export",
)
async def fetch(job_id: UUID, export_id: UUID, tenant: Reader, parts: GivenParts) -> Response:
    one = await tenant.file(await tenant.job(job_id), export_id)
    export_store = parts.app.export_store()
    link = await export_store.link(one, parts.app.clock.now())
    if link is None:
        raise UserError(
            "export.not_ready",
            f"{one.name} is not there: it is {views.export(one, None).state}, or lies on another machine.",
            hint="Check its state, or export it again.",
        )
    path = export_store.path(one)
    if path is not None:
        return FileResponse(path, filename=one.name, media_type="application/octet-stream")
    return RedirectResponse(link, status_code=307)


@links.get(
    f"{SERVED}{{key:path}}",
    responses={
        **declared("link.refused", "link.gone", "not_found", keyless=True),
        200: {"description": "The file.", "content": {"application/octet-stream": {}}},
        307: {"description": "Link to the file in object storage."},
    },
    dependencies=[Depends(Keyless("ip"))],
    response_class=Response,
    summary="Download a file by its link",
)
async def fetch_by_link(
    parts: GivenParts,
    key: Annotated[str, Path(max_length=MAX_KEY)],
    expires: Annotated[str, Query(max_length=12)] = "",
    signature: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """Download a file by the `link` of an export.

    It needs no key, and gives access to this one file until it expires.
    """
    export_store, now = parts.app.export_store(), parts.app.clock.now()
    # Verified in our own spelling, whatever the request's was.
    if export_store.local.verify(f"{SERVED}{key}?expires={expires}&signature={signature}", now) is None:
        raise UserError(
            "link.refused",
            "This link has expired or is invalid.",
            hint="Ask the person who sent you the link for a new one.",
        )
    path = export_store.local.path(key)
    if path.is_file():
        headers = {"X-Robots-Tag": "noindex"}
        return FileResponse(path, filename=path.name, media_type="application/octet-stream", headers=headers)
    if export_store.remote is not None:
        # The file was kept locally while object storage was away.
        left = timedelta(seconds=max(1, int(expires) - int(now.timestamp())))
        return RedirectResponse(await export_store.remote.link(key, left), status_code=307)
    raise UserError("link.gone", "The file of this link was deleted.", hint="Export it again.")


@erasing.delete(
    "",
    responses=declared("forget.what", "forget.url", "forget.domain", "job.not_found", "job.state"),
    summary="Forget a page or a domain",
)
async def forget(
    tenant: Submitter,
    url: Annotated[str | None, Query(max_length=2_000)] = None,
    domain: Annotated[str | None, Query(max_length=300)] = None,
    job: Annotated[UUID | None, Query(description="Only in this job.")] = None,
    dry_run: Annotated[bool, Query(description="List what would be removed, without removing it.")] = False,
) -> Forgotten:
    """Erase a page or a domain from the rows and exports of all jobs of the account.

    For example because the owner of a site asks for it.
    """
    if (url is None) == (domain is None):
        raise UserError("forget.what", "Give one url, or one domain.", hint="Like ?domain=shop.example.")
    mention = page_named(url) if url is not None else domain_named(domain or "")
    found = await tenant.forget(mention, job, dry_run=dry_run)
    return Forgotten(forgotten=bool(found) and not dry_run, jobs=[_forgotten_in(one) for one in found])


def _forgotten_in(one: JobMentions) -> ForgottenIn:
    return ForgottenIn(
        job_id=str(one.job.id),
        name=one.job.name,
        recipe=one.job.recipe,
        pages=len(one.pages),
        records=one.records,
        mentions=one.mentions,
    )
