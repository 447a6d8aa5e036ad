"""Whole copies of an embedded database: one made while jobs run, and one put back in its place.

Both go page by page through SQLite itself, never by copying or renaming a file that somebody may have open: another
process would go on writing to the old one, or take the new one's log for its own.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from gossamer.errors import UserError
from gossamer.model.states import VisitState
from gossamer.store import reclaim
from gossamer.store.tables import visits
from gossamer.store.tx import Tx

_PATIENCE = 3.0  # seconds to wait for others to let go of the file
_OTHERS = "database is locked"


@dataclass(frozen=True, slots=True)
class Copy:
    """What is in a file."""

    size: int
    jobs: int
    revision: str


def back_up(source: Path, target: Path, *, force: bool = False) -> Copy:
    """Write a copy of the database as it is at this moment; `target` is there whole or not at all."""
    if not source.exists():
        raise UserError("backup.nothing", f"There is no database at {source}.", hint="Check GOSSAMER_HOME.")
    _refuse_itself(source, target)
    if target.exists() and not force:
        raise UserError("backup.exists", f"{target} is there already.", hint="Name another file, or give --force.")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        with _opened(source) as live, _opened(unfinished) as copy:
            live.backup(copy)
            # One file with nothing beside it, which can be carried away.
            copy.execute("PRAGMA journal_mode = DELETE")
        found = examine(unfinished, called=source)
        unfinished.replace(target)
        _make_last(target.parent)
    except (OSError, sqlite3.OperationalError) as error:
        raise UserError(
            "backup.unwritable",
            f"{target} cannot be written: {_why(error)}.",
            hint="Choose another place, or make room there.",
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return found


def examine(file: Path, *, called: Path | None = None) -> Copy:
    """Read a copy from end to end; refused unless it is a sound database of ours. `called`: what it is a copy of."""
    name = called or file
    try:
        with _opened(file) as copy:
            (flaw,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
            (revision,) = copy.execute("SELECT max(version_num) FROM alembic_version").fetchone()
            (jobs,) = copy.execute("SELECT count(*) FROM jobs").fetchone()
    except sqlite3.DatabaseError as error:
        if "malformed" not in str(error):
            raise UserError(
                "backup.not_ours",
                f"{name} is not a database of gossamer: {error}.",
                hint="Give a file that 'gossamer db backup' has written.",
            ) from error
        flaw = str(error)
    if flaw != "ok":
        said = " ".join(str(flaw).split())
        raise UserError("backup.damaged", f"{name} is damaged: {said}.", hint="Use an earlier backup.")
    return Copy(file.stat().st_size, jobs, str(revision))


def put_back(file: Path, place: Path, kept: Path) -> bool:
    """Make the database at `place` what `file` is, and keep what it was as `kept`; False if there was nothing to keep.

    `file` has been examined. All other processes must have closed the database; should we die, it is as it was before.
    """
    _refuse_itself(place, file)
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        keeping = place.exists() and place.stat().st_size > 0
        if keeping and not _has_pages(place):
            # SQLite cannot read it, so nobody has it in use; with its logs, which belong to nothing else.
            for ending in ("-wal", "-shm", ""):
                if (old := Path(f"{place}{ending}")).exists():
                    old.rename(f"{kept}{ending}")
        os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with _opened(file) as copy, _opened(place) as live:
            # Leaving the log behind needs the file for oneself, which is also the proof that nobody else has it open.
            live.execute("PRAGMA locking_mode = EXCLUSIVE")
            live.execute("PRAGMA journal_mode = DELETE")
            live.execute("BEGIN EXCLUSIVE")
            live.execute("COMMIT")
            if keeping and not kept.exists():
                _keep(live, kept)
            copy.backup(live)
            # Whoever stood somewhere when the copy was made is gone, and nobody shall wait for them.
            live.execute("DELETE FROM places")
    except (OSError, sqlite3.OperationalError) as error:
        if _OTHERS in str(error):
            raise UserError(
                "restore.in_use",
                f"Another process has {place} open.",
                hint="End every gossamer of this home ('job run', 'job watch', other commands), then try again.",
            ) from error
        raise UserError(
            "restore.unwritable", f"{place} cannot be replaced: {_why(error)}.", hint="It is as it was before."
        ) from error
    return keeping


def void_all(tx: Tx) -> int:
    """Nobody who held a lease when the copy was made is there any more; how many visits go back to their queue."""
    held = visits.c.state.in_((VisitState.ISSUED, VisitState.RUNNING))
    workers = tx.run(select(visits.c.worker).where(held, visits.c.worker.is_not(None)).distinct()).scalars().all()
    return sum(reclaim.void_worker(tx, worker, "restored from a backup", deadly=False) for worker in workers)


def _refuse_itself(database: Path, file: Path) -> None:
    if file.exists() and database.exists() and file.samefile(database):
        raise UserError("backup.itself", f"{file} is the database itself.", hint="Name another file.")


def _keep(live: sqlite3.Connection, kept: Path) -> None:
    os.close(os.open(kept, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with _opened(kept) as copy:
            live.backup(copy)
    except sqlite3.OperationalError:
        kept.unlink()  # half a copy is worth nothing and takes the room that was missing
        raise


def _has_pages(path: Path) -> bool:
    """Whether SQLite takes it for one of its files at all."""
    try:
        with _opened(path) as found:
            found.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        return True  # in use, which is for the caller to find out
    except sqlite3.DatabaseError:
        return False
    return True


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """An existing file; never made by opening it."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)) as connection:
        yield connection


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _make_last(folder: Path) -> None:
    """A new name is safe from a power cut once its folder is written."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
