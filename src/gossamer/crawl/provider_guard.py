"""Waiting for unusable providers: their failures fail no page; after too long a wait, the job is paused.

If the key or the credits are refused, only a person can solve that: the job is paused at once.
"""

from collections.abc import Set
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.gate import Breakers
from gossamer.judge.next_step import in_words
from gossamer.logging import get_logger
from gossamer.model.alert import PAUSES, AlertKind
from gossamer.model.breaker import BreakerStanding, trouble_of
from gossamer.model.ids import short
from gossamer.model.rungs import job_of_key, providers
from gossamer.model.trouble import Reason, Trouble
from gossamer.store.jobs import pause_automatically

_GRAVE = {Reason.PROVIDER_KEY: AlertKind.PROVIDER_KEY, Reason.PROVIDER_CREDITS: AlertKind.PROVIDER_CREDITS}

_MINUTE = timedelta(minutes=1)

log = get_logger(__name__)


@dataclass(slots=True)
class _Need:
    """A job whose pages wait for a provider."""

    since: float
    refused: Trouble | None = None  # by an answer to one of its own requests


class ProviderGuard:
    """Of one process. A job is in it from the first page that waits until the provider works again."""

    def __init__(self, database: Database, clock: Clock, breakers: Breakers, patience: timedelta) -> None:
        self._database = database
        self._clock = clock
        self._breakers = breakers
        self._patience = patience.total_seconds()
        self._needs: dict[tuple[UUID, str], _Need] = {}

    def note(self, job_id: UUID, provider: str, trouble: Trouble, *, heard: bool) -> None:
        """A page of the job waits for the provider; `heard`: that is what it was answered just now."""
        need = self._needs.setdefault((job_id, provider), _Need(self._clock.monotonic()))
        if heard and trouble.reason in _GRAVE:
            need.refused = trouble

    def jobs(self) -> set[UUID]:
        return {job_id for job_id, _ in self._needs}

    async def look(self, running: Set[UUID]) -> set[UUID]:
        """Once a second. The jobs it has paused, whose walks are to end."""
        # Whoever resumes a job has the whole time again.
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
        # What has failed before the job came to need it, or was resumed, may have been mended since.
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
