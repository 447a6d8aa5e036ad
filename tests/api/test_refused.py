"""What is refused, one of each kind: the right status, and a sentence that a person understands."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import httpx
import pytest

from gossamer.accounts.service import issue_key, open_account
from gossamer.accounts.tokens import Signer
from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.model.account import Right
from gossamer.store import accounts
from tests.api.conftest import Server, new_job

pytestmark = pytest.mark.xdist_group("api")  # they share a server

PAGE = "https://example.com/"


@dataclass(frozen=True, slots=True)
class Refused:
    """A request by somebody, and what they are told."""

    status: int
    code: str
    detail: str
    hint: str
    path: str = "/v1/scrape"
    body: Any = field(default_factory=lambda: {"url": PAGE, "timeout": 0})
    who: str = "default"
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


WHOM_TO_ASK = "Check that you copied the whole key. Ask whoever runs this server for one: "
SEE_DOCS = "See /docs for what is expected."
TABLE = {
    "no JSON": Refused(
        400,
        "request.invalid",
        "The body is not JSON: Expecting property name enclosed in double quotes, at character 1.",
        SEE_DOCS,
        content=b"{url: https://example.com}",
    ),
    "no url": Refused(400, "request.invalid", "#/body/url: it is missing", SEE_DOCS, body={}),
    "a field nobody knows": Refused(
        400,
        "request.invalid",
        "#/body/colour: unknown field `colour`",
        SEE_DOCS,
        body={"url": PAGE, "colour": "red"},
    ),
    "a field that is nearly one": Refused(
        400,
        "request.invalid",
        "#/body/format: unknown field `format`; did you mean `formats`?",
        SEE_DOCS,
        body={"url": PAGE, "format": ["text"]},
    ),
    "a parameter that is nearly one": Refused(
        400,
        "request.invalid",
        "#/body/params/keyword: unknown field `keyword`; did you mean `keywords`?",
        SEE_DOCS,
        path="/v1/jobs",
        body={"recipe": "prospect", "name": "n", "domains": ["a.test"], "params": {"keyword": ["x"]}},
    ),
    "no address": Refused(
        400,
        "urls.bad",
        '"not an address" is not a web address: it has a space in it.',
        "Give something like https://example.com/page.",
        body={"url": "not an address"},
    ),
    "no address of the web": Refused(
        400,
        "urls.bad",
        '"ftp://example.com/" is not a web address: it begins with ftp:// instead of http:// or https://.',
        "Give something like https://example.com/page.",
        body={"url": "ftp://example.com/"},
    ),
    "a bad one in a batch": Refused(
        400,
        "urls.bad",
        '"http://" is not a web address: it has no name in it.',
        "Give something like https://example.com/page.",
        path="/v1/batch",
        body={"urls": [PAGE, "http://"]},
    ),
    "a bad rule": Refused(
        400, "job.params", '`extract`: the rule "price"', "", body={"url": PAGE, "extract": {"price": "p["}}
    ),
    "a bad rule, XPath": Refused(
        400, "job.params", "price", "", body={"url": PAGE, "extract": {"price": {"xpath": "//p["}}}
    ),
    "a format nobody knows": Refused(400, "scrape.format", "poem", "", body={"url": PAGE, "formats": ["poem"]}),
    "no key": Refused(401, "auth.missing", "This needs an API key.", "Send it as 'Authorization: Bearer KEY'.", who=""),
    "a bad key": Refused(
        401,
        "auth.wrong",
        "This API key is wrong: it is not known here, or it was revoked.",
        WHOM_TO_ASK,
        who="",
        headers={"X-API-Key": "gsk_nobody"},
    ),
    "no key at all": Refused(
        401,
        "auth.wrong",
        "This does not look like an API key: keys start with gsk_.",
        WHOM_TO_ASK,
        who="",
        headers={"X-API-Key": "secret"},
    ),
    "an expired token": Refused(
        401,
        "auth.login",
        "This login is over, or was never one.",
        "Get a new token from POST /v1/auth/refresh, or log in again.",
        who="expired",
    ),
    "a key that may only read": Refused(
        403, "auth.forbidden", "This key may read, and this takes one that may submit.", "Use another key", who="reader"
    ),
    "spent credits": Refused(
        402,
        "account.credits",
        "This takes 1 credit, and 0 of 0 are left in this month.",
        "Ask for less, wait for the next month, or have the account's credits raised.",
        who="poor",
    ),
    "spent credits, before what is wrong": Refused(
        402,
        "account.credits",
        "0 of 0 are left",
        "Ask for less",
        body={"url": "not an address"},
        who="poor",
    ),
    "spent credits, before a bad rule": Refused(
        402,
        "account.credits",
        "0 of 0 are left",
        "Ask for less",
        body={"url": PAGE, "extract": {"p": "p["}},
        who="poor",
    ),
    "a full queue, before what is wrong": Refused(
        429, "account.queue", "there is no room for another", "Wait until", body={"url": "ftp://x/"}, who="busy"
    ),
    "too few credits for all of them": Refused(
        402,
        "account.credits",
        "This takes 3 credits, and 2 of 2 are left in this month.",
        "Ask for less",
        path="/v1/batch",
        body={"urls": [f"{PAGE}{number}" for number in range(3)]},
        who="thrifty",
    ),
    "a full queue": Refused(
        429,
        "account.queue",
        "This account has 1 job at work and 0 jobs waiting: there is no room for another.",
        "Wait until one of them has ended, or cancel one.",
        who="busy",
    ),
}


@pytest.fixture(scope="module")
def keys(api: Server) -> dict[str, str]:
    """Of somebody without credits, somebody with few, somebody whose room is taken, and a token of an hour ago."""
    limits: dict[str, dict[str, Any]] = {
        "poor": {"credits": 0},
        "thrifty": {"credits": 2},
        "busy": {"running_jobs": 1, "queued_jobs": 0},
    }

    async def make() -> dict[str, str]:
        database = open_database(f"sqlite:///{api.home}/gossamer.db", SystemClock())
        try:
            made = {}
            for name, values in limits.items():
                await open_account(database, name, name)
                await database.write(accounts.change, name, values)
                made[name] = (await issue_key(database, name, "k", Right.SUBMIT))[0].text
            return made
        finally:
            await database.close()

    made = asyncio.run(make())
    secret = (api.home / "secret").read_bytes()
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    made["expired"] = Signer(sha256(b"gossamer login " + secret).digest()).access(uuid4(), hour_ago)
    made |= {"default": api.keys["default"]["submit"], "reader": api.keys["default"]["read"]}
    with httpx.Client(base_url=api.url, headers={"X-API-Key": made["busy"]}) as client:
        assert client.post("/v1/jobs", json=new_job()).status_code == 201
    return made


@pytest.mark.parametrize("what", TABLE)
def test_it_says_what_is_wrong_and_what_to_do(api: Server, keys: dict[str, str], what: str) -> None:
    refused = TABLE[what]
    headers = {**({"Authorization": f"Bearer {keys[refused.who]}"} if refused.who else {}), **refused.headers}
    with httpx.Client(base_url=api.url, headers=headers, timeout=60) as client:
        sent: dict[str, Any] = {"json": refused.body}
        if refused.content is not None:
            sent = {"content": refused.content, "headers": {"Content-Type": "application/json"}}
        answer = client.post(refused.path, **sent)
    problem = answer.json()
    assert (answer.status_code, problem["status"], problem["code"]) == (refused.status, refused.status, refused.code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert refused.detail in problem["detail"]
    assert problem["hint"].startswith(refused.hint)
    assert problem["hint"], "nobody knows what to do next"
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert ("retry-after" in answer.headers) == (refused.status == 429)
    for word in ("Traceback", "Error", "None", "gossamer.", "pydantic", "sqlalchemy"):
        assert word not in problem["detail"], problem["detail"]
