"""Limits and cost forecasts that commands need before they submit a job."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from gossamer.billing.estimating import EstimateInputs, Forecast
from gossamer.billing.prices import PriceList
from gossamer.errors import UserError
from gossamer.intake.domain import BadEntry, clean, read_domain, target_of
from gossamer.intake.targets import MAX_TARGETS
from gossamer.model.job import CrawlPolicy, Probed, Target
from gossamer.model.money import Scope
from gossamer.model.rungs import RUNGS, Mode, ladder_of
from gossamer.questions.view import Many, View

Texts = Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(max_length=MAX_TARGETS, fail_fast=True)]


_FEW = 300
_READING = asyncio.Semaphore(1)


@dataclass(frozen=True, slots=True)
class House:
    """Settings and limits of the installation that will run a job."""

    rungs: tuple[str, ...]  # configured methods
    max_credits: int | None  # default limit of a job
    confirm_usd: float  # estimated costs from which commands ask for confirmation
    processes: int


@dataclass(frozen=True, slots=True)
class Walk:
    """Crawl parameters that determine the cost."""

    recipe: str
    mode: Mode
    ladder: list[str]
    pages_per_site: Many
    top_pages: Many

    def asked(self, targets: Sequence[Target], prices: PriceList) -> EstimateInputs:
        for name in self.ladder:
            if name not in RUNGS:
                raise UserError("job.ladder", f"There is no rung {name!r}.", hint=f"There are {', '.join(RUNGS)}.")
        ladder = ladder_of(self.mode, self.ladder)
        policy = CrawlPolicy(ladder=ladder, pages_per_site=self.pages_per_site, top_pages=self.top_pages)
        return EstimateInputs(self.recipe, policy, targets, prices)


async def house_rules(view: View) -> House:
    settings = view.settings
    return House(view.rungs, view.caps[Scope.JOB].credits, settings.confirm_usd, settings.processes)


async def foreseen(view: View, walk: Walk, domains: Texts, probed: Probed | None) -> Forecast | None:
    """Forecast a job's cost, using a sample of homepages if there is one; None if it cannot cost anything."""
    asked = walk.asked(await _targets(domains), view.prices)
    if probed and not 0 <= probed.climbing + probed.gone <= probed.asked <= MAX_TARGETS:
        raise UserError(
            "job.probed", "The counts of checked homepages do not add up.", hint="Check the homepages again."
        )
    return await view.forecast(asked, probed) if asked.costs_something else None


async def unmet(view: View, walk: Walk, domains: Texts) -> tuple[str, ...]:
    """Return the domains without data for a forecast; empty if the job cannot cost anything."""
    asked = walk.asked(await _targets(domains), view.prices)
    return tuple(target.given for target in await view.not_known(asked)) if asked.costs_something else ()


async def _targets(domains: Sequence[str]) -> list[Target]:
    """Return the sites of the domains. Long lists are parsed in a thread, so that a server is not blocked."""
    if len(domains) <= _FEW:
        return [_target(text) for text in domains]
    async with _READING:
        return await asyncio.to_thread(lambda: [_target(text) for text in domains])


def _target(text: str) -> Target:
    domain = read_domain(clean(text))
    if isinstance(domain, BadEntry):
        raise UserError(
            "job.domain", f"{text[:200]!r} is no domain: it {domain.why}.", hint="Give one like shop.example."
        )
    return target_of(domain, text)
