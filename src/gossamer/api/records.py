"""Forgetting: what all jobs of the account have stored about a page or a domain."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel

from gossamer.api.caller import Submitter
from gossamer.api.codes import declared
from gossamer.api.guarded import Guarded
from gossamer.errors import UserError
from gossamer.retention.erase import Found, domain_named, page_named

router = APIRouter(prefix="/v1/records", tags=["results"], route_class=Guarded)


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


@router.delete(
    "",
    responses=declared("forget.what", "forget.url", "forget.domain", "job.not_found", "job.state"),
    summary="Forget a page or a domain",
)
async def forget(
    tenant: Submitter,
    url: Annotated[str | None, Query(max_length=2_000)] = None,
    domain: Annotated[str | None, Query(max_length=300)] = None,
    job: Annotated[UUID | None, Query(description="Only in this job.")] = None,
    dry_run: Annotated[bool, Query(description="Only say what would be removed.")] = False,
) -> Forgotten:
    """Erase a page or a domain from the rows and exports of all jobs of the account.

    For example because the owner of a site asks for it.
    """
    if (url is None) == (domain is None):
        raise UserError("forget.what", "Give one url, or one domain.", hint="Like ?domain=shop.example.")
    mention = page_named(url) if url is not None else domain_named(domain or "")
    found = await tenant.forget(mention, job, dry_run=dry_run)
    return Forgotten(forgotten=bool(found) and not dry_run, jobs=[_shown(one) for one in found])


def _shown(one: Found) -> ForgottenIn:
    return ForgottenIn(
        job_id=str(one.job.id),
        name=one.job.name,
        recipe=one.job.recipe,
        pages=len(one.pages),
        records=one.records,
        mentions=one.mentions,
    )
