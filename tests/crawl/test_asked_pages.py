"""Pages that a recipe asks for itself: by steps, with what is sent and what they carry, as data and not as pages."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest
from pydantic import BaseModel, SecretStr
from sqlalchemy import select

from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db import tables
from gossamer.intake.submit import submit
from gossamer.model.document import Document
from gossamer.model.job import CrawlPolicy, JobRequest, Target
from gossamer.model.page import Page
from gossamer.model.recipe import Bound
from gossamer.model.record import FIRST_STEP, Follow, Harvest, Record
from gossamer.model.states import JobState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.recipes.prospect import PROSPECT
from gossamer.store import counters, jobs, sites
from tests.auditing import assert_clean
from tests.crawl.scripted import PAGE, Asked, Site, kit_for, work_until_over

API = "http://api.test/search"


class Params(BaseModel):
    ladder: list[str] = []


class Shops(Bound):
    """Asks an API for shops in two areas, visits each of them, and one page more of each."""

    def __init__(self, params: Params) -> None:
        self.seen: list[tuple[str, str]] = []

    def seeds(self) -> Iterable[Follow]:
        for area in ("north", "south"):
            yield self.area(area)

    def area(self, area: str) -> Follow:
        headers = (("Content-Type", "application/json"), ("X-Key", "{secret}"))
        body = orjson.dumps({"area": area})
        return Follow(
            API,
            "area",
            method="POST",
            body=body,
            headers=headers,
            credential="maps",
            identity=area,
            carry={"area": area},
        )

    def policy(self, step: str = FIRST_STEP) -> CrawlPolicy:
        return CrawlPolicy(depth=3, json=step == "area", pages_per_site=3 if step == "contact" else 500)

    def accept(self, page: Page, doc: Document) -> Trouble | None:
        if page.step == "area" and "remark" in doc.data:
            return Trouble(Reason.UNAVAILABLE, http_status=doc.status)
        return None

    def harvest(self, page: Page, doc: Document) -> Harvest:
        if page.step == "area":
            more = [self.area(area) for area in doc.data["areas"]]
            shops = [Follow(url, "shop", carry={**page.carry, "from": page.url}) for url in doc.data["shops"]]
            return Harvest(follows=(*more, *shops))
        record = Record("match", (page.url, page.step), {"url": page.url, "keyword": page.step, **page.carry})
        if page.step == "shop":
            here = page.url.rstrip("/")
            return Harvest(
                (record,), tuple(Follow(f"{here}/{number}", "contact", carry=page.carry) for number in range(4))
            )
        return Harvest((record,))


def answered(asked: Asked) -> tuple[int, dict[str, str], str] | None:
    if asked.host != "api.test" or asked.path != "/search":
        return None
    area = orjson.loads(asked.body)["area"]
    # Soft words and statuses that a page would be judged by.
    found = {"north": ["http://one.test/", "http://two.test/in"], "south": ["http://two.test/in"], "west": []}[area]
    said = {"shops": found, "areas": ["west"] if area == "north" else [], "title": "404 Not Found \0"}
    return 200, {"content-type": "application/json"}, orjson.dumps(said).decode()


def page(host: str, path: str) -> tuple[int, dict[str, str], str]:
    if path.endswith((".txt", ".xml")):
        return 404, {}, ""
    if host == "one.test" and path == "/":
        return 301, {"location": "http://moved.test/home"}, ""
    return 200, {}, PAGE.replace("CRM", f"{host}{path}")


def with_recipe(deps: WorkerDeps, bind: Any) -> WorkerDeps:
    return replace(deps, recipes={"prospect": replace(PROSPECT, params=Params, bind=bind)})


async def run(deps: WorkerDeps, *hosts: str) -> UUID:
    targets = tuple(Target(host, (f"http://{host}/",), host) for host in hosts)
    job = await submit(deps.database, deps.recipes, JobRequest("t", "prospect", {}, targets))
    await work_until_over(deps, job.id)
    return job.id


async def records(deps: WorkerDeps, job_id: UUID) -> list[dict[str, Any]]:
    query = select(tables.records.c.data).where(tables.records.c.job_id == job_id)
    found = await deps.database.read(lambda tx: list(tx.run(query).scalars()))
    return sorted(found, key=lambda data: (data["url"], data["keyword"]))


async def test_an_api_is_asked_by_post_twice_at_one_address_and_opens_sites(tmp_path: Path) -> None:
    site = Site(page, data=answered)
    async with kit_for(tmp_path, site, secrets={"maps": SecretStr("s3cret-key")}) as plain:
        deps = with_recipe(plain, Shops)
        job_id = await run(deps)
        sent = [one for one in site.asked if one.path == "/search"]
        assert [one.method for one in sent] == ["POST"] * 3
        assert sorted(orjson.loads(one.body)["area"] for one in sent) == ["north", "south", "west"]
        assert {one.headers["x-key"] for one in sent} == {"s3cret-key"}
        found = await records(deps, job_id)
        shops = [(one["url"], one["area"], one["from"]) for one in found if one["keyword"] == "shop"]
        # The first of the two answers that name a shop has opened it, and facts go along over a redirect.
        assert [url for url, _, _ in shops] == ["http://moved.test/home", "http://two.test/in"]
        assert shops[0][1:] == ("north", API)
        contacts = [one["url"] for one in found if one["keyword"] == "contact"]
        assert len(contacts) == 2 * 3, "no more than the step's policy allows"
        rows = {one.host: one for one in await deps.database.read(sites.summaries, job_id)}
        assert set(rows) == {"api.test", "one.test", "two.test"}
        assert rows["two.test"].state is SiteState.PARTIAL
        progress = await deps.database.read(counters.progress, job_id)
        assert (progress.sites_total, progress.sites_finished, progress.pages_open) == (3, 3, 0)
        await assert_clean(deps.database, job_id)
        # No row, and no log, holds the secret.
        everything = await deps.database.read(
            lambda tx: [
                tuple(row)
                for table in (tables.pages, tables.sites, tables.events)
                for row in tx.rows(select(table), {})
            ]
        )
        assert "s3cret-key" not in repr(everything)
        assert "{secret}" in repr(everything)


async def test_a_secret_that_is_not_there_fails_the_page_and_says_which(tmp_path: Path) -> None:
    site = Site(page, data=answered)
    async with kit_for(tmp_path, site) as plain:
        deps = with_recipe(plain, Shops)
        job_id = await run(deps)
        assert [one for one in site.asked if one.path == "/search"] == []
        (summary,) = await deps.database.read(sites.summaries, job_id)
        assert summary.trouble
        assert summary.trouble.sentence == (
            "Needs a method that is not configured here (the secret maps, which GOSSAMER_SECRETS lacks)"
        )


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (200, "<html>busy</html>", Reason.NOT_JSON),
        (200, '{"remark": "runtime error", "shops": [], "areas": []}', Reason.UNAVAILABLE),
        (400, '{"error": "bad request"}', Reason.CLIENT_ERROR),
        (302, "", Reason.BAD_REDIRECT),
    ],
)
async def test_an_answer_that_is_no_answer_is_trouble(tmp_path: Path, status: int, body: str, reason: Reason) -> None:
    def answer(asked: Asked) -> tuple[int, dict[str, str], str] | None:
        return None if asked.path != "/search" else (status, {"location": "http://api.test/elsewhere"}, body)

    class Once(Shops):
        def seeds(self) -> Iterable[Follow]:
            return (self.area("north"),)

        def policy(self, step: str = FIRST_STEP) -> CrawlPolicy:
            return replace(super().policy(step), visit_time=timedelta(seconds=20))

    site = Site(page, data=answer)
    async with kit_for(tmp_path, site, secrets={"maps": SecretStr("s3cret-key")}) as plain:
        deps = with_recipe(plain, Once)
        job_id = await run(deps)
        (summary,) = await deps.database.read(sites.summaries, job_id)
        assert summary.trouble
        assert summary.trouble.reason is reason
        # What passes is tried again, and nothing is sent to where a redirect leads.
        tries = [one for one in site.asked if one.path == "/search"]
        assert len(tries) == (4 if reason in (Reason.NOT_JSON, Reason.UNAVAILABLE) else 1)
        assert not [one for one in site.asked if one.path == "/elsewhere"]


async def test_what_cannot_be_asked_for_is_the_pages_own_trouble(tmp_path: Path) -> None:
    class Greedy(Shops):
        def seeds(self) -> Iterable[Follow]:
            return ()

        def harvest(self, page: Page, doc: Document) -> Harvest:
            return Harvest(follows=(Follow("http://two.test/", "shop", carry={"facts": "x" * 5_000}),))

    site = Site(page)
    async with kit_for(tmp_path, site) as plain:
        deps = with_recipe(plain, Greedy)
        job_id = await run(deps, "a.test")
        (summary,) = await deps.database.read(sites.summaries, job_id)
        assert summary.trouble
        assert summary.trouble.sentence == "Internal error (ValueError)"
        assert (await deps.database.read(counters.progress, job_id)).sites_total == 1
        job = await deps.database.read(jobs.get, job_id)
        assert job
        assert job.state is JobState.COMPLETED


async def test_a_link_to_another_site_opens_that_site_whole(tmp_path: Path) -> None:
    class Directory(Shops):
        def seeds(self) -> Iterable[Follow]:
            return ()

        def harvest(self, page: Page, doc: Document) -> Harvest:
            record = Record("match", (page.url, "x"), {"url": page.url, "keyword": "x"})
            follows = (Follow("http://two.test/"), Follow("http://a.test/more")) if "//a.test" in page.url else ()
            return Harvest((record,), follows, links=[link.url for link in doc.links])

    def answer(host: str, path: str) -> tuple[int, dict[str, str], str]:
        status, headers, body = page(host, path)
        linked = '<a href="/deep">deep</a>' if (host, path) == ("two.test", "/") else ""
        return status, headers, body.replace("<p>", f"<p>{linked}")

    site = Site(answer)
    async with kit_for(tmp_path, site) as plain:
        deps = with_recipe(plain, Directory)
        job_id = await run(deps, "a.test")
        urls = [one["url"] for one in await records(deps, job_id)]
        assert urls == ["http://a.test/", "http://a.test/more", "http://two.test/", "http://two.test/deep"]
        await assert_clean(deps.database, job_id)
