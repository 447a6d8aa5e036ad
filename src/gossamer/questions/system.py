"""Queries and commands of the operator: workers, queue, alerts, dead letters, retention and spending."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from uuid import UUID

from gossamer.app import App, provider_desk, provider_rungs
from gossamer.billing.prices import PriceList
from gossamer.db import health as rows
from gossamer.db import schema
from gossamer.db.database import SqliteDatabase
from gossamer.db.health import DatabaseServer
from gossamer.db.schema import revision
from gossamer.db.transactions import Tx
from gossamer.fetch.providers import ProviderAccount, Unread
from gossamer.gate.local import MemoryPlaces
from gossamer.intake import control as intake
from gossamer.model.alert import Alert
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.money import Amount, Budget, Cap, Scope
from gossamer.model.rungs import FLARESOLVERR, Experience, provider_of
from gossamer.model.states import JobState
from gossamer.model.worker import Worker
from gossamer.questions.view import Few, Text, View
from gossamer.retention.service import FileSweeper, PlannedStep, Retainer, RetentionReport
from gossamer.store import alerts as alert_rows
from gossamer.store import budgets, charges, dead_letters, jobs, pace, queue_status, rung_stats
from gossamer.store import workers as worker_rows
from gossamer.store.charges import Expense
from gossamer.store.dead_letters import DeadLetter
from gossamer.store.pace import WorkDone
from gossamer.store.queue_status import BackgroundLine, QueueLine
from gossamer.store.workers import SharedSetting, Unattended

_DIGEST = "$argon2"
WINDOW = timedelta(minutes=5)  # period that the throughput figures cover


@dataclass(frozen=True, slots=True)
class Workers:
    now: datetime
    workers: tuple[Worker, ...]
    runner: int | None  # process id of the local runner, 0 if it belongs to another data folder; None if there is none
    is_cluster: bool  # whether workers could be started
    older: str = ""  # the revision of a database that needs an upgrade


@dataclass(frozen=True, slots=True)
class Queue:
    lanes: tuple[QueueLine, ...]
    desks: tuple[BackgroundLine, ...]
    workers: tuple[Worker, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of the system, read from rows; throughput covers the last minutes."""

    workers: tuple[Worker, ...]
    lanes: tuple[QueueLine, ...]
    done: WorkDone
    paces: Mapping[str, float]  # domains per minute of each running job, by its short id
    calls: Mapping[str, int]  # paid requests, by provider
    solved: Experience  # of FlareSolverr, from the statistics kept per site
    jobs: Mapping[str, int]  # by state
    attention: Unattended
    server: DatabaseServer | None


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
    """Delete the shared settings, which the next worker sets anew; return how many there were."""
    return await view.house().database.write(worker_rows.forget_shared_settings)


async def waiting(view: View) -> Queue:
    app = view.house()
    lanes = await app.database.read(queue_status.lines)
    at_desks = tuple(await app.database.read(queue_status.background_lines, app.desk_rules))
    return Queue(tuple(lanes), at_desks, tuple(await app.database.read(worker_rows.known)))


async def backlog(view: View, lane: Text) -> int:
    return await view.house().database.read(queue_status.backlog, lane)


async def figures(view: View) -> Figures:
    database = view.house().database
    return Figures(
        tuple(await database.read(worker_rows.known)),
        tuple(await database.read(queue_status.lines)),
        await database.read(pace.done_lately, WINDOW),
        {short(job): speed for job, speed in (await database.read(pace.sites_per_minute, WINDOW)).items()},
        await database.read(queue_status.calls_since, WINDOW),
        await database.read(rung_stats.overall, FLARESOLVERR.name),
        await database.read(queue_status.jobs_by_state),
        await database.read(worker_rows.waiting),
        await database.read(rows.server),
    )


async def alerts(view: View, limit: Few, *, cleared: bool = False) -> list[Alert]:
    return await view.house().database.read(alert_rows.recent, limit, cleared=cleared)


async def letters(view: View, limit: Few) -> list[DeadLetter]:
    return await view.house().database.read(dead_letters.recent, limit)


async def letter(view: View, text: Text) -> DeadLetter:
    return await intake.find_letter(view.house().database, text)


async def ahead(view: View) -> list[PlannedStep]:
    """Return when the results of each job will be hidden and deleted."""
    app = view.house()
    return await Retainer(app.database, app.terms).outlook(view.now)


# What follows changes something.


@dataclass(frozen=True, slots=True)
class Revived:
    """A dead letter whose visit was reopened, with the current state of its job."""

    letter: DeadLetter
    job_state: JobState
    is_worked: bool  # a worker is running that will crawl it


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
    """Hide and delete what is due now."""
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


_LONGEST = 12.0  # seconds for the balances of all providers together


@dataclass(frozen=True, slots=True)
class Spending:
    day: date
    today: Budget  # of the whole system
    month: Mapping[str, Budget]  # of each account
    providers_today: Mapping[str, Expense]
    providers_month: Mapping[str, Expense]
    by_job: tuple[tuple[Job | None, UUID, Amount], ...]  # this month, most expensive first
    caps: Mapping[Scope, Cap]
    prices: PriceList
    credit_usd: float
    books: Mapping[str, ProviderAccount | str]  # balances of the providers, or why they cannot be read


async def spending(view: View, *, ask: bool = True) -> Spending:
    """Return the current spending. With `ask`, the balances are requested from the providers."""
    app = view.house()
    return await app.database.read(_spending, app, await _read_books(app) if ask else {})


def _spending(tx: Tx, app: App, books: Mapping[str, ProviderAccount | str]) -> Spending:
    day = tx.now.date()
    today, month = budgets.today(tx)
    first = day.replace(day=1)
    spent = sorted(charges.by_job(tx, first, day).items(), key=lambda one: (-one[1].micros, one[0]))
    return Spending(
        day,
        today,
        month,
        charges.by_provider(tx, day, day),
        charges.by_provider(tx, first, day),
        tuple((jobs.get(tx, job_id), job_id, amount) for job_id, amount in spent),
        app.caps,
        app.prices,
        app.settings.credit_usd,
        books,
    )


async def _read_books(app: App) -> dict[str, ProviderAccount | str]:
    """Query, concurrently, the accounts of all configured providers that offer one."""
    names = list(dict.fromkeys(provider_of(rung) for rung in provider_rungs(app.settings)))
    if not names:
        return {}
    # No page is fetched, so limits need not be shared with other processes.
    desk = provider_desk(app.settings, app.clock, MemoryPlaces(app.clock), "accounts")

    async def ask(name: str) -> ProviderAccount | str | None:
        try:
            async with asyncio.timeout(_LONGEST):
                return await desk.read_books(name)
        except Unread as error:
            return str(error)
        except TimeoutError:
            return f"No answer in {_LONGEST:g} s"

    told = await asyncio.gather(*map(ask, names))
    return {name: one for name, one in zip(names, told, strict=True) if one is not None}
