"""Control jobs and visits: start, pause, resume, cancel, retry. An illegal step is refused, naming the legal ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn, TypeAlias
from uuid import UUID

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.intake.limits import hold_back, refuse_spent, set_limits
from gossamer.intake.submit import LAST, check_name
from gossamer.intake.typed_id import WRITTEN_IN, NotAnId, Several, find_id, whole_id
from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.money import Cap
from gossamer.model.states import JobState
from gossamer.store import accounts, alerts, budgets, conclusions, dead_letters, events, jobs, reclaim, retry
from gossamer.store.dead_letters import DeadLetter

Room: TypeAlias = Callable[[Tx, UUID], bool]
"""Checks the quota before a job starts: True if it may start, False if it waits. Raises UserError if it can't wait."""

SITES_AT_A_TIME = 500  # reopened in one transaction

# Possible commands by the state of a job.
POSSIBLE = {
    JobState.PENDING: ("start", "cancel"),
    JobState.RUNNING: ("watch", "pause", "cancel"),
    JobState.PAUSING: ("resume", "cancel"),
    JobState.PAUSED: ("resume", "retry-failed", "cancel"),
    JobState.COMPLETED: ("retry-failed", "export"),
    JobState.FAILED: ("resume", "retry-failed", "export"),
    JobState.CANCELLED: ("resume", "retry-failed", "export"),
    JobState.ARCHIVED: ("status", "history"),
}
_RESUMABLE = (JobState.PAUSED, JobState.PAUSING, JobState.CANCELLED, JobState.FAILED)
_RETRIABLE = (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED, JobState.PAUSED)


@dataclass(frozen=True, slots=True)
class Retried:
    """Counts of what a job retries: failed domains, and pages, including those of other domains.

    Unfinished domains of a completed job count as failed domains: they would not be continued otherwise.
    """

    sites: int = 0
    pages: int = 0


async def find_job(database: Database, text: str, owner: str | None = None) -> Job:
    """Find a job by an id, a part of one, `last`, or its name; with `owner`, only among the jobs of that account.

    An id takes precedence over a name, because actions on the wrong job may be irreversible.
    """
    identifier = whole_id(text)
    if identifier is None:
        identifier = await _meant(database, text.strip(), owner)
    if owner is None:
        job = await database.read(jobs.get, identifier)
    else:
        job = await database.read(accounts.job, owner, identifier)
    if job is None:
        raise _not_found(text)
    return job


async def _meant(database: Database, text: str, owner: str | None) -> UUID:
    if text.lower() == LAST:
        newest = await database.read(jobs.recent, 1, account=owner)
        newest = newest or await database.read(jobs.recent, 1, jobs.JobFilter(of_pages=True), owner)
        if newest:
            return newest[0].id
        raise UserError("job.not_found", "There is no job yet.", hint="Start one with 'gossamer job run'.")
    matching = jobs.matching if owner is None else partial(_matching, owner)
    found = await find_id(database, text, matching)
    if isinstance(found, UUID):
        return found
    if isinstance(found, Several):
        raise UserError(
            "job.ambiguous", f"{text!r} fits more than one job: {found.some}.", hint="Give more characters."
        )
    same = await database.read(jobs.named, text, owner) if text else []
    if len(same) > 1:
        listed = ", ".join(
            f"{short(one.id)} ({one.state}, {one.created_at.astimezone():%Y-%m-%d %H:%M})" for one in same
        )
        raise UserError("job.ambiguous", f"{text!r} is the name of more than one job: {listed}.", hint="Give an id.")
    if same:
        return same[0].id
    if isinstance(found, NotAnId):
        raise UserError(
            "job.bad_id",
            f"{text!r} is not a job id, and no job has that name.",
            hint=f"Give {WRITTEN_IN} 'gossamer job list', a job's whole name, or 'last'.",
        )
    raise _not_found(text)


def _not_found(text: str) -> UserError:
    hint = "See 'gossamer job list' for the ones there are."
    return UserError("job.not_found", f"There is no job {text!r} here.", hint=hint)


def _matching(owner: str, tx: Tx, text: str) -> list[UUID]:
    return accounts.matching_jobs(tx, owner, text)


async def rename(database: Database, job: Job, name: str) -> Job:
    """Rename a job. Its exported files keep their names."""
    kept = check_name(name)
    if not await database.write(jobs.rename, job.id, kept):
        raise _not_found(str(job.id))
    return replace(job, name=kept)


async def start(database: Database, job: Job, room: Room | None = None) -> None:
    await _move(database, job, JobState.RUNNING, "start", from_states=(JobState.PENDING,), room=room)


async def pause(database: Database, job: Job) -> None:
    """Ask for a pause: the job is `pausing` until the last visit has been handed back."""
    if job.state not in (JobState.PAUSING, JobState.PAUSED):
        await _move(database, job, JobState.PAUSING, "pause")


async def resume(
    database: Database,
    job: Job,
    cap: Cap = Cap(),  # noqa: B008 - a frozen value
    room: Room | None = None,
) -> None:
    """Resume a job, with other limits if `cap` has any; for a running job only the limits change.

    A job that was paused at its limit resumes only with a higher one.
    """
    if not await database.write(_resume, job.id, cap, room):
        await _refuse(database, job, "resume")


def _resume(tx: Tx, identifier: UUID, cap: Cap, room: Room | None) -> bool:
    """Resume and change limits in one transaction: if either is refused, nothing is changed."""
    at_limit, before = events.stopped_by(tx, identifier) == AlertKind.BUDGET, budgets.of_job(tx, identifier).cap
    is_running = jobs.states(tx, [identifier]).get(identifier) is JobState.RUNNING
    if not is_running and not _move_by_hand(tx, identifier, JobState.RUNNING, _RESUMABLE, room):
        return False
    # After the job: budgets are locked last.
    if cap != Cap():
        set_limits(tx, identifier, cap)
    if at_limit:
        refuse_spent(tx, identifier, before)
    return True


async def cancel(database: Database, job: Job) -> None:
    if job.state is not JobState.CANCELLED:
        await _move(database, job, JobState.CANCELLED, "cancel")


async def retry_failed(database: Database, job: Job, room: Room | None = None) -> Retried:
    """Retry failures that may succeed by now; all zero, and nothing changed, if there are none."""
    if job.state not in _RETRIABLE:
        await _refuse(database, job, "retry-failed")
    waiting = await database.read(retry.candidates, job.id)
    done = Retried()
    while True:
        some, waiting = waiting[:SITES_AT_A_TIME], waiting[SITES_AT_A_TIME:]
        # After the first step the job runs, and may even be completed before the last one.
        origins = _RETRIABLE if done == Retried() else (JobState.RUNNING, JobState.COMPLETED)
        opened = await database.write(_retry_some, job.id, some, origins, done, room, last=not waiting)
        if opened is None:
            await _refuse(database, job, "retry-failed")
        if not waiting:
            return opened
        done = opened


def _retry_some(
    tx: Tx,
    identifier: UUID,
    ids: list[UUID],
    origins: tuple[JobState, ...],
    before: Retried,
    room: Room | None,
    *,
    last: bool,
) -> Retried | None:
    """Reopen some sites and start the job in one transaction; None if its state is not in `origins`."""
    if jobs.states(tx, [identifier]).get(identifier) not in origins:
        return None
    if room:
        room(tx, identifier)  # before the lock of the job, in the common lock order
    state = jobs.hold(tx, identifier)
    if state not in origins:
        return None
    left = retry.still_open(tx, identifier) if state is JobState.COMPLETED else 0
    opened = retry.reopen(tx, identifier, ids)
    done = Retried(before.sites + opened.sites + left, before.pages + opened.pages)
    if done != before:
        if before == Retried():
            conclusions.raise_generation(tx, identifier)
        at_limit = events.stopped_by(tx, identifier) == AlertKind.BUDGET
        _move_by_hand(tx, identifier, JobState.RUNNING, origins)
        if at_limit:
            refuse_spent(tx, identifier, budgets.of_job(tx, identifier).cap)
    if last and (done.sites or done.pages):
        events.add(tx, identifier, "job.retried", f"{done.sites} domains, {done.pages} pages", who="user")
    return done


async def settle_down(database: Database, home: str) -> None:
    """Move pausing jobs to paused when no worker is running. The caller holds the lock of the data folder."""
    await database.write(_settle_down, home)


def _settle_down(tx: Tx, home: str) -> None:
    reclaim.void_home(tx, home)
    conclusions.void_home(tx, home)
    for identifier in jobs.ready_to_rest(tx):
        jobs.move(tx, identifier, JobState.PAUSED)


_AS_ASKED: Mapping[JobState, frozenset[JobState]] = {
    JobState.PAUSING: frozenset({JobState.PAUSING, JobState.PAUSED}),
    JobState.RUNNING: frozenset({JobState.RUNNING}),
    JobState.CANCELLED: frozenset({JobState.CANCELLED}),
}


async def _move(
    database: Database,
    job: Job,
    target: JobState,
    verb: str,
    from_states: tuple[JobState, ...] | None = None,
    room: Room | None = None,
) -> None:
    if await database.write(_move_by_hand, job.id, target, from_states, room):
        return
    done = _AS_ASKED.get(target, frozenset())
    now = (await database.read(jobs.states, [job.id])).get(job.id)
    # Another request may have made the same change meanwhile.
    if job.state in done or now not in done:
        await _refuse(database, job, verb)


async def _refuse(database: Database, job: Job, verb: str) -> NoReturn:
    """Raise the error that names the job's present state and says what can be done instead."""
    now = await database.read(jobs.get, job.id)
    state = now.state if now else job.state
    raise UserError(
        "job.state", f"Job {short(job.id)} is {state}: it cannot {_PASSIVE[verb]}.", hint=_hint(state, job.id)
    )


def _move_by_hand(
    tx: Tx, identifier: UUID, target: JobState, from_states: tuple[JobState, ...] | None, room: Room | None = None
) -> bool:
    """Move a job by a user's request; False if its state does not allow the move.

    Without room the job waits in the queue, and nothing else is done.
    """
    if from_states is not None and jobs.states(tx, [identifier]).get(identifier) not in from_states:
        return False
    if room and not room(tx, identifier):
        return True
    is_new = target is JobState.RUNNING and jobs.states(tx, [identifier]).get(identifier) is JobState.PENDING
    if is_new and not room and hold_back(tx, identifier):
        return True
    if not jobs.move(tx, identifier, target, who="user"):
        return False
    if target in (JobState.RUNNING, JobState.CANCELLED):
        # A manual action: its alerts are cleared.
        alerts.clear_of_job(tx, identifier)
    if target is JobState.RUNNING:
        # And its time limit starts again.
        jobs.begin_anew(tx, identifier)
    return True


_PASSIVE = {
    "start": "be started",
    "pause": "be paused",
    "resume": "be resumed",
    "cancel": "be cancelled",
    "retry-failed": "try again what failed",
}


def _hint(state: JobState, identifier: UUID) -> str:
    rest = {"export": " --output results.csv"}
    possible = [f"'gossamer job {verb} {short(identifier)}{rest.get(verb, '')}'" for verb in POSSIBLE[state]]
    return f"Possible now: {', '.join(possible)}."


_LIST = "'gossamer system dead-letters list'"


async def find_letter(database: Database, text: str) -> DeadLetter:
    """Find a dead letter by its id or a part of it."""
    letter: DeadLetter | None = None
    match await find_id(database, text, dead_letters.matching):
        case NotAnId():
            raise UserError(
                "dead_letters.bad_id",
                f"{text!r} is not the id of a dead letter.",
                hint=f"Give {WRITTEN_IN} {_LIST}.",
            )
        case Several(some):
            raise UserError(
                "dead_letters.ambiguous",
                f"{text!r} fits more than one dead letter: {some}.",
                hint="Give more characters.",
            )
        case UUID() as identifier:
            letter = await database.read(dead_letters.get, identifier)
    if letter is None:
        raise UserError(
            "dead_letters.not_found",
            f"There is no dead letter {text!r} here; it may have been retried or dropped.",
            hint=f"See {_LIST} for the ones there are.",
        )
    return letter


async def retry_letter(database: Database, letter: DeadLetter) -> None:
    """Retry a dead letter: its visit continues from its stored state."""
    if not await database.write(dead_letters.retry, letter.id):
        raise _letter_gone(letter)


async def drop_letter(database: Database, letter: DeadLetter) -> None:
    """Hide a dead letter; its site stays failed."""
    if not await database.write(dead_letters.drop, letter.id):
        raise _letter_gone(letter)


def _letter_gone(letter: DeadLetter) -> UserError:
    return UserError(
        "dead_letters.not_found",
        f"Dead letter {short(letter.id)} was retried or dropped just now.",
        hint=f"See {_LIST} for the ones there are.",
    )
