"""A look before a job: as polite as any visit, free, and right about which homepages a plain request gets."""

from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import func, select

from gossamer.app import App, open_app
from gossamer.billing.estimating import EstimateInputs
from gossamer.billing.prices import PriceList
from gossamer.cli.probing import probe_here
from gossamer.crawl.probe import choose
from gossamer.db.tables import charges, jobs, pages
from gossamer.model.job import CrawlPolicy, Probed, Target
from gossamer.model.rungs import Mode, ladder_of
from gossamer.model.url import site_of
from gossamer.settings import Settings
from gossamer.store import robots
from gossamer_sandbox.web import SampleWeb, serve
from gossamer_sandbox.web.proof import forbidden_requests, read_log, smallest_gaps
from tests.jobs import claim_all, make_job

RATE = 10.0
WEB = SampleWeb(sites=60, seed=11, nasty=1, size_min=4, size_max=7)
HYBRID = CrawlPolicy(ladder_of(Mode.HYBRID, ("direct", "scrapingbee-standard", "scrapingbee-js")))
SLOW = {"TIMEOUT", "ROBOTS_UNREACHABLE", "CUT_OFF", "UNAVAILABLE", "RATE_LIMITED", "TOO_LARGE"}
CLIMBING = {"BLOCKED", "CAPTCHA", "FORBIDDEN"}


def sites() -> dict[str, set[str]]:
    """What is wrong with the homepage of each site.

    Those that keep one waiting are left out, and those that a single look cannot know: which answer well the second
    time, and which have one hop too many only beside the spellings that a job tries first.
    """
    found = {
        site["host"]: set(site["pages"][0]["reasons"])
        for site in WEB.truth()["sites"]
        if not site["crawl_delay"] and "-once" not in site["quirk"] and site["quirk"] != "redirect-5"
    }
    return {host: reasons for host, reasons in found.items() if not reasons & SLOW and "pair" not in host}


def asked(hosts: list[str]) -> EstimateInputs:
    targets = [Target(host, (f"http://{host}/", f"http://www.{host}/"), host) for host in hosts]
    return EstimateInputs("prospect", HYBRID, targets, PriceList())


def settings(home: Path, port: int) -> Settings:
    return Settings(home=home, domain_rate=RATE, connect_to=f"*.test=127.0.0.1:{port}", scrapingbee_key="never-used")


async def rows(app: App) -> list[int]:
    counts = [select(func.count()).select_from(table) for table in (jobs, pages, charges)]
    return await app.database.read(lambda tx: [tx.run(one).scalar_one() for one in counts])


async def test_a_look_is_free_polite_and_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = sites()
    climbing = {host for host, reasons in wrong.items() if reasons & CLIMBING}
    gone = {host for host, reasons in wrong.items() if reasons and host not in climbing and reasons != {"MOVED"}}
    assert len(climbing) > 4 < len(gone)
    log = tmp_path / "log"
    async with serve(WEB, log=log) as web, open_app(settings(tmp_path / "home", web.port)) as app:
        found = await probe_here(app, asked(list(wrong)), 1_000, quiet=False)
        assert found == Probed(len(wrong), len(climbing), len(gone))
        assert await rows(app) == [0, 0, 0]
        # What robots.txt said need not be asked again by the job.
        assert await app.database.read(robots.fresh, [f"http://{host}" for host in wrong])
        assert app.lock.holder() is None
    said = capsys.readouterr().out.splitlines()
    plain = len(wrong) - len(climbing) - len(gone)
    assert said == [
        f"Looking at {len(wrong)} homepages...",
        f"Looked at {len(wrong)} homepages: {plain} can be read with a plain request, "
        f"{len(climbing)} need more than that, {len(gone)} cannot be read at all",
    ]
    assert forbidden_requests(log, WEB.truth()) == []
    assert min(smallest_gaps(log).values()) >= 0.95 / RATE
    # One page each, and what it takes to know whether it may be asked for.
    plain_ones = {host for host, reasons in wrong.items() if not reasons}
    asked_for = Counter(request.host for request in read_log(log) if request.path == "/")
    assert {number for host, number in asked_for.items() if site_of(host) in plain_ones} == {1}


async def test_domains_another_job_is_at_work_on_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    busy, free = [host for host, reasons in sites().items() if not reasons][:2]
    log = tmp_path / "log"
    async with serve(WEB, log=log) as web, open_app(settings(tmp_path / "home", web.port)) as app:
        await app.database.write(make_job, busy)
        await app.database.write(claim_all)
        assert await probe_here(app, asked([busy]), 5, quiet=False) is None
        assert capsys.readouterr().out.startswith("Another job is at work on all of these domains")
        assert await probe_here(app, asked([busy, free]), 5, quiet=True) == Probed(1, 0, 0)
    assert {request.host for request in read_log(log)} == {free}


def test_homepages_are_chosen_as_if_by_chance_one_per_domain_and_always_the_same() -> None:
    hosts = [f"{name}{number}.test" for number in range(200) for name in ("", "blog.")]
    targets = [Target(host, (f"http://{host}/",), host) for host in hosts]
    chosen = choose(targets, 50)
    assert chosen == choose(targets[::-1], 50)
    domains = Counter(target.host.removeprefix("blog.") for target in chosen)
    assert (len(domains), set(domains.values())) == (50, {1})
    assert any(int(domain[:-5]) > 100 for domain in domains)
    assert len(choose(targets, 1_000)) == 200
