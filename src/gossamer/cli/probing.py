"""`--probe N`: fetch some homepages before a job is created, from this machine or through a server."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gossamer.app import App, open_deps
from gossamer.billing.estimating import EstimateInputs, not_known
from gossamer.cli import formatting
from gossamer.cli.runtime import say
from gossamer.client import ClientError
from gossamer.client.answers import Failure, JobStatus
from gossamer.crawl.probe import Probe, choose
from gossamer.judge.rung_stats import lesson
from gossamer.model.job import Probed, Target
from gossamer.model.page import Attempt
from gossamer.model.rungs import DIRECT, Mode
from gossamer.model.trouble import Reason
from gossamer.model.url import domain_of
from gossamer.questions.submitting import Walk, unmet
from gossamer.recipes.scrape import SCRAPE
from gossamer.store import estimates

if TYPE_CHECKING:
    from gossamer.cli.there import RemoteHome

ALL_MET = "All domains were met before, so no homepage was looked at."


def probed_sentence(found: Probed) -> str:
    if not found.asked:
        return "None of them could be looked at."
    plain = found.asked - found.climbing - found.gone
    parts = [f"{plain:,} can be read with a plain request", f"{found.climbing:,} need more than that"]
    if found.gone:
        parts.append(f"{found.gone:,} cannot be read at all")
    return f"Looked at {formatting.plural(found.asked, 'homepage')}: {', '.join(parts)}"


async def probe_here(app: App, asked: EstimateInputs, number: int, *, quiet: bool) -> Probed | None:
    """Fetch up to `number` homepages with plain requests from this machine; None if there is none to fetch."""
    unknown = await not_known(app.database, asked)
    if not unknown:
        say(ALL_MET, quiet=quiet)
        return None
    with _runner_lock(app):
        chosen = choose(await _idle_sites(app, unknown), number)
        if not chosen:
            say("Another job is at work on all of these domains, so no homepage was looked at.", quiet=quiet)
            return None
        say(f"Looking at {formatting.plural(len(chosen), 'homepage')}...", quiet=quiet)
        async with open_deps(app.settings, 1, app.clock, pool=2) as deps:
            found = await Probe(deps).look(chosen)
    say(probed_sentence(found), quiet=quiet)
    return found if found.asked else None


@contextmanager
def _runner_lock(app: App) -> Iterator[None]:
    """Hold the runner's lock meanwhile: two processes would not know when the other last asked a domain."""
    ours = app.lock.take()
    try:
        yield
    finally:
        if ours:
            app.lock.release()


async def _idle_sites(app: App, targets: list[Target]) -> list[Target]:
    """The sites no job is working on; all of them if requests are spaced by Redis."""
    if app.settings.redis_url is not None:
        return targets
    domains = sorted({domain_of(target.host) for target in targets})
    busy = await app.database.read(estimates.busy_domains, domains)
    return [target for target in targets if domain_of(target.host) not in busy]


_PATIENCE = 600.0  # seconds
_ONE_PAGE = {"formats": ["metadata"], "walk": {"max_pages": 1, "depth": 0}}


async def probe_there(
    home: "RemoteHome", walk: Walk, targets: Sequence[Target], number: int, *, quiet: bool
) -> Probed | None:
    """Let the server fetch up to `number` homepages; None if there is none to fetch.

    The server does it as a small job, which is deleted afterwards.
    """
    unknown = set(await home.ask(unmet, walk, [target.given for target in targets]))
    chosen = choose([target for target in targets if target.given in unknown], number)
    if not chosen:
        say(ALL_MET, quiet=quiet)
        return None
    homepages = formatting.plural(len(chosen), "homepage")
    say(f"Looking at {homepages}...", quiet=quiet)
    client = home.client
    domains = [target.given for target in chosen]
    job = await client.submit(
        SCRAPE.name, f"A look at {homepages}", params=_ONE_PAGE, domains=domains, mode=str(Mode.FREE_ONLY)
    )
    try:
        over = await client.wait(job.id, patience=_PATIENCE)
        found = _probed_counts(over, [failure async for failure in client.errors(job.id, of="sites")])
    finally:
        with suppress(ClientError):  # the job stays in the list then
            if not (await client.job(job.id)).is_over:
                await client.cancel(job.id)
            await client.delete(job.id)
    say(probed_sentence(found), quiet=quiet)
    return found if found.asked else None


def _probed_counts(job: JobStatus, failures: Sequence[Failure]) -> Probed:
    """Count the reasons of failed sites as a local probe would; sites that have not ended are left out."""
    reasons = [Reason[one.code.upper()] for one in failures if one.code.upper() in Reason.__members__]
    climbing = sum(lesson(Attempt(DIRECT.name, None, reason.name, 0, 0)) is False for reason in reasons)
    sites = job.progress.sites
    return Probed(sites.done + sites.partial + sites.failed, climbing, sites.failed - climbing)
