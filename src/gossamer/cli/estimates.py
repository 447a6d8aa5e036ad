"""Estimate the cost of a job before it starts, ask for confirmation, and compare the estimate with the actual cost."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import typer

from gossamer.billing.estimating import Forecast
from gossamer.cli import formatting, prompts
from gossamer.cli.home import Home
from gossamer.cli.runtime import say
from gossamer.intake.targets import TargetList
from gossamer.model.job import Estimate
from gossamer.model.money import MICROS, Cap, dollars, shown
from gossamer.model.rungs import RUNGS, Mode, provider_of, provider_title
from gossamer.model.states import JobState
from gossamer.questions.jobs import Ended
from gossamer.questions.submitting import House, Walk
from gossamer.recipes.base import Recipe

_WORTH_A_LOOK = 20  # homepages to suggest for --probe


def walk_options(recipe: Recipe, params: Mapping[str, Any]) -> Walk:
    """Return the crawl settings of the recipe for these parameters."""
    mode, ladder = Mode(params.get("mode", Mode.FREE_ONLY)), list(params.get("ladder", ()))
    policy = recipe.bind(recipe.params.model_validate({**recipe.for_estimates, **params})).policy()
    return Walk(recipe.name, mode, ladder, policy.pages_per_site, policy.top_pages)


def with_default_credits(house: House, cap: Cap) -> Cap:
    """The limits with the default credit limit where none is given."""
    return cap if cap.credits is not None else replace(cap, credits=house.max_credits)


async def forecast(home: Home, walk: Walk, targets: TargetList, probe: int | None, *, quiet: bool) -> Forecast | None:
    """Estimate the cost, after fetching some homepages if asked to; None if the job can cost nothing."""
    found = await home.foresee(walk, targets.targets, probe, quiet=quiet)
    if found is None and probe:
        say("This job costs nothing, so no homepage was fetched.", quiet=quiet)
    return found


def print_forecast(found: Forecast | None, params: Mapping[str, Any], cap: Cap, *, quiet: bool) -> Estimate | None:
    """Print the estimate and return it; None for a job that costs nothing."""
    if found is None:
        if own := _own_servers(params.get("ladder", ())):
            say(f"Costs nothing: what cannot be had directly goes through your {own} (free)", quiet=quiet)
        return None
    for line in forecast_lines(found, Mode(params["mode"]), cap):
        say(line, quiet=quiet)
    return found.estimate


def forecast_lines(found: Forecast, mode: Mode, cap: Cap) -> Iterator[str]:
    """`Estimated 2,000-8,000 ScrapingBee credits ($20-$80) based on hybrid mode and historical data`, and reasons."""
    said = found.estimate
    providers = dict.fromkeys(provider_title(provider_of(rung)) for rung in _paid(said))
    yield f"Estimated {_credits(said, ' and '.join(providers))} based on {_basis(said, mode)}"
    if own := _own_servers(said.like.ladder):
        yield f"What cannot be had directly goes through your {own} first (free)"
    if found.used:
        jobs = "A similar job" if said.similar == 1 else f"{said.similar} similar jobs"
        low, high = found.used
        yield f"{jobs} used {_from_to(low, high)} credits per {formatting.plural(said.sites, 'domain')}"
    else:
        look = "" if said.probed else f"; --probe {_WORTH_A_LOOK} looks at homepages first, for free"
        yield f"No similar job has ended here yet, so the range is wide{look}"
    if said.known:
        yield f"{said.known:,} of {formatting.plural(said.sites, 'domain')} were met before"
    if found.record.jobs:
        yield _record(found)
    if (most := _limit(cap, said)) is not None and most < said.high_micros:
        yield f"It pauses before it spends more than {_limits(cap)}"


def _own_servers(ladder: Iterable[str]) -> str:
    return " and ".join(provider_title(provider_of(name)) for name in ladder if RUNGS[name].is_own_server)


def _record(found: Forecast) -> str:
    right, jobs = found.record
    if jobs == 1:
        return f"The last estimate was {'right' if right else 'wrong'}"
    return f"The last {jobs} estimates: {right} right"


def _basis(said: Estimate, mode: Mode) -> str:
    given = [f"the ladder {','.join(said.like.ladder)}" if mode is Mode.OWN else f"{mode} mode"]
    if said.similar or said.known:
        given.append("historical data")
    if said.probed:
        given.append(formatting.plural(said.probed.asked, "homepage"))
    return f"{', '.join(given[:-1])} and {given[-1]}" if len(given) > 1 else given[0]


def _credits(said: Estimate, whose: str = "") -> str:
    """`2,000-8,000 ScrapingBee credits ($20-$80)`."""
    money = _from_to_dollars(said.low_micros, said.high_micros)
    return f"{_from_to(said.low, said.high)}{f' {whose}' if whose else ''} credits ({money})"


def _from_to(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


def _from_to_dollars(low: int, high: int) -> str:
    amounts = [f"${one // MICROS:,}" if one % MICROS == 0 else dollars(one) for one in (low, high)]
    return "-".join(dict.fromkeys(amounts))


def _paid(said: Estimate) -> list[str]:
    return [rung for rung in said.like.ladder if RUNGS[rung].is_paid]


def _limit(cap: Cap, said: Estimate) -> int | None:
    """The lowest of a job's limits, in millionths of a dollar."""
    per_credit = said.high_micros // said.high if said.high else 0
    limits = [None if cap.credits is None else cap.credits * per_credit, cap.micros]
    return min((one for one in limits if one is not None), default=None)


def _limits(cap: Cap) -> str:
    named = ((cap.credits, "credits", "--max-credits"), (cap.micros, "micros", "--max-usd"))
    return " or ".join(f"{shown(part, most)} ({option})" for most, part, option in named if most is not None)


def confirm_cost(house: House, said: Estimate | None, cap: Cap, *, yes: bool, quiet: bool) -> None:
    """Ask for confirmation if the job may be expensive and a person is at the terminal; exit if it is refused."""
    if said is None or yes or quiet or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    limit = _limit(cap, said)
    most = said.high_micros if limit is None else min(said.high_micros, limit)
    if most <= round(house.confirm_usd * MICROS):
        return
    if not prompts.confirm(f"Start it? It may cost up to {dollars(most)}", "Not started."):
        say("Not started.")
        raise typer.Exit(1)


def estimate_lines(found: Ended) -> list[str]:
    """The estimate made before the start, compared with the cost once the job is completed."""
    said = found.estimate
    if said is None:
        return []
    verdict = ""
    if found.job.state is JobState.COMPLETED:
        spent = found.costs.budget.spent.credits
        verdict = ": it was less" if spent < said.low else ": it was more" if spent > said.high else ", which was right"
    return [f"Estimated before the start: {_credits(said)}{verdict}"]


def as_json(said: Estimate | None) -> dict[str, Any] | None:
    if said is None:
        return None
    return {
        "low_credits": said.low,
        "high_credits": said.high,
        "low_usd": said.low_micros / MICROS,
        "high_usd": said.high_micros / MICROS,
        "domains": said.sites,
        "domains_met_before": said.known,
        "similar_jobs": said.similar,
        "homepages_probed": said.probed.asked if said.probed else 0,
    }


def forecast_json(found: Forecast | None, cap: Cap) -> dict[str, Any]:
    if found is None:
        return {"low_credits": 0, "high_credits": 0, "low_usd": 0.0, "high_usd": 0.0}
    probed, used = found.estimate.probed, found.used
    return {
        **(as_json(found.estimate) or {}),
        "probe": probed._asdict() if probed else None,
        "similar_jobs_used": {"low_credits": used[0], "high_credits": used[1]} if used else None,
        "past_estimates": found.record._asdict(),
        "max_credits": cap.credits,
        "max_usd": None if cap.micros is None else cap.micros / MICROS,
    }
