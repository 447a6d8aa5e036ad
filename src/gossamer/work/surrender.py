"""What is left to say when the database itself was away for too long: kept in a file of the home until it can be said.

A job is failed, or paused for a full disk, by the first command that finds the database again.
"""

from datetime import timedelta
from pathlib import Path

import orjson

from gossamer.errors import StorageAway, StorageFull
from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.model.sentences import FAILURES, PAUSES
from gossamer.model.states import JobState
from gossamer.store import jobs, reclaim
from gossamer.store.database import Database
from gossamer.store.pausing import pause_by_itself
from gossamer.store.tx import Tx
from gossamer.work.home import home_name

_NAME = "surrender.json"


def note(home: Path, error: StorageAway, patience: timedelta) -> None:
    """Keep why we gave up. A disk that is full may not even take this; then the jobs are simply found stopped."""
    said = {"full": isinstance(error, StorageFull), "error": str(error), "minutes": patience / timedelta(minutes=1)}
    try:
        (home / _NAME).write_bytes(orjson.dumps(said))
    except OSError:
        forget(home)


def forget(home: Path) -> None:
    """What was left to say is about a database that is not there any more."""
    (home / _NAME).unlink(missing_ok=True)


async def recall(home: Path, database: Database) -> None:
    """Say now what could not be said then. The caller knows that nobody works the home."""
    path = home / _NAME
    if not path.exists():
        return
    try:
        said = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        said = {}
    if said:
        await database.write(_say, bool(said["full"]), str(said["error"]), float(said["minutes"]), home)
    forget(home)


def _say(tx: Tx, full: bool, error: str, minutes: float, home: Path) -> None:
    reclaim.void_home(tx, home_name(home))
    for job in jobs.in_states(tx, JobState.RUNNING):
        if full:
            why = PAUSES[AlertKind.DISK].format(free=0, home=home, job=short(job.id))
            pause_by_itself(tx, job.id, AlertKind.DISK, why)
            jobs.move(tx, job.id, JobState.PAUSED)
        else:
            why = FAILURES["database"].format(minutes=f"{minutes:g}", error=error, job=short(job.id))
            jobs.move(tx, job.id, JobState.FAILED, why, who="runner")
