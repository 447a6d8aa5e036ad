"""Jobs that have run: made of random sites, submitted, paid for and settled by the code that does so for real ones."""

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from gossamer.billing.estimating import EstimateInputs, Forecast, forecast
from gossamer.billing.prices import PriceList
from gossamer.billing.reservations import Treasurer
from gossamer.clock import SystemClock
from gossamer.intake.submit import submit
from gossamer.model.job import CrawlPolicy, Job, JobRequest, Probed, Target
from gossamer.model.money import Cap, Charge, Reservation, Scope
from gossamer.model.page import Attempt, Page, Visit
from gossamer.model.rungs import Mode, ladder_of, names_of
from gossamer.model.states import PageState, SiteState
from gossamer.recipes.prospect import PROSPECT
from gossamer.settle.step import Finished, PageStep, Step
from gossamer.store import budgets, jobs
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, settle

HERE = ("direct", "scrapingbee-standard", "scrapingbee-js")
PRICES = PriceList()
NO_CAPS: Mapping[Scope, Cap] = {scope: Cap() for scope in Scope}
GETS = (
    (),  # rungs that fail before one works
    ("direct",),
    ("direct", "scrapingbee-standard"),
)


@dataclass(frozen=True, slots=True)
class Site:
    host: str
    fails: tuple[str, ...]  # the rungs that do not get its pages
    pages: int


def web(random: Random, number: int, paying: float = 0.3) -> list[Site]:
    """Most sites are small and free, a few are large, some need a provider, or its browser."""
    sites = []
    for place in range(number):
        fails = GETS[0] if random.random() > paying else random.choice(GETS[1:])
        sites.append(Site(f"site{place}.test", fails, 1 + min(4, int(random.lognormvariate(0.0, 0.8)))))
    return sites


def targets(sites: Sequence[Site]) -> tuple[Target, ...]:
    return tuple(Target(site.host, (f"http://{site.host}/",), site.host) for site in sites)


def asked(sites: Sequence[Site], mode: Mode = Mode.HYBRID, pages: int = 500) -> EstimateInputs:
    policy = CrawlPolicy(ladder_of(mode, names_of(mode, HERE)), pages_per_site=pages)
    return EstimateInputs("prospect", policy, targets(sites), PRICES)


@dataclass(frozen=True, slots=True)
class Ran:
    job: Job
    found: Forecast
    cost: int

    @property
    def inside(self) -> bool:
        return self.found.estimate.low <= self.cost <= self.found.estimate.high


async def run(
    database: AnyDatabase,
    sites: Sequence[Site],
    mode: Mode = Mode.HYBRID,
    probed: Probed | None = None,
    *,
    ends: bool = True,
) -> Ran:
    """A job from its estimate to its end."""
    found = await forecast(database, asked(sites, mode), probed)
    params = {"keywords": ["CRM"], "mode": mode, "ladder": list(names_of(mode, HERE))}
    request = JobRequest("past", "prospect", params, targets(sites), estimate=found.estimate)
    job = await submit(database, {"prospect": PROSPECT}, request)
    held = {visit.host: visit for visit in await database.write(claim_all)}
    treasurer = Treasurer(database, SystemClock(), PRICES, NO_CAPS)
    done = await asyncio.gather(*(_walk(treasurer, held[site.host], site, mode) for site in sites))
    await settle(database, *(step for steps in done for step in steps))
    await treasurer.close()
    if ends:
        assert await database.write(jobs.complete, job.id)
    return Ran(job, found, (await database.read(budgets.of_job, job.id)).spent.credits)


async def _walk(treasurer: Treasurer, visit: Visit, site: Site, mode: Mode) -> list[Step]:
    pages = await asyncio.gather(*(_read(treasurer, visit, site, mode, number) for number in range(site.pages)))
    return [*(step for steps in pages for step in steps), Step(visit, ending=Finished(SiteState.DONE))]


async def _read(treasurer: Treasurer, visit: Visit, site: Site, mode: Mode, number: int) -> list[Step]:
    page = Page.at(f"http://{site.host}/{number or ''}", min(number, 1), rank=number)
    steps = []
    for rung in names_of(mode, HERE):
        fails = rung in site.fails
        charges = await _pay(treasurer, visit, page, rung, fails=fails)
        reason = "FORBIDDEN" if fails else ""
        page = page._replace(rung=rung).tried(Attempt(rung, 403 if fails else 200, reason, 10, 1_700_000_000_000))
        state = PageState.PENDING if fails else PageState.DONE
        step = PageStep(page, state, identity=None if fails else page.key, bytes_in=10)
        steps.append(Step(visit, step, lesson=not fails if mode is Mode.HYBRID else None, charges=charges))
        if not fails:
            break
    return steps


async def _pay(treasurer: Treasurer, visit: Visit, page: Page, rung: str, *, fails: bool) -> tuple[Charge, ...]:
    price = PRICES.of(rung)
    if price is None:
        return ()
    granted = await treasurer.reserve(visit, rung, page=page.key)
    assert isinstance(granted, Reservation)
    return (granted.charge(price.by_outcome["failed"] if fails else price.usual),)


def lists(random: Random, sites: Sequence[Site], number: int) -> Iterator[list[Site]]:
    """Lists of different lengths, each of a trade of its own: in some more sites need a provider than in others."""
    for _ in range(number):
        wants = math.exp(random.gauss(0, 0.4))
        weights = [wants if site.fails else 1.0 for site in sites]
        chosen = dict.fromkeys(random.choices(sites, weights, k=random.randint(30, 80)))
        yield list(chosen)
