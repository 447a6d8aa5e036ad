"""Detection of a blocked IP address by the share of a job's recent sites that refuse us, and what a process does then.

A single site that refuses us may have its own reasons. If many different sites do, the cause is our
IP address, and continuing as before makes it worse. Visits record refusals page by page; once a
second the process evaluates them; it raises an alert and slows down, then pauses the job if that
does not help.

A process sees only its share of the domains. They are distributed by a hash, so the share is a fair
sample of the job.
"""

from collections import OrderedDict
from collections.abc import Set
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from uuid import UUID

from gossamer.clock import Clock
from gossamer.crawl.domain_pacing import DomainPacing
from gossamer.crawl.redirects import Moved
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.judge.next_step import in_words
from gossamer.logging import get_logger
from gossamer.model.alert import AlertKind
from gossamer.model.document import Document
from gossamer.model.ids import short
from gossamer.model.trouble import Reason, Trouble
from gossamer.store import events, jobs
from gossamer.store.jobs import pause_automatically

BLOCKING = frozenset({Reason.BLOCKED, Reason.CAPTCHA, Reason.FORBIDDEN, Reason.RATE_LIMITED})
SLOWER = 2  # factor by which the spacing grows and the number of visits shrinks
MOST_SITES = 5_000  # kept per job: the latest are a sufficient sample

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds for detecting that sites block our IP address, and for detecting the end of the block."""

    window: timedelta = timedelta(minutes=5)
    too_many: float = 0.2  # of the sites in the window
    few: float = 0.1
    least_sites: int = 20  # fewer say nothing about the IP address
    least_blocking: int = 5
    patience: timedelta = timedelta(minutes=2)  # for slowing down to show an effect
    least_sites_since: int = 10  # by which the effect is judged


USUAL = Thresholds()


@dataclass(frozen=True, slots=True)
class Count:
    """The number of sites that block us, out of all sites in the window."""

    blocking: int
    sites: int

    @property
    def share(self) -> float:
        return self.blocking / self.sites if self.sites else 0.0


class Reaction(Enum):
    """Reactions to a change in the share of blocking sites."""

    SLOW_DOWN = "slow down"
    PAUSE = "pause"
    RECOVER = "recover"


@dataclass(frozen=True, slots=True)
class IpBlockFinding:
    """The reaction due for one job, with its count."""

    job_id: UUID
    change: Reaction
    count: Count


class JobRefusals:
    """The sites that one job requested within the window, and for each whether its latest answer blocked us."""

    __slots__ = ("_blocking", "_clock", "_latest", "_window")

    def __init__(self, clock: Clock, window: timedelta) -> None:
        self._clock = clock
        self._window = window.total_seconds()
        self._latest: OrderedDict[str, tuple[float, bool]] = OrderedDict()  # by site, oldest first
        self._blocking = 0

    def note(self, host: str, outcome: Document | Moved | Trouble) -> None:
        """Note the outcome of a page. Other failures than refusals, such as a 404 or a timeout, are ignored."""
        if isinstance(outcome, Document):
            blocking = False
        elif isinstance(outcome, Trouble) and outcome.reason in BLOCKING:
            blocking = True
        else:
            return
        before = self._latest.get(host)
        self._latest[host] = (self._clock.monotonic(), blocking)
        if before is not None:
            self._latest.move_to_end(host)
            self._blocking -= before[1]
        elif len(self._latest) > MOST_SITES:
            self._drop_oldest()
        self._blocking += blocking

    def count(self) -> Count:
        """Count all sites of the window."""
        begin = self._clock.monotonic() - self._window
        while self._latest and next(iter(self._latest.values()))[0] <= begin:
            self._drop_oldest()
        return Count(self._blocking, len(self._latest))

    def count_since(self, moment: float) -> Count:
        """Count only the sites requested since a moment."""
        sites = blocking = 0
        for at, blocked in reversed(self._latest.values()):
            if at <= moment:
                break
            sites += 1
            blocking += blocked
        return Count(blocking, sites)

    def _drop_oldest(self) -> None:
        _, (_, blocking) = self._latest.popitem(last=False)
        self._blocking -= blocking


class IpBlockDetector:
    """Detection for all jobs of a process.

    Each job is judged by its own sites, because lists of sites differ in how many refuse crawlers.
    """

    def __init__(self, clock: Clock, thresholds: Thresholds = USUAL) -> None:
        self.thresholds = thresholds
        self._clock = clock
        self._refusals: dict[UUID, JobRefusals] = {}
        self._slowed: dict[UUID, float] = {}  # jobs that are slowed down, and since when

    @property
    def slow(self) -> bool:
        """True if any job should be slowed down."""
        return bool(self._slowed)

    def jobs(self) -> set[UUID]:
        return set(self._refusals)

    def refusals(self, job_id: UUID) -> JobRefusals:
        """Return the record in which the visits of a job note refusals."""
        known = self._refusals.get(job_id)
        if known is None:
            known = self._refusals[job_id] = JobRefusals(self._clock, self.thresholds.window)
        return known

    def forget(self, job_id: UUID) -> None:
        """Forget a job that no longer runs."""
        self._refusals.pop(job_id, None)
        self._slowed.pop(job_id, None)

    def look(self) -> list[IpBlockFinding]:
        """Return the changes since the last check. A job that should pause is included until it is forgotten."""
        found = []
        for job_id, refusals in self._refusals.items():
            count = refusals.count()
            change = self._judge(job_id, refusals, count)
            if change:
                found.append(IpBlockFinding(job_id, change, count))
        return found

    def _judge(self, job_id: UUID, refusals: JobRefusals, count: Count) -> Reaction | None:
        now = self._clock.monotonic()
        slowed_at = self._slowed.get(job_id)
        if slowed_at is None:
            if not self._is_alarming(count):
                return None
            self._slowed[job_id] = now
            return Reaction.SLOW_DOWN
        if count.share < self.thresholds.few:
            del self._slowed[job_id]
            return Reaction.RECOVER
        if now - slowed_at < self.thresholds.patience.total_seconds() or not self._is_alarming(count):
            return None
        # The window still includes answers from before slowing down; only later ones show whether it has helped.
        since = refusals.count_since(slowed_at)
        helped = since.sites < self.thresholds.least_sites_since or since.share <= self.thresholds.too_many
        return None if helped else Reaction.PAUSE

    def _is_alarming(self, count: Count) -> bool:
        limits = self.thresholds
        enough = count.sites >= limits.least_sites and count.blocking >= limits.least_blocking
        return enough and count.share > limits.too_many


class IpBlockGuard:
    """Reactions of a process. It slows down all of its jobs, because they share an IP address."""

    def __init__(self, database: Database, pacing: DomainPacing, detector: IpBlockDetector) -> None:
        self._database = database
        self._pacing = pacing
        self._detector = detector
        self._notes: dict[UUID, str] = {}

    async def begin(self) -> None:
        """Clear the notes of an earlier process: a process starts at the usual speed."""
        if await self._database.read(jobs.any_note):
            await self._database.write(jobs.clear_notes)

    def jobs(self) -> set[UUID]:
        return self._detector.jobs()

    def refusals(self, job_id: UUID) -> JobRefusals:
        return self._detector.refusals(job_id)

    def room(self, capacity: int) -> int:
        """Return how many visits may be crawled at a time."""
        return max(1, capacity // SLOWER) if self._detector.slow else capacity

    async def look(self, running: Set[UUID]) -> set[UUID]:
        """Check once a second; return the jobs that were paused, whose crawls must stop."""
        for job_id in self._detector.jobs() - running:
            self._forget(job_id)
        found = self._detector.look()
        for finding in found:
            await self._act(finding)
        self._pacing.slow_down(SLOWER if self._detector.slow else 1)
        return {finding.job_id for finding in found if finding.change is Reaction.PAUSE}

    async def _act(self, finding: IpBlockFinding) -> None:
        job_id, count = finding.job_id, finding.count
        figures = {"job": short(job_id), "blocking": count.blocking, "sites": count.sites}
        match finding.change:
            case Reaction.SLOW_DOWN:
                log.warning("address.blocked", **figures)
                self._notes[job_id] = f"{count.blocking} of {count.sites} sites block this address: slowing down"
                await self._database.write(_slow_down, job_id, self._notes[job_id])
            case Reaction.RECOVER:
                log.info("address.recovered", **figures)
                why = f"{count.blocking} of {count.sites} sites block this address: back to the usual speed"
                await self._database.write(_recover, job_id, self._notes.pop(job_id), why)
            case Reaction.PAUSE:
                log.warning("address.still_blocked", **figures)
                await self._database.write(pause_automatically, job_id, AlertKind.ADDRESS, self._why_paused(finding))
                self._forget(job_id)

    def _why_paused(self, finding: IpBlockFinding) -> str:
        time = in_words(self._detector.thresholds.window.total_seconds())
        return (
            f"Many sites are blocking this address ({finding.count.blocking} of {finding.count.sites} in {time}). "
            "Paused so that it does not get worse. Wait some hours, lower GOSSAMER_DOMAIN_RATE or set GOSSAMER_PROXY, "
            f"then resume with 'gossamer job resume {short(finding.job_id)}'."
        )

    def _forget(self, job_id: UUID) -> None:
        self._detector.forget(job_id)
        self._notes.pop(job_id, None)


def _slow_down(tx: Tx, job_id: UUID, why: str) -> None:
    if jobs.set_note(tx, job_id, why):
        events.add(tx, job_id, "address.blocked", why)


def _recover(tx: Tx, job_id: UUID, said: str, why: str) -> None:
    jobs.withdraw_note(tx, job_id, said)
    events.add(tx, job_id, "address.recovered", why)
