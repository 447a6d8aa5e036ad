"""`--probe N` of a job that a server will run: the server looks, as a small job of its own that is deleted again."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from gossamer.cli import words
from gossamer.cli.probe_words import ALL_MET, looked
from gossamer.cli.session import say
from gossamer.client import ClientError
from gossamer.client.answers import Failure, JobStatus
from gossamer.judge.experience import lesson
from gossamer.model.estimate import Probed
from gossamer.model.job import Target
from gossamer.model.ladders import Mode
from gossamer.model.page import Attempt
from gossamer.model.trouble import Reason
from gossamer.questions.submitting import Walk, unmet
from gossamer.work.probe import choose

if TYPE_CHECKING:
    from gossamer.cli.there import RemoteHome

_PATIENCE = 600.0  # seconds
_ONE_PAGE = {"formats": ["metadata"], "walk": {"max_pages": 1, "depth": 0}}


async def look_first(
    home: "RemoteHome", walk: Walk, targets: Sequence[Target], number: int, *, quiet: bool
) -> Probed | None:
    """What a plain request of the server gets of so many of the job's sites; None if there is none to look at."""
    unknown = set(await home.ask(unmet, walk, [target.given for target in targets]))
    chosen = choose([target for target in targets if target.given in unknown], number)
    if not chosen:
        say(ALL_MET, quiet=quiet)
        return None
    homepages = words.several(len(chosen), "homepage")
    say(f"Looking at {homepages}...", quiet=quiet)
    client = home.client
    domains = [target.given for target in chosen]
    job = await client.submit(
        "scrape", f"A look at {homepages}", params=_ONE_PAGE, domains=domains, mode=str(Mode.FREE_ONLY)
    )
    try:
        over = await client.wait(job.id, patience=_PATIENCE)
        found = _counted(over, [failure async for failure in client.errors(job.id, of="sites")])
    finally:
        with suppress(ClientError):  # then it stays in the list, as any other job
            if not (await client.job(job.id)).is_over:
                await client.cancel(job.id)
            await client.delete(job.id)
    say(looked(found), quiet=quiet)
    return found if found.asked else None


def _counted(job: JobStatus, failures: Sequence[Failure]) -> Probed:
    """By what the sites that failed have failed of, as a look from here would. What has not ended is left out."""
    reasons = [Reason[one.code.upper()] for one in failures if one.code.upper() in Reason.__members__]
    climbing = sum(lesson(Attempt("direct", None, reason.name, 0, 0)) is False for reason in reasons)
    sites = job.progress.sites
    return Probed(sites.done + sites.partial + sites.failed, climbing, sites.failed - climbing)
