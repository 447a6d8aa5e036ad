"""Guards of one process that stop jobs which cannot go on.

Pages wait for a provider that is unusable; after too long a wait the job is paused, and at once if its key or credits
are refused, since only a person can solve that. A job whose recipe fails on every page is failed.
"""

from collections.abc import Set
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.gate import Breakers
from gossamer.judge.next_step import in_words
from gossamer.logging import get_logger
from gossamer.model.alert import FAILURES, PAUSES, AlertKind
from gossamer.model.breaker import BreakerStanding, trouble_of
from gossamer.model.ids import short
from gossamer.model.rungs import job_of_key, providers
from gossamer.model.states import JobState, PageState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.step import PageStep
from gossamer.store import jobs
from gossamer.store.jobs import pause_automatically

_GRAVE = {Reason.PROVIDER_KEY: AlertKind.PROVIDER_KEY, Reason.PROVIDER_CREDITS: AlertKind.PROVIDER_CREDITS}

ENOUGH = 20  # pages, none of which could be read, until the job fails
_MINUTE = timedelta(minutes=1)

log = get_logger(__name__)


@dataclass(slots=True)
class _Need:
    """A job whose pages wait for a provider."""

    since: float
    refused: Trouble | None = None  # by the answer to one of its own requests


class ProviderGuard:
    """Jobs of this process that wait for a provider, from their first waiting page until the provider works again."""

    def __init__(self, database: Database, clock: Clock, breakers: Breakers, patience: timedelta) -> None:
        self._database = database
        self._clock = clock
        self._breakers = breakers
        self._patience = patience.total_seconds()
        self._needs: dict[tuple[UUID, str], _Need] = {}

    def note(self, job_id: UUID, provider: str, trouble: Trouble, *, heard: bool) -> None:
        """Note that a page waits for the provider; `heard`: the provider itself has just answered so."""
        need = self._needs.setdefault((job_id, provider), _Need(self._clock.monotonic()))
        if heard and trouble.reason in _GRAVE:
            need.refused = trouble

    def jobs(self) -> set[UUID]:
        return {job_id for job_id, _ in self._needs}

    async def look(self, running: Set[UUID]) -> set[UUID]:
        """Check once a second; return the jobs that were paused, whose crawls must stop."""
        # A job that is resumed waits for the full time again.
        self._needs = {key: need for key, need in self._needs.items() if key[0] in running}
        paused = set()
        for provider in sorted({provider for _, provider in self._needs}):
            standing = await self._breakers.look(f"provider:{provider}")
            for (job_id, of), need in list(self._needs.items()):
                if of != provider:
                    continue
                if why := self._why(need, standing):
                    await self._pause(job_id, provider, why, standing.down)
                    paused.add(job_id)
                elif not standing.open and not standing.in_a_row:
                    del self._needs[job_id, of]
        return paused

    def _why(self, need: _Need, standing: BreakerStanding) -> Trouble | None:
        """Return the reason why the job must be paused; None if it need not be."""
        if need.refused:
            return need.refused
        if not standing.open:
            return None
        trouble = trouble_of(standing)
        waited = self._clock.monotonic() - need.since
        # A failure from before the job needed the provider, or was resumed, may be repaired by now.
        if standing.failed.total_seconds() < waited and (trouble.reason in _GRAVE or self._is_long(standing)):
            return trouble
        return trouble if waited >= self._patience else None

    def _is_long(self, standing: BreakerStanding) -> bool:
        """Return True if the provider has been down for longer than jobs wait, whichever job found it first."""
        return standing.down.total_seconds() >= self._patience

    async def _pause(self, job_id: UUID, provider: str, trouble: Trouble, down: timedelta) -> None:
        title, _, why = trouble.detail.partition(": ")
        kind = _GRAVE.get(trouble.reason, AlertKind.PROVIDER)
        if kind is AlertKind.PROVIDER_KEY and job_of_key(provider):
            kind = AlertKind.JOB_KEY
        said = PAUSES[kind].format(
            provider=title or provider,
            why=why or "no answer",
            time=in_words(max(self._patience, down // _MINUTE * 60.0)),
            setting=_key_setting(provider),
            job=short(job_id),
        )
        if await self._database.write(pause_automatically, job_id, kind, said):
            log.error("provider.unusable", provider=provider, job=short(job_id), why=trouble.sentence)


def _key_setting(provider: str) -> str:
    row = providers().get(provider)
    return row.access.variable if row and row.access else "its key"


class RecipeFailures:
    """Jobs of this process whose recipe has failed on every page so far."""

    def __init__(self, database: Database, enough: int = ENOUGH) -> None:
        self._database = database
        self._enough = enough
        self._failures: dict[UUID, int] = {}
        self._errors: dict[UUID, str] = {}
        self._sound: set[UUID] = set()  # jobs that have read a page: not every page fails

    def note(self, job_id: UUID, step: PageStep) -> None:
        if job_id in self._sound:
            return
        if step.state is PageState.DONE:
            self._sound.add(job_id)
            self._failures.pop(job_id, None)
        elif step.trouble and step.trouble.reason is Reason.INTERNAL:
            self._failures[job_id] = self._failures.get(job_id, 0) + 1
            self._errors[job_id] = step.trouble.detail

    async def look(self) -> set[UUID]:
        """Fail jobs, once a second, whose recipe fails on every page; return those, whose crawls must stop."""
        hopeless = {job_id for job_id, pages in self._failures.items() if pages >= self._enough}
        for job_id in hopeless:
            pages = self._failures.pop(job_id)
            log.error("job.hopeless", job=short(job_id), pages=pages, error=self._errors[job_id])
            await self._database.write(_fail, job_id, pages, self._errors[job_id])
        return hopeless

    def forget(self, held: set[UUID]) -> None:
        """Forget all jobs that are no longer crawled here."""
        self._sound &= held
        for job_id in set(self._failures) - held:
            del self._failures[job_id]
        for job_id in set(self._errors) - held:
            del self._errors[job_id]


def _fail(tx: Tx, job_id: UUID, pages: int, error: str) -> None:
    job = jobs.get(tx, job_id)
    if job:
        why = FAILURES["recipe"].format(recipe=job.recipe, pages=pages, error=error, job=short(job_id))
        jobs.move(tx, job_id, JobState.FAILED, why, who="worker")


def fail_for_params(tx: Tx, job_id: UUID, error: str) -> None:
    """Fail a job whose recipe refuses its parameters, for example after an upgrade."""
    jobs.move(tx, job_id, JobState.FAILED, FAILURES["params"].format(error=error), who="worker")
