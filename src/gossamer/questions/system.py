"""Questions about the whole house, and orders for it: both are the operator's."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gossamer.db import health as rows
from gossamer.db import schema
from gossamer.db.database import SqliteDatabase
from gossamer.db.health import Server
from gossamer.db.schema import revision
from gossamer.intake import control as intake
from gossamer.model.alert import Alert
from gossamer.model.ids import short
from gossamer.model.rungs import FLARESOLVERR, Experience
from gossamer.model.states import JobState
from gossamer.model.worker import Worker
from gossamer.questions.limits import Few, Text
from gossamer.questions.view import View
from gossamer.retention.files import FileSweeper
from gossamer.retention.service import Outlook, Retainer, RetentionReport
from gossamer.store import alerts as alert_rows
from gossamer.store import dead_letters, jobs, pace, queue, rung_stats
from gossamer.store import workers as worker_rows
from gossamer.store.dead_letters import DeadLetter
from gossamer.store.pace import Done
from gossamer.store.queue import BackgroundLine, QueueLine
from gossamer.store.workers import SharedSetting, Unattended

_DIGEST = "$argon2"
WINDOW = timedelta(minutes=5)  # of which figures tell how much was done


@dataclass(frozen=True, slots=True)
class Workers:
    now: datetime
    workers: tuple[Worker, ...]
    runner: int | None  # the process that works the home by itself, 0 if it is another home's; None if there is none
    is_cluster: bool  # whether workers could be started
    older: str = ""  # the revision of a database that is yet to be upgraded


@dataclass(frozen=True, slots=True)
class Queue:
    lanes: tuple[QueueLine, ...]
    desks: tuple[BackgroundLine, ...]
    workers: tuple[Worker, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """All of them from rows; what was done is of the last minutes."""

    workers: tuple[Worker, ...]
    lanes: tuple[QueueLine, ...]
    done: Done
    paces: Mapping[str, float]  # domains per minute of each running job, by its short id
    calls: Mapping[str, int]  # paid requests, by provider
    solved: Experience  # of FlareSolverr, as far as it is remembered
    jobs: Mapping[str, int]  # by state
    attention: Unattended
    server: Server | None


async def workers(view: View) -> Workers:
    app = view.house()
    elsewhere = await view.runner()
    found = await app.database.read(revision)
    return Workers(
        await app.database.read(rows.database_time),
        tuple(await app.database.read(worker_rows.known)),
        app.lock.holder() or elsewhere,
        bool(app.settings.redis_url) and not isinstance(app.database, SqliteDatabase),
        "" if found in (None, schema.HEAD) else str(found),
    )


async def shared_settings(view: View) -> list[SharedSetting]:
    """Return the settings that must be equal on all machines of the cluster; secrets are masked."""
    found = await view.house().database.read(worker_rows.shared_settings)
    return [replace(one, value="set") if one.value.startswith(_DIGEST) else one for one in found]


async def forget_shared_settings(view: View) -> int:
    """Let the next worker that joins say what they are; how many there were."""
    return await view.house().database.write(worker_rows.forget_shared_settings)


async def waiting(view: View) -> Queue:
    app = view.house()
    lanes = await app.database.read(queue.lines)
    at_desks = tuple(await app.database.read(queue.background_lines, app.desk_rules))
    return Queue(tuple(lanes), at_desks, tuple(await app.database.read(worker_rows.known)))


async def backlog(view: View, lane: Text) -> int:
    return await view.house().database.read(queue.backlog, lane)


async def figures(view: View) -> Figures:
    database = view.house().database
    return Figures(
        tuple(await database.read(worker_rows.known)),
        tuple(await database.read(queue.lines)),
        await database.read(pace.done_lately, WINDOW),
        {short(job): speed for job, speed in (await database.read(pace.sites_per_minute, WINDOW)).items()},
        await database.read(queue.calls_since, WINDOW),
        await database.read(rung_stats.overall, FLARESOLVERR.name),
        await database.read(queue.jobs_by_state),
        await database.read(worker_rows.waiting),
        await database.read(rows.server),
    )


async def alerts(view: View, limit: Few, *, cleared: bool = False) -> list[Alert]:
    return await view.house().database.read(alert_rows.recent, limit, cleared=cleared)


async def letters(view: View, limit: Few) -> list[DeadLetter]:
    return await view.house().database.read(dead_letters.recent, limit)


async def letter(view: View, text: Text) -> DeadLetter:
    return await intake.find_letter(view.house().database, text)


async def ahead(view: View) -> list[Outlook]:
    """When the results of which job are hidden and deleted."""
    app = view.house()
    return await Retainer(app.database, app.terms).outlook(view.now)


# What follows changes something.


@dataclass(frozen=True, slots=True)
class Revived:
    """A dead letter whose visit was reopened, with the current state of its job."""

    letter: DeadLetter
    job_state: JobState
    is_worked: bool  # somebody is there to walk it


async def revive(view: View, text: Text) -> Revived:
    database = view.house().database
    found = await intake.find_letter(database, text)
    await intake.retry_letter(database, found)
    job = await database.read(jobs.get, found.job_id)
    return Revived(found, job.state if job else found.job_state, await view.runner() is not None)


async def drop(view: View, text: Text) -> DeadLetter:
    database = view.house().database
    found = await intake.find_letter(database, text)
    await intake.drop_letter(database, found)
    return found


@dataclass(frozen=True, slots=True)
class Tidied:
    report: RetentionReport
    left: int  # files that could not be removed yet


async def tidy(view: View) -> Tidied:
    """Do now what is due of hiding and deleting."""
    app = view.house()
    retainer, done = Retainer(app.database, app.terms), RetentionReport(is_over=False)
    while not done.is_over:
        more = await retainer.pass_once(view.now)
        done = replace(
            more,
            hidden=done.hidden + more.hidden,
            shown=done.shown + more.shown,
            deleted=done.deleted + more.deleted,
            rows=done.rows + more.rows,
        )
    return Tidied(done, await FileSweeper(app.database, app.export_store(), app.page_files()).remove_now())
