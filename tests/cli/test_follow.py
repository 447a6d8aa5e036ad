"""Who follows a job sees what it has to say beside its state."""

import asyncio
from pathlib import Path

from gossamer.app import open_app
from gossamer.cli.follow import Follower
from gossamer.cli.screen import QuietScreen
from gossamer.model.job import Job, Progress
from gossamer.model.states import JobState
from gossamer.runtime.home_lock import HomeLock
from gossamer.settings import Settings
from gossamer.store import jobs
from tests.jobs import make_job

REMARK = "8 of 31 sites block this address: slowing down"
OTHERS = "Running in the gossamer that was started first on this data folder; its settings apply."


class _Notes(QuietScreen):
    """Keeps every note once, in the order they were shown."""

    is_due = True

    def __init__(self) -> None:
        self.notes: list[str] = []

    def show(self, job: Job, progress: Progress, note: str) -> None:
        if self.notes[-1:] != [note]:
            self.notes.append(note)


async def test_a_remark_is_shown_while_it_holds(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    assert lock.take()  # so that the follower only follows
    async with open_app(Settings(home=tmp_path)) as app:
        job = await app.database.write(make_job, "a.test")
        screen = _Notes()
        following = asyncio.create_task(Follower(app, job.id, screen).follow())
        await _shown(screen, OTHERS)
        await app.database.write(jobs.set_note, job.id, REMARK)
        await _shown(screen, REMARK)
        await app.database.write(jobs.withdraw_note, job.id, REMARK)
        await _shown(screen, OTHERS)
        await app.database.write(jobs.move, job.id, JobState.CANCELLED)
        assert (await following).state is JobState.CANCELLED
    lock.release()
    assert screen.notes[:3] == [OTHERS, REMARK, OTHERS]


async def _shown(screen: _Notes, note: str) -> None:
    async with asyncio.timeout(10):
        while screen.notes[-1:] != [note]:
            await asyncio.sleep(0.02)
