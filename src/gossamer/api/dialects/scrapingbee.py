"""The endpoint `GET /api/v1/?api_key&url&...`: one page, for programs written for ScrapingBee.

Its query is translated into a request for a page, or refused with a reason.
"""

import time
from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from gossamer.api.caller import Caller, KeyAccess, Spends, tenant_of
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.dialects import sentence, speaking
from gossamer.api.problems import request_id
from gossamer.api.scrape import Wanted, problem_of, read_page
from gossamer.api.tenant import Tenant
from gossamer.api.views import JsonAnswer
from gossamer.errors import UserError
from gossamer.intake.addresses import read_addresses
from gossamer.model.account import Right
from gossamer.model.fields import Strict
from gossamer.model.rungs import DIRECT, RUNGS
from gossamer.model.states import PageState
from gossamer.store.given_pages import ScrapedPage

DOOR = "scrapingbee"

_MOST_TIME = 140_000
_STEALTH = ("stealth", "scrapingbee-stealth", "scraperapi-ultra-js", "scraperapi-ultra")
_DEAR = ("premium", "ultra", "stealth")
_MEDIA = {"markdown": "text/markdown; charset=utf-8", "text": "text/plain; charset=utf-8", "screenshot": "image/png"}
_EXAMPLE = {"message": "Invalid api key: this key is not known here, or it was revoked."}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The page, or the requested format of it.", "content": {"*/*": {}}},
    "default": {
        "description": "An error, or with transparent_status_code the status of the page.",
        "content": {"application/json": {"example": _EXAMPLE}},
    },
}

_SPEAKING = speaking(lambda problem: {"message": sentence(problem), "reason": problem["code"]})

router = APIRouter(prefix="/api/v1", tags=["as ScrapingBee"], route_class=_SPEAKING)
absent = APIRouter(prefix="/api/v1", route_class=_SPEAKING, include_in_schema=False)


class BeeQuery(Strict):
    """ScrapingBee's parameters. Unsupported ones are refused if they would change the page, and ignored otherwise."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(min_length=1, max_length=8_000)
    api_key: str = Field(
        "", max_length=200, description="API key of this server; preferably sent as 'Authorization: Bearer'."
    )
    render_js: bool | None = Field(None, description="true or false; by default, as the page needs.")
    mode: Literal["auto"] | None = None
    max_cost: int | None = Field(None, ge=0, le=10**6, description="Maximum cost in provider credits.")
    premium_proxy: bool = False
    stealth_proxy: bool = False
    json_response: bool = False
    return_page_source: bool = False
    return_page_markdown: bool = False
    return_page_text: bool = False
    screenshot: bool = False
    screenshot_full_page: bool = False
    extract_rules: str = Field("", max_length=20_000, description="JSON.")
    transparent_status_code: bool = False
    timeout: int = Field(_MOST_TIME, ge=1_000, le=_MOST_TIME, description="Milliseconds to wait for the page.")
    tag: str = Field("", max_length=200)
    # Accepted, without effect.
    block_ads: bool = False
    block_resources: bool = True
    session_id: int | None = Field(None, ge=0, le=10_000_000)
    wait: int = Field(0, ge=0, le=35_000)
    wait_browser: str = Field("", max_length=40)
    window_width: int | None = None
    window_height: int | None = None
    # Refused unless they have their default.
    ai_extract_rules: str = ""
    ai_query: str = ""
    ai_selector: str = ""
    cookies: str = ""
    country_code: str = ""
    custom_google: bool = False
    device: str = "desktop"
    forward_headers: bool = False
    forward_headers_pure: bool = False
    js_scenario: str = ""
    js_snippet: str = ""
    own_proxy: str = ""
    scraping_config: str = ""
    screenshot_selector: str = ""
    wait_for: str = ""


_REFUSED = tuple(BeeQuery.model_fields)[tuple(BeeQuery.model_fields).index("ai_extract_rules") :]


class BeeUsage(BaseModel):
    max_api_credit: int | None
    used_api_credit: int
    max_concurrency: int | None
    current_concurrency: int
    renewal_subscription_date: str


def wanted_of(query: BeeQuery, here: Collection[str]) -> Wanted:
    """Return the request that the query describes. `here` are the rungs configured here."""
    for name in _REFUSED:
        if getattr(query, name) != BeeQuery.model_fields[name].default:
            raise UserError(
                "dialect.parameter", f"{name} is not available here.", hint="Leave it out: see docs/howto/dialects.md."
            )
    rules = read_rules(query.extract_rules) if query.extract_rules else None
    limits = {"max_credits": query.max_cost} if query.max_cost is not None else {}
    return Wanted.model_validate(
        {"formats": [format_of(query)], "extract": rules, "ladder": _ladder(query, here), "limits": limits}
    )


def format_of(query: BeeQuery) -> str:
    """Return our name of the requested format."""
    if query.extract_rules:
        return "extract"
    if query.screenshot or query.screenshot_full_page:
        return "screenshot"
    if query.return_page_markdown:
        return "markdown"
    return "text" if query.return_page_text else "raw"


def _ladder(query: BeeQuery, here: Collection[str]) -> str | None:
    """Return the methods that the query asks for; None for the usual ladder, from cheap to expensive."""
    if query.screenshot or query.screenshot_full_page:
        return None
    if query.stealth_proxy:
        return _first(query, "stealth_proxy", [name for name in _STEALTH if name in here][:1])
    if query.premium_proxy:
        premium = [name for name in here if "premium" in name and RUNGS[name].renders == (query.render_js is not False)]
        return _first(query, "premium_proxy", premium[:1])
    if query.render_js is None or query.mode == "auto":
        return None
    plain = [name for name in here if RUNGS[name].renders == query.render_js and not any(one in name for one in _DEAR)]
    return _first(query, "render_js", plain) if query.render_js else ",".join(plain or [DIRECT.name])


def _first(query: BeeQuery, name: str, found: Iterable[str]) -> str:
    chosen = ",".join(found)
    if not chosen:
        raise UserError(
            "lane-missing",
            f"{name} needs a way to fetch that is not configured here.",
            hint=f"Leave {name} out: the page is then fetched with what is here.",
        )
    return chosen


def read_rules(text: str) -> dict[str, Any]:
    """Convert ScrapingBee's extraction rules into ours."""
    try:
        given = orjson.loads(text)
    except orjson.JSONDecodeError:
        given = None
    if not isinstance(given, dict):
        raise UserError("dialect.rules", "extract_rules is no JSON object.", hint='Give one like {"title": "h1"}.')
    return {str(name): _rule(str(name), rule) for name, rule in given.items()}


def _rule(name: str, rule: Any) -> Any:
    if not isinstance(rule, Mapping):
        return rule
    selector, output = str(rule.get("selector", "")), rule.get("output", "text")
    kind = rule.get("selector_type", "auto")
    is_path = kind == "xpath" or (kind == "auto" and selector.startswith(("/", "./", "(")))
    ours: dict[str, Any] = {"xpath" if is_path else "css": selector}
    if rule.get("type") == "list":
        ours["list"] = True
    match output:
        case "text":
            return ours
        case "html":
            return {**ours, "type": "html"}
        case str() if output.startswith("@"):
            return {**ours, "attribute": output[1:]}
        case Mapping():
            return {**ours, "fields": {str(inner): _rule(f"{name}.{inner}", one) for inner, one in output.items()}}
    raise UserError(
        "dialect.rules",
        f"extract_rules: {name} has the output {output!r}, which is not available here.",
        hint="There are text, html, @attribute and rules inside it.",
    )


"""Endpoints of ScrapingBee that this server does not have. Included after all other routers."""


def _tenant(right: Right, spends: Spends | None = None) -> Any:
    access = KeyAccess(right, spends=spends, parameter="api_key")

    async def scoped(
        parts: GivenParts,
        caller: Annotated[Caller, Depends(access)],
        api_key: Annotated[str, Query(max_length=200)] = "",
    ) -> Tenant:
        return tenant_of(parts, caller)

    return Depends(scoped)


@router.get("/usage", responses=_RESPONSES, summary="Remaining credits")
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
    """Wait for the page for up to `timeout`, then cancel it."""
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
