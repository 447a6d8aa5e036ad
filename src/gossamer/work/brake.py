"""Reaction of a process to a blocked address: alert and slow down, then pause the job if that does not help."""

from collections.abc import Set
from uuid import UUID

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.judge.next_step import in_words
from gossamer.logging import get_logger
from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.store import events, jobs
from gossamer.store.jobs import pause_automatically
from gossamer.work.address import AddressWatch, Change, Finding, Sightings
from gossamer.work.governor import Governor

SLOWER = 2  # times the spacing, and so many times fewer visits

log = get_logger(__name__)


class Brake:
    """One per process. It slows down all jobs of the process: they come from the same address."""

    def __init__(self, database: Database, governor: Governor, watch: AddressWatch) -> None:
        self._database = database
        self._governor = governor
        self._watch = watch
        self._said: dict[UUID, str] = {}

    async def begin(self) -> None:
        """A process that starts is not slow, whatever the one before it said of its jobs when it died."""
        if await self._database.read(jobs.any_note):
            await self._database.write(jobs.clear_notes)

    def jobs(self) -> set[UUID]:
        return self._watch.jobs()

    def sightings(self, job_id: UUID) -> Sightings:
        return self._watch.sightings(job_id)

    def room(self, capacity: int) -> int:
        """Return how many visits may be crawled at a time."""
        return max(1, capacity // SLOWER) if self._watch.slow else capacity

    async def look(self, running: Set[UUID]) -> set[UUID]:
        """Once a second: act on what has changed. Returns the jobs it has paused, whose walks are to end."""
        for job_id in self._watch.jobs() - running:
            self._forget(job_id)
        found = self._watch.look()
        for finding in found:
            await self._act(finding)
        self._governor.slow_down(SLOWER if self._watch.slow else 1)
        return {finding.job_id for finding in found if finding.change is Change.PAUSE}

    async def _act(self, finding: Finding) -> None:
        job_id, count = finding.job_id, finding.count
        figures = {"job": short(job_id), "blocking": count.blocking, "sites": count.sites}
        match finding.change:
            case Change.SLOW_DOWN:
                log.warning("address.blocked", **figures)
                self._said[job_id] = f"{count.blocking} of {count.sites} sites block this address: slowing down"
                await self._database.write(_slow_down, job_id, self._said[job_id])
            case Change.RECOVER:
                log.info("address.recovered", **figures)
                why = f"{count.blocking} of {count.sites} sites block this address: back to the usual speed"
                await self._database.write(_recover, job_id, self._said.pop(job_id), why)
            case Change.PAUSE:
                log.warning("address.still_blocked", **figures)
                await self._database.write(pause_automatically, job_id, AlertKind.ADDRESS, self._why_paused(finding))
                self._forget(job_id)

    def _why_paused(self, finding: Finding) -> str:
        time = in_words(self._watch.thresholds.window.total_seconds())
        return (
            f"Many sites are blocking this address ({finding.count.blocking} of {finding.count.sites} in {time}). "
            "Paused so that it does not get worse. Wait some hours, lower GOSSAMER_DOMAIN_RATE or set GOSSAMER_PROXY, "
            f"then resume with 'gossamer job resume {short(finding.job_id)}'."
        )

    def _forget(self, job_id: UUID) -> None:
        self._watch.forget(job_id)
        self._said.pop(job_id, None)


def _slow_down(tx: Tx, job_id: UUID, why: str) -> None:
    if jobs.set_note(tx, job_id, why):
        events.add(tx, job_id, "address.blocked", why)


def _recover(tx: Tx, job_id: UUID, said: str, why: str) -> None:
    jobs.withdraw_note(tx, job_id, said)
    events.add(tx, job_id, "address.recovered", why)
