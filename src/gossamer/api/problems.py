"""Errors as RFC 9457 problems, with a hint and the id of the request.

Hints that name a command are replaced by their HTTP variant; the original is sent as `command_hint`.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from gossamer.api.error_codes import MEDIA, status_of
from gossamer.api.views import JsonAnswer
from gossamer.errors import GossamerError, StorageAway, UserError
from gossamer.exports.formats import FORMATS
from gossamer.logging import get_logger
from gossamer.model.fields import sentence_of
from gossamer.store.accounts import NotTheirs

log = get_logger(__name__)

AWAY = 5  # seconds to wait before retrying while the database is away


_HINTS: Mapping[str, str] = {
    "budget.spent": 'POST /v1/jobs/ID/resume with a higher limit, like {"LIMIT": 5000}, or take what there is '
    "with POST /v1/jobs/ID/exports.",
    "budget.too_low": "Give a higher limit, or take what there is with POST /v1/jobs/ID/exports.",
    "export.format": f"Name one or more of {', '.join(FORMATS)} in `format`.",
    "export.since": "Name one in `since_job`.",
    "job.key_taken": "Look at that job with GET /v1/jobs/ID, or send another Idempotency-Key.",
    "job.mode_not_configured": "Use the mode free-only, or ask the operator of the server for a provider.",
    "job.name": "Give it one in `name`.",
    "job.params": "See GET /v1/recipes for what the recipe takes.",
    "job.state": "GET /v1/jobs/ID shows its state. POST /v1/jobs/ID/resume goes on with a paused job, .../pause and "
    ".../cancel stop one that runs, and .../retry-failed tries again what failed in one that is over.",
    "job.submit_key": "Send something like Idempotency-Key: nightly-2026-01-18.",
    "results.no_client": "Submit it again with `client_domain` in its params.",
    "webhook.no_delivery": "See GET /v1/webhooks/ID/deliveries.",
    "webhook.not_found": "See GET /v1/webhooks.",
    "webhook.off": "Switch it on with PATCH /v1/webhooks/ID and `enabled`.",
    "webhook.too_many": "Remove one that is not needed any more: GET /v1/webhooks.",
}


_OPTION = re.compile(r"--([a-z][a-z-]*)")


_BODIES = {
    "/v1/scrape": '{"url": "https://example.com/"}',
    "/v1/batch": '{"urls": ["https://example.com/"]}',
}


class Detail(BaseModel):
    """One thing that is wrong with a body or a parameter."""

    detail: str
    pointer: str = Field(description="Where in the request, as a JSON pointer.", examples=["#/body/name"])


class Problem(BaseModel):
    """Body of every error (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "urn:gossamer:problem:job.not_found",
                "title": "Not Found",
                "status": 404,
                "detail": "There is no job 0192f3a1-7b2c-7d4e-8f5a-6b7c8d9e0f1a.",
                "code": "job.not_found",
                "hint": "See GET /v1/jobs for the ones there are.",
                "request_id": "5d1c0b7c9f8e4f0d8f5b7a0e4c3d2b1a",
            }
        }
    )

    type: str
    title: str
    status: int
    detail: str
    code: str = Field(description="Stable code for programs.")
    hint: str = Field("", description="The next step.")
    command_hint: str | None = Field(None, description="The next step on the command line, if it differs.")
    request_id: str = Field("", description="Id of the request in the server's log; quote it when you ask for help.")
    errors: list[Detail] | None = None


class Limited(GossamerError):
    """A rate limit was exceeded: an error with the headers that say when to retry."""

    def __init__(self, error: UserError, headers: Mapping[str, str]) -> None:
        super().__init__(str(error))
        self.error = error
        self.headers = headers


def problem(
    request_id: str,
    status: int,
    code: str,
    detail: str,
    *,
    hint: str = "",
    command_hint: str = "",
    headers: Mapping[str, str] | None = None,
    errors: list[dict[str, str]] | None = None,
) -> Response:
    body: dict[str, Any] = {
        "type": f"urn:gossamer:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "hint": hint,
        "request_id": request_id,
    }
    if command_hint and command_hint != hint:
        body["command_hint"] = command_hint
    if errors:
        body["errors"] = errors
    more = {"WWW-Authenticate": 'Bearer realm="gossamer"'} if status == 401 else {}
    return JsonAnswer(body, status, {**more, **(headers or {})}, media_type=MEDIA)


def of_user_error(request_id: str, error: UserError, headers: Mapping[str, str] | None = None) -> Response:
    status = status_of(error.code)
    if status in (429, 503) and not (headers or {}).get("Retry-After"):
        headers = {**(headers or {}), "Retry-After": str(AWAY)}
    return problem(
        request_id,
        status,
        error.code,
        as_field(error.message) if error.code == "job.params" else error.message,
        hint=over_http(error),
        command_hint=error.hint,
        headers=headers,
    )


def request_id(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))


def answer_to(request: Request, error: Exception) -> Response | None:
    """Return the response to an expected error; None if the error is unexpected."""
    match error:
        case GossamerError():
            return _ours(request_id(request), error)
        case RequestValidationError():
            return _invalid(request, error)
        case HTTPException():
            return _http(request, error)
    return None


def _ours(identifier: str, error: GossamerError) -> Response:
    match error:
        case Limited():
            return of_user_error(identifier, error.error, error.headers)
        case UserError():
            return of_user_error(identifier, error)
        case NotTheirs():
            hint = "See GET /v1/jobs for the ones there are."
            return problem(identifier, 404, "job.not_found", str(error), hint=hint)
        case StorageAway():
            log.warning("database.away", why=str(error))
            detail = "The database does not answer just now. Nothing that was accepted is lost."
            again = {"Retry-After": str(AWAY)}
            return problem(identifier, 503, "database.away", detail, hint="Try again.", headers=again)
    return problem(identifier, 500, "failed", str(error))


def install(api: FastAPI) -> None:
    """Register the handler for all errors."""

    async def answer(request: Request, error: Exception) -> Response:
        detail = "Something went wrong on the server. It was written to the server's log."
        return answer_to(request, error) or problem(
            request_id(request), 500, "internal", detail, hint="Report it with the request id."
        )

    for kind in (GossamerError, RequestValidationError, HTTPException, Exception):
        api.add_exception_handler(kind, answer)


def _invalid(request: Request, error: RequestValidationError) -> Response:
    found = [
        {
            "detail": sentence_of(one),
            "pointer": "#/" + "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in one["loc"]),
        }
        for one in error.errors()[:20]
    ]
    first = found[0] if found else {"detail": "it cannot be read", "pointer": "#"}
    detail = _no_json(error) or f"{first['pointer']}: {first['detail']}"
    hint = _what_to_send(request, error)
    return problem(request_id(request), 400, "request.invalid", detail, hint=hint, errors=found)


def _what_to_send(request: Request, error: RequestValidationError) -> str:
    for one in error.errors():
        if one["loc"] == ("body",) and "json" not in request.headers.get("content-type", ""):
            return "Send the body as JSON, with the header Content-Type: application/json."
        if one["type"] == "uuid_parsing" and one["loc"][0] == "path":
            return (
                "Give the whole id, of 36 characters, as lists and answers have it: the short one is not enough here."
            )
    return "See /docs for what is expected."


def _no_json(error: RequestValidationError) -> str:
    """Return the reason why a body could not be parsed as JSON; empty if it could be."""
    for one in error.errors():
        if one["type"] == "json_invalid":
            why = str(one.get("ctx", {}).get("error", "it cannot be read")).rstrip(".")
            return f"The body is not JSON: {why}, at character {one['loc'][-1]}."
    return ""


def _http(request: Request, error: HTTPException) -> Response:
    identifier, path = request_id(request), request.url.path
    headers = dict(error.headers or {})
    if error.status_code == 404:
        return problem(identifier, 404, "not_found", f"There is nothing at {path}.", hint="See /docs.", headers=headers)
    if error.status_code == 405:
        detail = f"{request.method} is not possible at {path}."
        hint = _other_method(path)
        return problem(identifier, 405, "method", detail, hint=hint, headers=headers)
    return problem(identifier, error.status_code, "request.invalid", str(error.detail), headers=headers)


def _other_method(path: str) -> str:
    """Return a hint for a 405, with an example body for the endpoints that people try first."""
    return f"Use POST with a JSON body: {_BODIES[path]}." if path in _BODIES else "See /docs."


def over_http(error: UserError) -> str:
    """Return the error's hint, or its HTTP variant if the hint is a command."""
    if "gossamer " not in error.hint and "--" not in error.hint:
        return error.hint
    option = _OPTION.search(error.hint)
    limit = option[1].replace("-", "_") if option else "max_credits"
    return _HINTS.get(error.code, "").replace("LIMIT", limit) or as_field(error.hint)


def as_field(sentence: str) -> str:
    """Replace command-line options such as `--max-pages` by the names of the request's fields."""
    return _OPTION.sub(lambda option: f"`{option[1].replace('-', '_')}`", sentence)
