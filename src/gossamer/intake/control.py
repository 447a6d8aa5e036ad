"""Steering a job that exists. What is not legal from its state is refused, saying what is."""

from uuid import UUID

from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.store import jobs, reclaim
from gossamer.store.database import Database
from gossamer.store.tx import Tx

SHORTEST_ID = 4

# What a person can do with a job, by its state.
POSSIBLE = {
    JobState.PENDING: ("start", "cancel"),
    JobState.RUNNING: ("pause", "cancel"),
    JobState.PAUSING: ("resume", "cancel"),
    JobState.PAUSED: ("resume", "cancel"),
    JobState.COMPLETED: (),
    JobState.FAILED: ("resume",),
    JobState.CANCELLED: ("resume",),
    JobState.ARCHIVED: (),
}


async def find_job(database: Database, text: str) -> Job:
    """The job a person means by a whole id, its beginning or its end."""
    digits = text.strip().lower().replace("-", "")
    if len(digits) < SHORTEST_ID or not all(digit in "0123456789abcdef" for digit in digits):
        raise UserError(
            "job.bad_id",
            f"{text!r} is not a job id.",
            hint=f"Give at least {SHORTEST_ID} characters of an id as shown by 'gossamer job list'.",
        )
    found = await database.read(jobs.matching, digits)
    if not found:
        raise UserError(
            "job.not_found", f"There is no job {text!r} here.", hint="See 'gossamer job list' for the ones there are."
        )
    if len(found) > 1:
        some = ", ".join(short(identifier) for identifier in found[:4]) + (", ..." if len(found) > 4 else "")
        raise UserError("job.ambiguous", f"{text!r} fits more than one job: {some}.", hint="Give more characters.")
    job = await database.read(jobs.get, found[0])
    if job is None:
        raise UserError("job.not_found", f"Job {text!r} was deleted just now.", hint="See 'gossamer job list'.")
    return job


async def start(database: Database, job: Job) -> None:
    await _move(database, job, JobState.RUNNING, "start", from_states=(JobState.PENDING,))


async def pause(database: Database, job: Job) -> None:
    """Ask for a pause: the job is `pausing` until the last visit has been handed back."""
    if job.state not in (JobState.PAUSING, JobState.PAUSED):
        await _move(database, job, JobState.PAUSING, "pause")


async def resume(database: Database, job: Job) -> None:
    """Let a job go on. One that runs already is left alone."""
    resumable = (JobState.PAUSED, JobState.PAUSING, JobState.CANCELLED, JobState.FAILED)
    if job.state is not JobState.RUNNING:
        await _move(database, job, JobState.RUNNING, "resume", from_states=resumable)


async def cancel(database: Database, job: Job) -> None:
    if job.state is not JobState.CANCELLED:
        await _move(database, job, JobState.CANCELLED, "cancel")


async def settle_down(database: Database, home: str) -> None:
    """With nobody working here, pausing jobs are paused. The caller holds the home."""
    await database.write(_settle_down, home)


def _settle_down(tx: Tx, home: str) -> None:
    reclaim.void_home(tx, home)
    for identifier in jobs.ready_to_rest(tx):
        jobs.move(tx, identifier, JobState.PAUSED)


async def _move(
    database: Database, job: Job, target: JobState, verb: str, from_states: tuple[JobState, ...] | None = None
) -> None:
    legal = from_states is None or job.state in from_states
    if legal and await database.write(_move_by_hand, job.id, target):
        return
    now = await database.read(jobs.get, job.id)
    state = now.state if now else job.state
    raise UserError(
        "job.state", f"Job {short(job.id)} is {state}: it cannot {_passive(verb)}.", hint=_hint(state, job.id)
    )


def _move_by_hand(tx: Tx, identifier: UUID, target: JobState) -> bool:
    return jobs.move(tx, identifier, target, who="user")


def _passive(verb: str) -> str:
    return {"start": "be started", "pause": "be paused", "resume": "be resumed", "cancel": "be cancelled"}[verb]


def _hint(state: JobState, identifier: UUID) -> str:
    possible = POSSIBLE[state]
    if not possible:
        return f"Its results: 'gossamer job results {short(identifier)}'."
    return "Possible now: " + ", ".join(f"'gossamer job {verb} {short(identifier)}'" for verb in possible) + "."
