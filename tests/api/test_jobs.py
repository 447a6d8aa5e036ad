"""Jobs through the server, from the first key to the last row."""

import asyncio
import time
from base64 import urlsafe_b64encode
from hashlib import blake2b
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from gossamer.accounts.service import issue_key, open_account
from gossamer.cli.there import RemoteHome
from gossamer.client import AsyncClient
from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.intake.ladders import choose_ladder
from gossamer.model.account import Right
from gossamer.model.alert import AlertKind
from gossamer.model.job import JobRequest, Target
from gossamer.store import accounts
from gossamer.store.jobs import pause_automatically
from tests.api.conftest import Server, new_job

pytestmark = pytest.mark.xdist_group("api")  # they share a server


def submit(client: httpx.Client, **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/jobs", json=new_job(**more))
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_a_job_is_renamed_and_run_again(api: Server) -> None:
    with api.client(right="submit") as client, api.client(right="read") as reader:
        job = submit(client, name="Acme Q1", domains=["b.test", "www.c.test"], max_concurrency=3, start=False)
        path = f"/v1/jobs/{job['id']}"
        assert client.patch(path, json={"name": "Acme  Q2"}).json()["name"] == "Acme Q2"
        assert reader.get(path).json()["name"] == "Acme Q2"
        assert reader.patch(path, json={"name": "Mine"}).status_code == 403
        assert client.patch(path, json={"name": " "}).json()["code"] == "job.name"
        assert client.patch(f"/v1/jobs/{uuid4()}", json={"name": "x"}).status_code == 404
        once = {"Idempotency-Key": uuid4().hex}
        made = client.post(f"{path}/rerun", json={"start": False}, headers=once)
        assert (made.status_code, made.json()["name"]) == (201, "Acme Q2 (2)")
        again = client.post(f"{path}/rerun", json={"start": False}, headers=once)
        assert (again.json()["id"], again.headers["idempotent-replayed"]) == (made.json()["id"], "true")
        former, now = (reader.get(one).json() for one in (path, made.headers["location"]))
        for name in ("params", "limits", "max_concurrency", "priority"):
            assert now[name] == former[name]
        assert now["progress"]["sites"]["total"] == 2
        assert reader.post(f"{path}/rerun").status_code == 403
        client.post(f"{path}/cancel")
        client.delete(path)
        # Of a job of domains its list is kept, of one of pages nothing is.
        assert client.post(f"{path}/rerun", json={"start": False}).status_code == 201
        batch = client.post("/v1/batch", json={"urls": ["https://b.test/1"]}).json()["id"]
        client.post(f"/v1/jobs/{batch}/cancel")
        client.delete(f"/v1/jobs/{batch}")
        gone = client.post(f"/v1/jobs/{batch}/rerun")
        assert (gone.status_code, gone.json()["code"]) == (409, "job.no_list")


def test_a_job_is_submitted_listed_steered_and_deleted(api: Server) -> None:
    with api.client(right="submit") as client:
        job = submit(client, name="Acme Q1", domains=["b.test", "www.b.test", "https://c.test/x"])
        path = f"/v1/jobs/{job['id']}"
        assert job["links"]["self"] == path
        status = client.get(path).json()
        assert (status["state"], status["progress"]["sites"]["total"]) == ("running", 2)
        assert status["params"]["keywords"] == ["CRM"]
        assert job["id"] in [one["id"] for one in client.get("/v1/jobs").json()["items"]]
        assert client.post(f"{path}/pause").json()["state"] == "pausing"
        assert client.post(f"{path}/resume").json()["state"] == "running"
        refused = client.delete(path)
        assert (refused.status_code, refused.json()["code"]) == (409, "job.state")
        assert client.post(f"{path}/cancel").json()["state"] == "cancelled"
        assert client.get(f"{path}/results").json() == {
            "items": [],
            "has_more": False,
            "next_cursor": None,
            "complete": True,
        }
        assert client.get(f"{path}/errors").json()["items"] == []
        assert client.delete(path).json()["state"] == "archived"
        assert client.get(f"{path}/results").status_code == 410
        assert job["id"] not in [one["id"] for one in client.get("/v1/jobs").json()["items"]]


def test_a_job_shows_how_it_was_asked_to_be_run(api: Server) -> None:
    limits = {"max_credits": 70, "max_usd": 1.5, "max_mb": 20, "max_residential_mb": 5}
    with api.client(right="submit") as client:
        job = submit(client, priority="high", max_concurrency=3, limits=limits)
        shown = client.get(f"/v1/jobs/{job['id']}").json()
        assert (shown["priority"], shown["max_concurrency"], shown["limits"]) == ("high", 3, limits)
        usual = client.get(f"/v1/jobs/{submit(client)['id']}").json()
    assert (usual["priority"], usual["max_concurrency"]) == ("normal", None)
    assert usual["limits"] == {"max_credits": 10_000, "max_usd": None, "max_mb": None, "max_residential_mb": None}


def test_the_list_is_paged_and_filtered(api: Server) -> None:
    with api.client(right="submit") as client:
        made = [submit(client, name=f"paged {number}")["id"] for number in range(3)]
        seen: list[str] = []
        cursor: str | None = None
        for _ in range(50):
            params = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
            page = client.get("/v1/jobs", params=params).json()
            seen += [one["id"] for one in page["items"]]
            cursor = page["next_cursor"]
            assert page["has_more"] == (cursor is not None)
            if cursor is None:
                break
        assert len(seen) == len(set(seen))
        assert [one for one in seen if one in made] == made[::-1]
        waiting = submit(client, start=False)["id"]
        pending = client.get("/v1/jobs", params={"state": "pending"}).json()["items"]
        assert waiting in [one["id"] for one in pending]
        assert client.post(f"/v1/jobs/{waiting}/resume").json()["state"] == "running"


@pytest.mark.parametrize("cursor", ["!!", "zz", "zzz", "00", "0011", "-1", "xx", "A" * 22])
def test_a_cursor_that_a_list_has_not_given_is_refused_by_all_of_them(api: Server, cursor: str) -> None:
    with api.client(right="submit") as client:
        job = f"/v1/jobs/{submit(client)['id']}"
        lists = (
            "/v1/jobs",
            "/v1/usage?by=request",
            f"{job}/results",
            f"{job}/errors",
            f"{job}/errors?of=pages",
            f"{job}/urls",
            f"{job}/exports",
            "/v1/webhooks",
        )
        for path in lists:
            answer = client.get(path, params={**dict(httpx.URL(path).params), "cursor": cursor})
            assert (answer.status_code, answer.json()["code"]) == (400, "request.cursor"), path


def test_a_cursor_that_somebody_has_computed_is_refused(api: Server) -> None:
    """The way it is made is no secret, what it is made with is."""
    with api.client() as client:
        job = client.post("/v1/jobs", json=new_job()).json()["id"]
        hook = client.post("/v1/webhooks", json={"url": "http://93.184.216.34/hooks"}).json()["id"]
        lists = {
            "jobs": "/v1/jobs",
            "usage": "/v1/usage?by=request",
            "urls": f"/v1/jobs/{job}/urls",
            "results": f"/v1/jobs/{job}/results",
            "sites": f"/v1/jobs/{job}/errors?of=sites",
            "deliveries": f"/v1/webhooks/{hook}/deliveries",
        }
        for of, path in lists.items():
            for at in (b"x", b"0123456789abcdef", bytes(16), b"\xff" * 40):
                mark = blake2b(at, digest_size=6, person=of.encode()).digest()
                forged = urlsafe_b64encode(at + mark).decode().rstrip("=")
                answer = client.get(path, params={**dict(httpx.URL(path).params), "cursor": forged})
                assert (answer.status_code, answer.json()["code"]) == (400, "request.cursor"), f"{path} {at!r}"
        for skip in ("00", "ab" * 16, "ff" * 40):
            answer = client.get(f"/firecrawl/v2/crawl/{job}", params={"skip": skip})
            assert (answer.status_code, answer.json()["code"]) == (400, "request.cursor"), skip


def test_a_cursor_is_of_one_account(api: Server) -> None:
    with api.client() as owner, api.client("other") as other:
        for client in (owner, other):
            for _ in range(2):
                client.post("/v1/jobs", json=new_job(start=False))
        cursor = owner.get("/v1/jobs", params={"limit": 1}).json()["next_cursor"]
        assert owner.get("/v1/jobs", params={"cursor": cursor}).status_code == 200
        assert other.get("/v1/jobs", params={"cursor": cursor}).json()["code"] == "request.cursor"


def test_a_cursor_of_another_list_is_refused(api: Server) -> None:
    with api.client(right="submit") as client:
        submit(client)
        job = submit(client)["id"]
        page = client.get("/v1/jobs", params={"limit": 1}).json()
        assert page["has_more"]
        for path in ("/v1/usage?by=request", f"/v1/jobs/{job}/results"):
            params = {**dict(httpx.URL(path).params), "cursor": page["next_cursor"]}
            assert client.get(path, params=params).json()["code"] == "request.cursor"


def test_the_same_request_under_one_key_is_one_job_with_one_answer(api: Server) -> None:
    with api.client(right="submit", **{"Idempotency-Key": "nightly-1"}) as client:
        first = client.post("/v1/jobs", json=new_job(name="once"))
        client.post(f"/v1/jobs/{first.json()['id']}/cancel")
        again = client.post("/v1/jobs", json=new_job(name="once"))
        assert (again.status_code, again.json()) == (first.status_code, first.json())
        for change in ({"name": "something else"}, {"start": False}, {"priority": "high"}, {"limits": {"max_mb": 5}}):
            other = client.post("/v1/jobs", json=new_job(**{"name": "once", **change}))
            assert (other.status_code, other.json()["code"]) == (409, "job.key_taken"), change


def test_the_same_batch_under_one_key_is_one_job_and_another_is_refused(api: Server) -> None:
    with api.client(right="submit", **{"Idempotency-Key": "batch-1"}) as client:
        body = {"urls": ["http://a.test/1", "http://a.test/2"], "formats": ["text"]}
        first, again = (client.post("/v1/batch", json=body) for _ in range(2))
        assert (again.status_code, again.json()) == (202, first.json())
        for change in ({"formats": ["markdown"]}, {"limits": {"max_credits": 5}}, {"urls": ["http://a.test/1"]}):
            other = client.post("/v1/batch", json={**body, **change})
            assert (other.status_code, other.json()["code"]) == (409, "job.key_taken"), change


def test_a_job_at_its_limit_goes_on_with_a_higher_one_only(api: Server) -> None:
    with api.client(right="submit") as client:
        job = submit(client, mode="hybrid", limits={"max_credits": 5})["id"]
        asyncio.run(_pause_at_limit(api, UUID(job)))
        for again in ({}, {"max_credits": 5}):
            refused = client.post(f"/v1/jobs/{job}/resume", json=again)
            assert (refused.status_code, refused.json()["code"]) == (409, "budget.spent")
            assert "its limit is 5 credits" in refused.json()["detail"]
            assert "resume with a higher limit" in refused.json()["hint"]
            assert client.get(f"/v1/jobs/{job}").json()["state"] == "pausing"
        went_on = client.post(f"/v1/jobs/{job}/resume", json={"max_credits": 50})
        assert (went_on.status_code, went_on.json()["state"]) == (202, "running")


def test_the_limit_that_is_spent_is_the_one_to_raise(api: Server) -> None:
    with api.client(right="submit") as client:
        job = submit(client, limits={"max_mb": 0})["id"]
        asyncio.run(_pause_at_limit(api, UUID(job)))
        refused = client.post(f"/v1/jobs/{job}/resume").json()
    assert refused["code"] == "budget.spent"
    assert '{"max_mb": 5000}' in refused["hint"]


async def _pause_at_limit(api: Server, job_id: UUID) -> None:
    """As whoever reserves does, when nothing more fits."""
    database = open_database(f"sqlite:///{api.home}/gossamer.db", SystemClock())
    assert await database.write(pause_automatically, job_id, AlertKind.BUDGET, "Budget limit reached.")
    await database.close()


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (new_job(recipe="cook"), "recipe.unknown", "There is no recipe 'cook' here."),
        (new_job(domains=["not a domain"]), "job.domain", "#/body/domains/0"),
        (new_job(domains=[]), "job.no_targets", "no site to visit"),
        (new_job(params={"keywords": []}), "request.invalid", "#/body/params/keywords"),
        (new_job(params={"keywords": ["x"], "colour": 1}), "request.invalid", "#/body/params/colour"),
        (new_job(name=" "), "job.name", "1 to 200 characters"),
        (new_job(colour=1), "request.invalid", "#/body/colour"),
        (new_job(mode="turbo"), "job.mode", "There is no mode 'turbo'."),
        (new_job(limits={"max_usd": -1}), "request.invalid", "#/body/limits/max_usd"),
    ],
)
def test_a_bad_request_says_what_is_wrong_with_it(api: Server, body: dict[str, Any], code: str, said: str) -> None:
    with api.client(right="submit") as client:
        answer = client.post("/v1/jobs", json=body)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["code"], problem["status"]) == (code, 400)
    assert said in problem["detail"]
    assert problem["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"params": {"keywords": ["CRM"], "mode": "premium-only"}}, "job.mode_not_configured"),
        ({"mode": "premium-only"}, "job.mode_not_configured"),
        ({"params": {"keywords": ["CRM"], "ladder": ["direct", "firecrawl"]}}, "job.rung_not_configured"),
        ({"params": {"keywords": ["CRM"], "mode": "free-only"}, "mode": "hybrid"}, "job.mode"),
    ],
)
def test_a_mode_among_the_parameters_is_checked_as_any_other(working: Server, more: dict[str, Any], code: str) -> None:
    with working.client(right="submit") as client:
        answer = client.post("/v1/jobs", json=new_job(**more))
    assert (answer.status_code, answer.json()["code"]) == (400, code)


def test_a_mode_among_the_parameters_is_the_ladder_it_names(api: Server) -> None:
    with api.client(right="submit") as client:
        first = submit(client, start=False, params={"keywords": ["CRM"], "mode": "hybrid"})["id"]
        params = client.get(f"/v1/jobs/{first}").json()["params"]
        assert params["ladder"] == ["direct", "scrapingbee-standard", "scrapingbee-js"]
        again = submit(client, start=False, params=params, mode="hybrid")["id"]
        assert client.get(f"/v1/jobs/{again}").json()["params"] == params


@pytest.mark.parametrize("mode", ["free-only", "hybrid", "premium-only"])
async def test_the_command_line_elsewhere_gets_the_mode_it_was_told(api: Server, mode: str) -> None:
    here = ("direct", "scrapingbee-standard", "scrapingbee-js")
    params = {"keywords": ["CRM"], **choose_ladder(mode, None, here)}
    wanted = JobRequest("Elsewhere", "prospect", params, (Target("a.test", (), "a.test"),), start=False)
    async with AsyncClient(api.url, api.keys["default"]["submit"]) as client:
        made = await RemoteHome(client).submit(wanted)
    assert made.job.params["mode"] == mode


def test_who_may_do_what(api: Server) -> None:
    with api.client(right="read") as reader, api.client(right="submit") as submitter, api.stranger() as nobody:
        assert reader.get("/v1/jobs").status_code == 200
        assert reader.post("/v1/jobs", json=new_job()).json()["code"] == "auth.forbidden"
        assert submitter.get("/v1/keys").status_code == 403
        missing = nobody.get("/v1/jobs")
        assert (missing.status_code, missing.json()["code"]) == (401, "auth.missing")
        assert missing.headers["www-authenticate"].startswith("Bearer")
        wrong = nobody.get("/v1/jobs", headers={"X-API-Key": "gsk_wrong"})
        assert (wrong.status_code, wrong.json()["code"]) == (401, "auth.wrong")
        assert nobody.get("/v1/jobs", headers={"Authorization": "Bearer x.y.z"}).json()["code"] == "auth.login"
        # Who asks comes before what is asked.
        assert nobody.post("/v1/jobs", content=b"not JSON").status_code == 401


def test_keys_are_shown_once_and_revoked_for_good(api: Server) -> None:
    with api.client() as admin:
        made = admin.post("/v1/keys", json={"name": "nightly", "scope": "read"})
        assert made.status_code == 201
        key = made.json()["key"]
        listed = admin.get("/v1/keys")
        assert key not in listed.text
        assert made.json()["id"] in [one["id"] for one in listed.json()["items"]]
        held = httpx.Client(base_url=api.url, headers={"X-API-Key": key})
        assert held.get("/v1/account").status_code == 200
        assert admin.delete(f"/v1/keys/{made.json()['id']}").json()["revoked_at"]
        assert held.get("/v1/account").status_code == 401
        held.close()
        assert admin.delete(f"/v1/keys/{uuid4()}").status_code == 404
    assert key.encode() not in (api.home / "gossamer.db").read_bytes()


def test_a_job_is_worked_its_rows_are_paged_and_its_files_fetched(working: Server) -> None:
    assert working.web is not None
    domains = working.web.domains.read_text().split()
    keywords = working.web.keywords.read_text().splitlines()
    with working.client(right="submit") as client:
        job = submit(client, domains=domains, params={"keywords": keywords, "max_pages_per_domain": 5, "top_pages": 3})
        path = f"/v1/jobs/{job['id']}"
        status = wait_for(client, path)
        assert status["state"] == "completed", status
        assert status["progress"]["pages"]["done"] > 0
        found: list[Any] = []
        cursor: str | None = ""
        while cursor is not None:
            page = client.get(f"{path}/results", params={"limit": 7, "cursor": cursor}).json()
            assert page["has_more"] == (page["next_cursor"] is not None)
            found += page["items"]
            cursor = page["next_cursor"]
        assert len(found) == status["progress"]["records"] > 7
        assert len({(one["url"], one["keyword"]) for one in found}) == len(found)
        failed = client.get(f"{path}/errors").json()["items"]
        assert len(failed) == status["progress"]["sites"]["failed"]
        assert all(one["reason"] and one["code"] for one in failed)
        assert all(one["url"] is None and one["domain"] in domains for one in failed)
        (made,) = client.post(f"{path}/exports", json={"format": "csv"}).json()["items"]
        for _ in range(200):
            export = client.get(f"{path}/exports/{made['id']}").json()
            if export["state"] == "done":
                break
            time.sleep(0.1)
        lines = client.get(export["url"]).text.splitlines()
        assert len(lines) == len(found) + 1
        for _ in range(200):  # the bill is made up a moment after the end
            used = client.get("/v1/usage", params={"by": "request"}).json()["items"]
            mine = next(one for one in used if one["job_id"] == job["id"])
            if not mine["open"]:
                break
            time.sleep(0.1)
        assert (mine["outcome"], mine["credits"], mine["open"]) == (
            "completed",
            status["progress"]["pages"]["done"],
            False,
        )
        table = client.get("/v1/usage", params={"format": "csv"})
        assert table.headers["content-type"].startswith("text/csv")
        assert table.text.startswith("day,requests,urls,")
        site = found[0]["domain"]
        would = client.delete("/v1/records", params={"domain": site, "dry_run": "true"}).json()
        assert not would["forgotten"]
        assert job["id"] in [one["job_id"] for one in would["jobs"]]
        assert client.delete("/v1/records", params={"domain": site}).json()["forgotten"]
        left = client.get(f"{path}/results", params={"limit": 1000}).json()["items"]
        assert left
        assert site not in {one["domain"] for one in left}


def wait_for(client: httpx.Client, path: str, longest: float = 120.0) -> dict[str, Any]:
    until = time.monotonic() + longest
    while True:
        status: dict[str, Any] = client.get(path).json()
        if status["state"] not in ("running", "pending") or time.monotonic() > until:
            return status
        time.sleep(0.2)


def test_what_a_job_would_cost_is_said_before_it_is_one(api: Server) -> None:
    with api.client(right="read") as client:
        free = client.get("/v1/estimate", params={"count": 500, "mode": "free-only"}).json()
        assert (free["low_credits"], free["high_credits"], free["sites"]) == (0, 0, 500)
        assert free["account_credits"] == {"at_least": 500, "at_most": 250_000, "left": None}
        some = client.get("/v1/estimate", params={"count": 500, "mode": "hybrid"}).json()
        more = client.get("/v1/estimate", params={"count": 5_000, "mode": "hybrid"}).json()
        assert 0 <= some["low_credits"] < some["high_credits"] < more["high_credits"]
        assert some["high_usd"] == some["high_credits"] / 100
        named = client.get("/v1/estimate", params={"domains": ["a.test", "b.test"], "mode": "premium-only"}).json()
        assert (named["sites"], named["met_before"], named["similar_jobs"]) == (2, 0, 0)
        pages = {"recipe": "scrape", "urls": ["http://a.test/1", "http://a.test/2"], "ladder": "direct,scrapingbee-js"}
        exact = client.get("/v1/estimate", params=pages).json()
        assert (exact["low_credits"], exact["high_credits"]) == (0, 10)
        assert exact["account_credits"] == {"at_least": 2, "at_most": 20, "left": None}
        before = client.get("/v1/jobs?limit=200").json()["items"]
        whole = client.post("/v1/estimate", json=new_job(mode="hybrid", limits={"max_credits": 7}))
        assert (whole.status_code, whole.json()["max_credits"]) == (200, 7)
        assert client.get("/v1/jobs?limit=200").json()["items"] == before
        nothing = client.get("/v1/estimate")
        assert (nothing.status_code, nothing.json()["code"]) == (400, "job.no_targets")


def test_a_job_that_waits_is_not_hurried_by_resuming_it(api: Server) -> None:
    async def make() -> str:
        database = open_database(f"sqlite:///{api.home}/gossamer.db", SystemClock())
        try:
            await open_account(database, "one-by-one", "One by one")
            await database.write(accounts.change, "one-by-one", {"running_jobs": 1, "queued_jobs": 1})
            return (await issue_key(database, "one-by-one", "k", Right.SUBMIT))[0].text
        finally:
            await database.close()

    with httpx.Client(base_url=api.url, headers={"X-API-Key": asyncio.run(make())}, timeout=60) as client:
        keyed: dict[str, Any] = {"headers": {"Idempotency-Key": "the-second"}, "json": new_job(name="second")}
        first, second = submit(client, name="first"), client.post("/v1/jobs", **keyed).json()
        assert [(one["state"], one["waiting"]) for one in (first, second)] == [("running", False), ("pending", True)]
        shown = client.get(f"/v1/jobs/{second['id']}").json()
        assert (shown["state"], shown["waiting"]) == ("pending", True)
        answer = client.post(f"/v1/jobs/{second['id']}/resume")
        assert (answer.status_code, answer.json()) == (202, {"id": second["id"], "state": "pending", "waiting": True})
        client.post(f"/v1/jobs/{first['id']}/cancel")
        assert client.post(f"/v1/jobs/{second['id']}/resume").json()["state"] == "running"
        # Asked for again under its key, it is answered as it was then.
        again = client.post("/v1/jobs", **keyed)
        assert (again.headers["idempotent-replayed"], again.json()) == ("true", second)
        for verb in ("resume", "retry-failed"):
            refused = client.post(f"/v1/jobs/{first['id']}/{verb}")
            assert (refused.status_code, refused.json()["code"]) == (429, "account.queue")
        assert client.get(f"/v1/jobs/{first['id']}").json()["state"] == "cancelled"
