"""Questions about all that is known of one job as a whole."""

from dataclasses import dataclass, replace
from datetime import datetime

from gossamer.db.database import Database
from gossamer.model.alert import Alert
from gossamer.model.job import Checkpoint, Job
from gossamer.model.states import SiteState
from gossamer.questions import kept
from gossamer.questions.costs import Ended, read_ended
from gossamer.questions.limits import Text
from gossamer.questions.view import View
from gossamer.retention.service import Outlook
from gossamer.store import alerts, counters, sites
from gossamer.store.sites import SiteSummary

_FAILED_SHOWN = 1_000  # failed domains of a status


@dataclass(frozen=True, slots=True)
class Status:
    """All data of a status report."""

    now: datetime
    runner: int | None
    ended: Ended
    failed: tuple[SiteSummary, ...]
    alerts: tuple[Alert, ...]
    checkpoint: Checkpoint | None
    outlook: Outlook | None


async def ended(view: View, job: Text) -> Ended:
    """For last words."""
    found, database = await view.job(job)
    return await _ended(view, database, found)


async def _ended(view: View, database: Database, job: Job) -> Ended:
    found = await database.read(read_ended, job, view.prices)
    return replace(found, progress=await view.ahead(database, job, found.progress))


async def status(view: View, job: Text) -> Status:
    found, database = await view.job(job)
    return Status(
        view.now,
        await view.runner(),
        await _ended(view, database, found),
        tuple(await database.read(sites.summaries, found.id, SiteState.FAILED, limit=_FAILED_SHOWN)),
        tuple(await database.read(alerts.of_job, found.id)),
        await database.read(counters.last, found.id),
        await kept.outlook(view, database, found),
    )
