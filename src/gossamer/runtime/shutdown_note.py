"""Notes about a database outage that ended a runner, kept in the data folder until they can be written.

The first command that reaches the database again marks jobs as failed, or as paused if the disk was full.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from gossamer.db.database import Database
from gossamer.db.health import working_home
from gossamer.db.transactions import Tx
from gossamer.errors import StorageAway, StorageFull
from gossamer.model.alert import FAILURES, PAUSES, AlertKind
from gossamer.model.ids import short
from gossamer.model.states import JobState
from gossamer.runtime.home_lock import home_name
from gossamer.store import counters, jobs, reclaim
from gossamer.store.jobs import pause_automatically

_NAME = "surrender.json"


@dataclass(frozen=True, slots=True)
class ShutdownNote:
    """Reason and time of a runner's end."""

    full: bool
    error: str
    minutes: float  # that the runner waited for the database
    at: datetime

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "ShutdownNote":
        at = datetime.fromisoformat(said["at"])
        return cls(bool(said["full"]), str(said["error"]), float(said["minutes"]), at)


def note(home: Path, error: StorageAway, patience: timedelta, now: datetime) -> None:
    """Store the reason. On a full disk even this may fail; then jobs are shown as interrupted."""
    said = ShutdownNote(isinstance(error, StorageFull), str(error), patience / timedelta(minutes=1), now)
    try:
        path = home / _NAME
        path.touch(0o600)
        path.write_bytes(orjson.dumps(asdict(said)))
    except OSError:
        forget(home)


def forget(home: Path) -> None:
    """Delete the note."""
    (home / _NAME).unlink(missing_ok=True)


async def recall(home: Path, database: Database) -> None:
    """Write the note to the database. The caller has checked that no worker is running."""
    path = home / _NAME
    if not path.exists():
        return
    try:
        said = ShutdownNote.of(orjson.loads(path.read_bytes()))
    except (ValueError, KeyError, TypeError):
        said = None  # incomplete, or of another program
    if said:
        await database.write(_say, said, home)
    forget(home)


def _say(tx: Tx, said: ShutdownNote, home: Path) -> None:
    reclaim.void_home(tx, home_name(home))
    if working_home(tx) not in (None, home_name(home)):
        return  # another home has taken the jobs up since
    for job in jobs.in_states(tx, JobState.RUNNING):
        active = counters.progress(tx, job.id).last_activity
        if active and active > said.at:
            continue  # it has made progress since
        if said.full:
            why = PAUSES[AlertKind.DISK].format(free=0, home=home, least=0, job=short(job.id))
            pause_automatically(tx, job.id, AlertKind.DISK, why)
            jobs.move(tx, job.id, JobState.PAUSED)
        else:
            why = FAILURES["database"].format(minutes=f"{said.minutes:g}", error=said.error, job=short(job.id))
            jobs.move(tx, job.id, JobState.FAILED, why, who="runner")
