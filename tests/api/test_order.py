"""Every route refuses in the same order, whatever else is wrong with a request."""

import asyncio
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from gossamer.accounts.service import issue_key, open_account
from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.model.account import Right
from gossamer.store import accounts
from tests.api.conftest import Server, server
from tests.api.described import operations

pytestmark = pytest.mark.xdist_group("api-order")

FAILED_KEYS = 5
JSON = {"Content-Type": "application/json"}
# Four kinds of request that will be refused for what they are, if for nothing else.
WRONG: Mapping[str, dict[str, Any]] = {
    "broken JSON": {"content": b'{"url": ', "headers": JSON},
    "wrong fields": {"json": {"nobody": "knows", "urls": 7, "url": 7}},
    "no body": {},
    "zero characters": {"params": {"limit": "\0"}},
    "too large": {"content": b'{"url": "' + b"x" * 3_000 + b'"}', "headers": JSON},
}
KEYLESS = {"/v1/auth/login", "/v1/auth/refresh", "/v1/files/{key}", "/api/health", "/api/ready"}
READ_IS_ENOUGH = {"/v1/estimate", "/v1/questions", "/v1/auth/logout"}
ADMIN_ONLY = {"/v1/keys", "/v1/keys/{key_id}", "/v1/webhooks/{webhook_id}/rotate"}
COSTS = {
    *("POST /v1/jobs", "POST /v1/jobs/{job_id}/resume", "POST /v1/jobs/{job_id}/retry-failed"),
    "POST /v1/jobs/{job_id}/rerun",
    *("POST /v1/scrape", "POST /v1/batch", "POST /api/jobs", "GET /api/v1/"),
    *("POST /scrapersky", "POST /scrapersky/batch", "POST /scrapersky/batch/{batch_id}/retry-failed"),
    *("POST /firecrawl/v2/scrape", "POST /firecrawl/v2/batch/scrape", "POST /firecrawl/v2/crawl"),
    "POST /firecrawl/v2/map",
}
ROUTES = sorted({(one.verb, one.path) for one in operations() if one.path not in KEYLESS})
_TAKES_BODY = {(one.verb, one.path) for one in operations() if one.said.get("requestBody", {}).get("required")}


def _right(verb: str, path: str) -> Right:
    if path in ADMIN_ONLY:
        return Right.ADMIN
    is_read = (verb == "GET" and path != "/api/v1/") or path in READ_IS_ENOUGH
    return Right.READ if is_read else Right.SUBMIT


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {
        "GOSSAMER_API_KEY_RATE": "0",
        "GOSSAMER_API_IP_RATE": "0",
        "GOSSAMER_API_FAILED_KEYS": str(FAILED_KEYS),
        "GOSSAMER_API_TRUSTED_PROXIES": "127.0.0.0/8",
        "GOSSAMER_API_MAX_BODY": "2KB",
    }
    with server(tmp_path_factory.mktemp("order"), "--api-only", settings=settings) as one:
        yield one


@pytest.fixture(scope="module")
def poor(small: Server) -> str:
    """The key of somebody who has used up everything."""

    async def make() -> str:
        database = open_database(f"sqlite:///{small.home}/gossamer.db", SystemClock())
        try:
            await open_account(database, "poor", "Poor")
            await database.write(accounts.change, "poor", {"credits": 0})
            return (await issue_key(database, "poor", "k", Right.ADMIN))[0].text
        finally:
            await database.close()

    return asyncio.run(make())


def _ask(one: Server, verb: str, path: str, key: str, what: str, ip: str = "") -> httpx.Response:
    parameters = ("job_id", "batch_id", "key_id", "webhook_id", "delivery_id", "export_id")
    where = path.format(**dict.fromkeys(parameters, str(uuid4())))
    sent = WRONG[what]
    # Each with an address of its own: failed keys of one are not counted for another.
    ip = ip or f"10.{uuid4().int % 250}.{uuid4().int % 250}.{uuid4().int % 250}"
    headers = {"X-Forwarded-For": ip, **({"X-API-Key": key} if key else {}), **sent.get("headers", {})}
    return _client(one.url).request(verb, where, **{**sent, "headers": headers})


@cache
def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=60)


@pytest.fixture(scope="module", autouse=True)
def closed(small: Server) -> Iterator[None]:
    yield
    _client(small.url).close()
    _client.cache_clear()


def test_the_table_names_every_route() -> None:
    assert len(ROUTES) > 45
    assert {f"{verb} {path}" for verb, path in ROUTES} >= COSTS


@pytest.mark.parametrize("what", WRONG)
def test_a_key_is_looked_at_before_anything_else(small: Server, what: str) -> None:
    seen = {
        f"{verb} {path} {who}": _ask(small, verb, path, key, what).status_code
        for verb, path in ROUTES
        for who, key in (("nobody", ""), ("wrong", "gsk_nobody"), ("no key at all", "hello"))
    }
    assert {place: status for place, status in seen.items() if status != 401} == {}


@pytest.mark.parametrize("what", WRONG)
def test_rights_come_before_what_is_wrong(small: Server, what: str) -> None:
    wrong = []
    for verb, path in ROUTES:
        needed = _right(verb, path)
        for less in [right for right in Right if not right.includes(needed)]:
            answer = _ask(small, verb, path, small.keys["default"][less], what)
            if answer.status_code != 403:
                wrong.append(f"{verb} {path} by {less}: {answer.status_code} {answer.text}")
    assert wrong == []


@pytest.mark.parametrize("what", WRONG)
def test_what_costs_is_refused_to_whoever_has_nothing_left(small: Server, poor: str, what: str) -> None:
    seen = {f"{verb} {path}": _ask(small, verb, path, poor, what).status_code for verb, path in ROUTES}
    assert {place for place, status in seen.items() if status == 402} == COSTS


@pytest.mark.parametrize("what", WRONG)
def test_then_it_is_said_what_is_wrong(small: Server, what: str) -> None:
    """And only then whether what it names is there: nothing named here is."""
    wrong = []
    for verb, path in sorted(_TAKES_BODY & set(ROUTES)):
        answer = _ask(small, verb, path, small.keys["default"]["admin"], what)
        expected = 413 if what == "too large" else 400
        if answer.status_code != expected:
            wrong.append(f"{verb} {path}: {answer.status_code} {answer.text}")
    assert wrong == []


def test_an_address_with_too_many_wrong_keys_is_told_so_first(small: Server) -> None:
    ip = "10.250.0.1"
    known, fresh = small.keys["default"]["admin"], small.keys["other"]["read"]
    assert _ask(small, "GET", "/v1/account", known, "no body", ip).status_code == 200
    for _ in range(FAILED_KEYS):
        assert _ask(small, "GET", "/v1/account", f"gsk_{uuid4().hex}", "no body", ip).status_code == 401
    for verb, path in ROUTES:
        for what in WRONG:
            answer = _ask(small, verb, path, "gsk_nobody", what, ip)
            assert answer.status_code == 429, f"{verb} {path} {what}: {answer.text}"
            assert int(answer.headers["retry-after"]) > 0
    for key in ("gsk_nobody", ""):
        refused = _ask(small, "GET", "/v1/account", key, "no body", ip)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate.failed_keys"), key
    # It is not even looked up, unless it was right within the last hour.
    assert _ask(small, "GET", "/v1/account", fresh, "no body", ip).status_code == 429
    assert _ask(small, "GET", "/v1/account", known, "no body", ip).status_code == 200
    assert _ask(small, "GET", "/v1/account", fresh, "no body", "10.250.0.2").status_code == 200


def test_right_keys_are_not_counted_as_wrong_ones(small: Server) -> None:
    for right in Right:
        for account in small.keys:
            answer = _ask(small, "GET", "/v1/account", small.keys[account][right], "no body", "10.250.0.3")
            assert answer.status_code == 200, answer.text


def test_a_key_that_asks_too_often_is_told_so_before_what_is_wrong(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = {"GOSSAMER_API_KEY_RATE": "1", "GOSSAMER_API_IP_RATE": "0", "GOSSAMER_API_MAX_BODY": "2KB"}
    with server(tmp_path / "home", "--api-only", settings=settings) as one:
        key = one.keys["default"]["admin"]
        request.addfinalizer(_client(one.url).close)
        assert _ask(one, "GET", "/v1/account", key, "no body").status_code == 200
        for verb, path in ROUTES:
            for what in WRONG:
                answer = _ask(one, verb, path, key, what)
                assert answer.status_code == 429, f"{verb} {path} {what}: {answer.text}"


def test_a_parameter_of_a_path_has_up_to_200_characters(small: Server) -> None:
    long = "x" * 201
    with small.client() as owner, small.stranger() as stranger:
        for path in (f"/v1/jobs/{long}", f"/v1/keys/{long}", f"/scrapersky/status/{long}", f"/v1/jobs/{long}/live"):
            verb = "DELETE" if "keys" in path else "GET"
            refused = owner.request(verb, path)
            assert (refused.status_code, refused.json()["code"]) == (400, "request.invalid")
            assert "more than 200 characters" in refused.json()["detail"]
            assert stranger.request(verb, path).status_code == 401


@pytest.mark.parametrize("job", ["nothing", "00000000-0000-7000-8000-000000000000"])
def test_a_socket_is_refused_in_the_same_order(small: Server, job: str) -> None:
    address = f"{small.url.replace('http', 'ws')}/v1/jobs/{job}/live"
    keys = {"": 401, "gsk_nobody": 401, small.keys["default"]["read"]: 404}
    for key, status in keys.items():
        with pytest.raises(InvalidStatus) as refused:
            connect(address, additional_headers={"X-API-Key": key, "X-Forwarded-For": "10.250.0.4"} if key else {})
        assert refused.value.response.status_code == status
