"""The problem codes of the API: the HTTP status of each, and an example sentence.

The codes that an endpoint names in `declared` appear in the API description; the tests check every response
against it.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from gossamer.model.export import list_formats

MEDIA = "application/problem+json"
_ID = "0192f3a1-7b2c-7d4e-8f5a-6b7c8d9e0f1a"


class Code(NamedTuple):
    status: int
    detail: str
    hint: str = ""


CODES: Mapping[str, Code] = {
    "account.credits": Code(402, "This month's 1,000 account credits are used up: 4 are left.", "See GET /v1/account."),
    "account.name": Code(400, "A name has 1 to 100 characters, this one has 0.", "Give another one."),
    "account.queue": Code(429, "1,000 jobs of this account wait already.", "Try again when some of them have ended."),
    "address-forbidden": Code(400, "http://10.0.0.1/: the address is not public."),
    "auth.forbidden": Code(403, "This key may read, and this takes one that may submit.", "Use another key."),
    "auth.login": Code(401, "This login is over, or was never one.", "Log in again."),
    "auth.missing": Code(401, "This needs an API key.", "Send it as 'Authorization: Bearer KEY'."),
    "auth.operator": Code(403, "This is about the whole server, and for its operator.", "Use their admin key."),
    "auth.wrong": Code(401, "This key is not known here, or it was revoked."),
    "budget.spent": Code(
        409, "Job 9e0f1a2b has used 95 credits, and its limit is 100 credits.", "Give a higher limit."
    ),
    "budget.too_low": Code(400, "The job has spent more than that already.", "Give a higher limit."),
    "database.away": Code(503, "The database does not answer just now.", "Try again."),
    "dead_letters.ambiguous": Code(400, "Several dead letters begin with 3f.", "Type more of the id."),
    "dead_letters.archived": Code(400, "The results of its job were deleted."),
    "dead_letters.bad_id": Code(400, "'x' is not the id of a dead letter."),
    "dead_letters.not_found": Code(400, "There is no dead letter 3f9a2c71."),
    "explain.url": Code(400, "'shop' is not an address.", "Give one like https://shop.example/."),
    "export.column": Code(400, "'sise' is not a column of results.", "See the columns there are."),
    "export.filter": Code(400, "'some' is not a filter of results."),
    "export.format": Code(400, "'doc' is not a format.", f"Use {list_formats()}."),
    "export.not_found": Code(404, f"Job {_ID} has no export {_ID}."),
    "export.not_ready": Code(409, "results-9e0f1a2b.csv is not there: it is running.", "Look how far it is."),
    "export.parquet": Code(400, "Parquet needs a package that is not installed here."),
    "export.since": Code(400, "The filter 'new' needs an earlier job to compare with.", "Name one in since_job."),
    "export.type": Code(400, "'rows' is not a type of export of a scrape job."),
    "failed": Code(500, "Something could not be done that should have been possible."),
    "forget.domain": Code(400, "'x y' is not a domain."),
    "forget.url": Code(400, "'x y' is not an address."),
    "forget.what": Code(400, "Give one url, or one domain.", "Like ?domain=shop.example."),
    "history.site": Code(400, "The job has no site shop.example."),
    "internal": Code(500, "Something went wrong on the server.", "Report it with the request id."),
    "job.ambiguous": Code(400, "Several jobs begin with 3f.", "Type more of the id."),
    "job.bad_id": Code(400, "'x' is not the id of a job."),
    "job.domain": Code(400, "#/body/domains/0: 'x y' is not a domain.", "Give one like shop.example."),
    "job.key_taken": Code(409, f"The idempotency key 'nightly' belongs to job {_ID}.", "Give another key."),
    "job.ladder": Code(400, "'direct,ladder' names a method that there is not."),
    "job.mode": Code(400, "There is no mode 'cheap'.", "There are free-only, hybrid and premium-only."),
    "job.mode_not_configured": Code(400, "The mode hybrid needs a provider, and none is set up here."),
    "job.no_list": Code(409, f"The list of job {_ID} is gone: it was deleted with its results."),
    "job.name": Code(400, "A job's name has 1 to 200 characters, this one is empty."),
    "job.no_targets": Code(400, "This job has no site to visit.", "Name some in `domains`."),
    "job.not_found": Code(404, f"There is no job {_ID}.", "See GET /v1/jobs for the ones there are."),
    "job.params": Code(400, '`extract`: "p" is not a selector.'),
    "job.probed": Code(400, "The counts of checked homepages do not add up.", "Check the homepages again."),
    "job.recipe": Code(400, "The job is of a recipe that this program does not have."),
    "job.rung_not_configured": Code(400, "The method browser is not set up here."),
    "job.state": Code(409, f"Job {_ID} is completed: it cannot be paused."),
    "job.submit_key": Code(400, "An idempotency key has 1 to 200 visible characters, without spaces."),
    "job.targets": Code(400, "The recipe prospect is not given urls.", "Name what you want in `domains`."),
    "job.unusable": Code(400, "The parameters of the job are of another version."),
    "key.not_found": Code(404, f"There is no key {_ID}.", "See GET /v1/keys."),
    "keys.missing": Code(
        400,
        "enable_firecrawl needs a key to Firecrawl, and neither the request nor this server has one.",
        "Give yours in options.firecrawl_api_key.",
    ),
    "keys.no_secret": Code(400, "This server cannot take a key with a job: it has no secret that its workers know."),
    "keys.unusable": Code(400, "options.firecrawl_api_key is not a key."),
    "lane-missing": Code(400, "A screenshot needs the browser lane, and no browser is configured here."),
    "link.gone": Code(410, "The file of this link was deleted.", "Export it again."),
    "link.refused": Code(403, "This link has expired or is invalid."),
    "not_found": Code(404, "There is nothing at /v1/files/.", "See /docs."),
    "page-failed": Code(422, "https://shop.example/gone: HTTP 404 Not Found."),
    "pages.site": Code(400, "The job has no site shop.example."),
    "question.unknown": Code(404, "There is no question 'why' here.", "Use the program of the same version."),
    "rate.failed_keys": Code(429, "More than 60 wrong API keys in a minute came with this address."),
    "rate.exceeded": Code(429, "More than 600 requests in a minute came with this key.", "Try again in 12 seconds."),
    "recipe.missing": Code(501, "The tables full, seo and diff are made by the recipe site, which is not here."),
    "recipe.unknown": Code(400, "There is no recipe 'prospects' here.", "There are prospect, scrape."),
    "request.cursor": Code(400, "This cursor is not one of ours.", "Give next_cursor of the page before."),
    "request.invalid": Code(400, "#/body/url: Field required", "See /docs for what is expected."),
    "request.busy": Code(503, "The server is handling as many large requests as it can.", "Try again."),
    "request.too_large": Code(413, "A request may have 10,000,000 bytes, this one has more.", "Send it in parts."),
    "results.deleted": Code(410, f"The results of job {_ID} were deleted.", "Submit the job anew."),
    "results.domain": Code(400, "'x y' is not a domain."),
    "results.hidden": Code(410, f"The results of job {_ID} have been kept long enough."),
    "results.keyword": Code(400, "The job was not asked for 'CRM'."),
    "results.no_client": Code(400, "The job was run without a client's domain."),
    "results.recipe": Code(400, "A scrape job has no prospects."),
    "results.verdict": Code(400, "'some' is not a verdict."),
    "robots-disallowed": Code(403, "https://shop.example/cart: robots.txt forbids it.", "robots.txt is always obeyed."),
    "scrape.format": Code(400, "There is no format 'poem'."),
    "server.stopping": Code(503, "The server is being stopped.", "Try again."),
    "sitemap.empty": Code(400, "No page could be read from the sitemap https://shop.example/sitemap.xml."),
    "residential.missing": Code(
        400,
        "allow_residential needs proxies with residential addresses, and this server has none.",
        "Leave out allow_residential: pages are then asked for from this server's own address.",
    ),
    "sitemap.missing": Code(400, "Either sitemap_url or sitemap_urls required", "Give one of them."),
    "sitemap.status": Code(409, "Cannot cancel job in status: succeeded", "It is over already."),
    "summary.recipe": Code(400, "There is no summary of a scrape job."),
    "urls.bad": Code(400, "'shop' is not the address of a page.", "Give one like https://shop.example/."),
    "urls.empty": Code(400, "There is no address in it."),
    "urls.too_many": Code(400, "A job has up to 50,000 addresses."),
    "usage": Code(400, "--filter is not for scrape jobs."),
    "usage.span": Code(400, "The period 2026-12-01 to 2026-01-01 is longer than 366 days, or ends before it begins."),
    "webhook.address": Code(400, "Nothing may be sent to http://10.0.0.1/: the address is not public."),
    "webhook.ambiguous": Code(400, "'3f9a' fits more than one webhook.", "Give more characters."),
    "webhook.bad_id": Code(400, "'x' is not the id of a webhook."),
    "webhook.bad_message": Code(400, "'x' is not the id of a message."),
    "webhook.event": Code(400, "There is no event 'job.sneezed'."),
    "webhook.no_delivery": Code(404, f"There is no delivery {_ID}."),
    "webhook.no_secret": Code(
        400, "A webhook cannot be given a secret here: there is none that all workers know, to encrypt it with."
    ),
    "webhook.not_found": Code(404, f"There is no webhook {_ID}.", "See GET /v1/webhooks."),
    "webhook.off": Code(409, "The webhook is off.", "Switch it on with PATCH and enabled."),
    "webhook.overlap": Code(400, "The former secret can sign for up to 7 days."),
    "webhook.too_many": Code(409, "There are 50 webhooks already.", "Remove one that is not needed any more."),
    "webhook.url": Code(400, "'ftp://example.com/' is no web address."),
}
"""Codes that are not listed have status 400: the user can correct the request."""

_ALWAYS = (
    *("request.invalid", "request.too_large", "request.busy", "rate.exceeded"),
    *("internal", "database.away", "server.stopping"),
)
_KEY = ("rate.failed_keys", "auth.missing", "auth.wrong", "auth.login", "auth.forbidden")

ROOM = ("account.credits", "account.queue")
"""Codes of an account without credits or room for another job."""

LADDER = ("job.mode", "job.mode_not_configured", "job.ladder", "job.rung_not_configured")
PAGES = ("urls.bad", "urls.empty", "urls.too_many", "scrape.format", "lane-missing", "job.name", "job.params", *LADDER)
"""Codes of invalid page addresses and scrape options."""

ONCE = ("job.submit_key", "job.key_taken")
JOB = ("recipe.unknown", "job.name", "job.params", "job.targets", "job.no_targets", "job.domain", *PAGES)
"""Codes of an invalid job of any recipe."""

STEER = ("job.not_found", "job.state")
FILES = (
    *("job.not_found", "results.deleted", "export.type", "export.format", "export.column", "export.filter"),
    *("export.since", "export.parquet", "results.no_client"),
)
"""Codes of an invalid request for exports."""


def status_of(code: str) -> int:
    return CODES[code].status if code in CODES else HTTPStatus.BAD_REQUEST


def declared(*codes: str, keyless: bool = False) -> dict[int | str, dict[str, Any]]:
    """Return the errors an endpoint documents besides the common ones; `keyless` means that it needs no key."""
    by_status: dict[int | str, list[str]] = {}
    for code in (*_ALWAYS, *(() if keyless else _KEY), *codes):
        by_status.setdefault(status_of(code), []).append(code)
    if "robots-disallowed" in codes:
        by_status[403].append("address-forbidden")  # also for addresses on the deny list
    return {status: _answer(int(status), tuple(dict.fromkeys(by_status[status]))) for status in sorted(by_status)}


def only(code: str, *more: str) -> dict[int | str, dict[str, Any]]:
    """Return only these errors, which share a status, for endpoints that need neither key nor body."""
    return {status_of(code): _answer(status_of(code), (code, *more))}


def _answer(status: int, codes: tuple[str, ...]) -> dict[str, Any]:
    examples = {code: {"value": _problem(status, code)} for code in codes}
    return {
        "description": f"{HTTPStatus(status).phrase}: {', '.join(codes)}.",
        "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": examples}},
        "x-codes": list(codes),
    }


def _problem(status: int, code: str) -> dict[str, Any]:
    return {
        "type": f"urn:gossamer:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": CODES[code].detail,
        "code": code,
        "hint": CODES[code].hint,
        "request_id": "5d1c0b7c9f8e4f0d8f5b7a0e4c3d2b1a",
    }
