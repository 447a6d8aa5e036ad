"""`GET /api/v1/?api_key&url&...`: one page, as programs written for ScrapingBee ask for it."""

import time
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from gossamer.api.answers import JsonAnswer
from gossamer.api.caller import Access, Caller, Spends, tenant_of
from gossamer.api.dialects.bee_options import BeeQuery, format_of, wanted_of
from gossamer.api.dialects.route import sentence, speaking
from gossamer.api.parts import GivenParts, Parts
from gossamer.api.problems import request_id
from gossamer.api.scrape import problem_of, read_page
from gossamer.api.tenant import Tenant
from gossamer.intake.addresses import read_addresses
from gossamer.model.account import Right
from gossamer.model.states import PageState
from gossamer.store.given_pages import ScrapedPage

DOOR = "scrapingbee"
_MEDIA = {"markdown": "text/markdown; charset=utf-8", "text": "text/plain; charset=utf-8", "screenshot": "image/png"}
_EXAMPLE = {"message": "Invalid api key: this key is not known here, or it was revoked."}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The page itself, or what was asked for of it.", "content": {"*/*": {}}},
    "default": {
        "description": "An error, or with transparent_status_code the status of the page.",
        "content": {"application/json": {"example": _EXAMPLE}},
    },
}

_SPEAKING = speaking(lambda problem: {"message": sentence(problem), "reason": problem["code"]})

router = APIRouter(prefix="/api/v1", tags=["as ScrapingBee"], route_class=_SPEAKING)
absent = APIRouter(prefix="/api/v1", route_class=_SPEAKING, include_in_schema=False)
"""What ScrapingBee has and this server does not. Asked after all other endpoints."""


class BeeUsage(BaseModel):
    max_api_credit: int | None
    used_api_credit: int
    max_concurrency: int | None
    current_concurrency: int
    renewal_subscription_date: str


def _tenant(right: Right, spends: Spends | None = None) -> Any:
    access = Access(right, spends=spends, parameter="api_key")

    async def scoped(
        parts: GivenParts,
        caller: Annotated[Caller, Depends(access)],
        api_key: Annotated[str, Query(max_length=200)] = "",
    ) -> Tenant:
        return tenant_of(parts, caller)

    return Depends(scoped)


@router.get("/usage", responses=_RESPONSES, summary="What is left")
async def usage(tenant: Annotated[Tenant, _tenant(Right.READ)]) -> BeeUsage:
    limits, running = await tenant.quota(), (await tenant.at_work())[0]
    now = datetime.now(UTC)
    renewed = (now.replace(day=1, hour=0, minute=0, second=0, microsecond=0) + timedelta(days=32)).replace(day=1)
    return BeeUsage(
        max_api_credit=limits.credits,
        used_api_credit=await tenant.spent(),
        max_concurrency=limits.running,
        current_concurrency=running,
        renewal_subscription_date=renewed.isoformat(),
    )


@router.get("", include_in_schema=False)
@router.get("/", responses=_RESPONSES, summary="Fetch a page")
async def fetch(
    request: Request,
    tenant: Annotated[Tenant, _tenant(Right.SUBMIT, Tenant.check_quota)],
    parts: GivenParts,
    query: Annotated[BeeQuery, Query()],
) -> Response:
    """Waits for the page up to `timeout`, and then gives it up."""
    until = time.monotonic() + query.timeout / 1_000
    wanted = wanted_of(query, parts.app.rungs)
    listed = read_addresses([query.url])
    job, page = await read_page(tenant, parts, wanted.request(listed, parts, "", None), DOOR, until)
    own = {"Spb-Request-Id": request_id(request), **({"Spb-Tag": _ascii(query.tag)} if query.tag else {})}
    if page is None:
        await tenant.give_up(job)
        message = f"The page did not come within {query.timeout:,} ms, or its job was stopped."
        return JsonAnswer({"message": message, "reason": "timeout"}, 500, {**own, "Spb-Cost": "0"})
    if page.http_status:
        own["Spb-Initial-Status-Code"] = str(page.http_status)
    if page.state is not PageState.DONE:
        return _failed(page, query, own)
    return _answer(await tenant.with_files(job, page), query, own, parts)


@absent.api_route("", methods=["POST", "PUT"])
@absent.api_route("/", methods=["POST", "PUT"])
async def only_get(request: Request, tenant: Annotated[Tenant, _tenant(Right.READ)]) -> Response:
    return _not_here(f"{request.method} for a page")


@absent.api_route("/{rest:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
async def not_here(
    rest: Annotated[str, Path(max_length=2_000)], tenant: Annotated[Tenant, _tenant(Right.READ)]
) -> Response:
    return _not_here(f"The service {rest[:40]}")


def _not_here(what: str) -> Response:
    message = f"{what} is not available here: there are GET /api/v1/ and GET /api/v1/usage."
    return JsonAnswer({"message": message, "reason": "not_available"}, 501, {"Spb-Cost": "0"})


def _failed(page: ScrapedPage, query: BeeQuery, own: dict[str, str]) -> Response:
    status, code = problem_of(page)
    if status == 422:  # the page's own fault, or its server's
        said = page.http_status or 500
        status = said if (query.transparent_status_code and said >= 400) or said == 404 else 500
    body = {"message": f"{page.url}: {page.error or 'it could not be read'}.", "reason": page.reason.lower() or code}
    return JsonAnswer(body, status, {**own, "Spb-Cost": "0"})


def _answer(page: ScrapedPage, query: BeeQuery, own: dict[str, str], parts: Parts) -> Response:
    wanted = format_of(query)
    content: Any = page.data.get(wanted)
    method = str(page.data.get("crawl_method") or "")
    cost = parts.prices.get(method, 1)
    final, media = str(page.data.get("final_url") or page.url), str(page.data.get("content_type") or "text/html")
    headers = {**own, "Spb-Cost": str(cost), "Spb-Resolved-Url": _ascii(final), "Spb-Content-Type": _ascii(media)}
    if content is None:
        gone = {"message": "What was read is not there any more.", "reason": "gone"}
        return JsonAnswer(gone, 500, headers)
    if query.json_response:
        return JsonAnswer(_wrapped(page, wanted, content, cost, final, media), headers=headers)
    if wanted == "extract":
        return JsonAnswer(content, headers=headers)
    body = content if isinstance(content, bytes) else str(content).encode()
    # Text was decoded when it was read, and goes out in one encoding only.
    kind = _MEDIA.get(wanted) or (media if isinstance(content, bytes) else f"{media.partition(';')[0]}; charset=utf-8")
    return Response(body, headers={**headers, "Content-Type": _ascii(kind)})


def _wrapped(page: ScrapedPage, wanted: str, content: Any, cost: int, final: str, media: str) -> dict[str, Any]:
    text = b64encode(content).decode() if isinstance(content, bytes) else content
    under = {"screenshot": "screenshot", "markdown": "content", "text": "content"}.get(wanted, "body")
    return {
        under: text,
        "headers": {"Content-Type": media},
        "cost": cost,
        "initial-status-code": page.http_status,
        "resolved-url": final,
        "type": "json" if wanted == "extract" else "html",
        "cookies": [],
    }


def _ascii(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ").encode("ascii", "replace").decode()
