"""Live updates of running jobs: one read per job and interval, for any number of clients."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from gossamer.api import views
from gossamer.crawl.remaining_work import RemainingWork
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import GossamerError, StorageAway
from gossamer.model.job import Job, Progress
from gossamer.model.states import OVER, JobState
from gossamer.store import counters, events, jobs, visits
from gossamer.store.accounts import AccountScopedDatabase, NotTheirs
from gossamer.store.events import Line

EVERY = 0.25  # minimum seconds between two updates of a job
PASSING = 5.0  # and between two that only have another speed or estimate
HEARTBEAT = 15.0  # seconds of silence after which a heartbeat is sent
BEHIND = 16  # updates that may wait for a slow reader
_MOST_EVENTS = 200  # in one update
_CATCH_UP = 5_000  # in the first update, for clients that reconnect
_STOPPED = (JobState.CANCELLED, JobState.FAILED)


@dataclass(frozen=True, slots=True)
class Update:
    """State of a job, and its events since the previous update."""

    job: Job
    progress: Progress
    events: tuple[Line, ...]
    last: UUID | None  # id of the last event, to continue from
    is_more: bool = False  # more events exist or may follow, though the job is over: pages are still in flight

    @property
    def is_last(self) -> bool:
        return self.job.state in OVER and not self.is_more

    def is_news(self, former: "Update") -> bool:
        return bool(self.events) or (self.job, _lasting(self.progress)) != (former.job, _lasting(former.progress))

    def differs(self, former: "Update") -> bool:
        """Compare a running job's figures too, including those that change with time alone."""
        return self.job.state is JobState.RUNNING and self.progress != former.progress

    def since(self, seen: UUID | None) -> "Update":
        return replace(self, events=tuple(one for one in self.events if not seen or one.id > seen))

    def as_json(self) -> dict[str, Any]:
        return {
            "type": "end" if self.is_last else "update",
            "job": views.JobView(**views.job_fields(self.job, doing=self.progress.doing)).model_dump(mode="json"),
            "progress": views.counts(self.job, self.progress).model_dump(mode="json"),
            "events": [
                {
                    "id": str(one.id),
                    "at": one.event.at.isoformat(),
                    "kind": one.event.kind,
                    "why": one.event.why,
                    "site": one.host,
                }
                for one in self.events
            ],
        }


def _lasting(progress: Progress) -> Progress:
    """Return the progress without the figures that change with time alone."""
    return replace(
        progress,
        sites_recently=0,
        window=timedelta(),
        pages_recently=0,
        pages_window=timedelta(),
        ahead=None,
    )


class TooSlow(GossamerError):
    """A client reads too slowly. It can reconnect and continue where it was."""


class Follower:
    """One client's queue of updates."""

    def __init__(self, first: Update) -> None:
        self._waiting: asyncio.Queue[Update | None] = asyncio.Queue(BEHIND)
        self._last = first.last
        self._first: Update | None = first
        self._is_behind = False

    def tell(self, update: Update) -> None:
        try:
            self._waiting.put_nowait(update)
        except asyncio.QueueFull:
            self._is_behind = True

    def leave(self) -> None:
        """End the stream: the server is stopping, or the job was deleted."""
        with suppress(asyncio.QueueFull):
            self._waiting.put_nowait(None)

    async def next(self) -> Update | None:
        """Return the next update; None at the end. Raises `TimeoutError` after silence, `TooSlow` on overflow."""
        if self._first:
            first, self._first = self._first, None
            return first
        if self._is_behind:
            raise TooSlow("You read more slowly than the job goes. Come again with the id of the last event.")
        async with asyncio.timeout(HEARTBEAT):
            update = await self._waiting.get()
        if update is None:
            return None
        update = update.since(self._last)
        if update.last and (self._last is None or update.last > self._last):
            self._last = update.last  # a client that joined later may have seen more than the others
        return update


class Live:
    """The jobs that clients of this server follow."""

    def __init__(self, database: Database, remaining_work: RemainingWork) -> None:
        self._database = database
        self._remaining_work = remaining_work
        self._followers: dict[tuple[str, UUID], set[Follower]] = {}
        self._tasks: dict[tuple[str, UUID], asyncio.Task[None]] = {}

    @asynccontextmanager
    async def follow(self, account: str, job_id: UUID, after: UUID | None) -> AsyncIterator[Follower]:
        """Follow a job: start with its state and the events since `after`, or no earlier events if it is None."""
        fenced = AccountScopedDatabase(self._database, account, job_id)
        if after is None:
            after = await fenced.read(events.last_event, job_id)
        first = await self._look(fenced, job_id, after, _CATCH_UP)
        follower = Follower(first)
        place = (account, job_id)
        self._followers.setdefault(place, set()).add(follower)
        if place not in self._tasks:
            self._tasks[place] = asyncio.create_task(self._watch(place, fenced, first.last))
        try:
            yield follower
        finally:
            self._followers[place].discard(follower)
            if not self._followers[place]:
                del self._followers[place]
                if task := self._tasks.pop(place, None):
                    task.cancel()

    def stop(self) -> None:
        """End all streams."""
        for followers in self._followers.values():
            for follower in followers:
                follower.leave()

    async def _look(
        self, fenced: AccountScopedDatabase, job_id: UUID, after: UUID | None, most: int = _MOST_EVENTS
    ) -> Update:
        update = await fenced.read(_look, job_id, after, most)
        return replace(update, progress=await self._remaining_work.add(fenced, update.job, update.progress))

    async def _watch(self, place: tuple[str, UUID], fenced: AccountScopedDatabase, after: UUID | None) -> None:
        job_id = place[1]
        told: Update | None = None
        told_at = 0.0
        while True:
            await asyncio.sleep(EVERY)
            try:
                update = await self._look(fenced, job_id, after)
            except StorageAway:
                continue  # retried until the database is back or the server stops
            except NotTheirs:
                for follower in self._followers.get(place, ()):
                    follower.leave()
                return
            now, after = time.monotonic(), update.last
            passes = told is not None and now - told_at >= PASSING and update.differs(told)
            if told is None or passes or update.is_news(told) or update.is_last:
                told, told_at = update, now
                for follower in self._followers.get(place, ()):
                    follower.tell(update)
            if update.is_last:
                self._tasks.pop(place, None)
                return


def _look(tx: Tx, job_id: UUID, after: UUID | None, most: int) -> Update:
    job = jobs.get(tx, job_id)
    if job is None:
        raise NotTheirs(f"There is no job {job_id}.")
    happened = events.happened(tx, job_id, after, most)
    # A stopped job has pages in flight for a while, and they count. A completed one has no page left.
    in_flight = job.state in _STOPPED and visits.is_walked(tx, job_id)
    last = happened[-1].id if happened else after
    return Update(job, counters.progress(tx, job_id), tuple(happened), last, in_flight or len(happened) == most)
