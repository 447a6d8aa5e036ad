"""A copy put back in the place of an embedded database: all of it, or everything stays as it was.

Whatever has to be changed in the copy is changed before, beside the database. Then its pages are written over those of
the database by SQLite itself, in one transaction: a file renamed into its place would be missed by whoever has the old
one open, or take the old one's log for its own.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from gossamer.clock import Clock
from gossamer.errors import StorageAway, StorageFull, UserError
from gossamer.model.states import VisitState
from gossamer.store import reclaim
from gossamer.store.backup import make_private, opened, refuse_itself, why
from gossamer.store.schema import ready_database
from gossamer.store.tables import visits
from gossamer.store.tx import Tx

_OTHERS = "database is locked"
_PARTS = ("-wal", "-shm", "-journal", "")  # of a database; the file itself last
_UNCHANGED = "It is as it was before."


@dataclass(frozen=True, slots=True)
class Restored:
    has_kept: bool  # False: there was nothing to keep
    freed: int  # visits that went back to their queue


async def restore(file: Path, place: Path, kept: Path, clock: Clock) -> Restored:
    """Make the database at `place` what `file` is, up to date and in nobody's hands; keep what it was as `kept`.

    `file` has been examined. All other processes must have closed the database.
    """
    refuse_itself(place, file)
    with _copied_beside(file, place) as copy:
        freed = await _made_ready(copy, file, place, clock)
        return Restored(put_back(copy, place, kept), freed)


@contextmanager
def _copied_beside(file: Path, place: Path) -> Iterator[Path]:
    """A copy in which nobody stands anywhere; nothing is left of it afterwards."""
    copy = place.with_name(f".{place.name}.restoring.{os.getpid()}")
    try:
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            make_private(copy)
            with opened(file) as source, opened(copy) as target:
                source.backup(target)
                # Whoever stood somewhere when the copy was made is gone, and nobody shall wait for them.
                target.execute("DELETE FROM places")
        except (OSError, sqlite3.Error) as error:
            raise _irreplaceable(place, why(error), _UNCHANGED) from error
        yield copy
    finally:
        for part in (*_PARTS, "-turn"):
            Path(f"{copy}{part}").unlink(missing_ok=True)


async def _made_ready(copy: Path, file: Path, place: Path, clock: Clock) -> int:
    """Bring it up to date and free what its former workers held."""
    try:
        database = await ready_database(f"sqlite:///{copy}", clock)
        try:
            return await database.write(void_all)
        finally:
            await database.close()
    except StorageFull as error:
        raise _irreplaceable(place, "there is no room left on its disk", _UNCHANGED) from error
    except (StorageAway, SQLAlchemyError, ValueError) as error:
        said = next(iter(str(error).splitlines()), "")
        raise UserError(
            "restore.unusable",
            f"{file} cannot be brought up to date: {said}.",
            hint=f"{place} is as it was before. Use another backup.",
        ) from error


def void_all(tx: Tx) -> int:
    """Nobody who held a lease when the copy was made is there any more; how many visits go back to their queue."""
    held = visits.c.state.in_((VisitState.ISSUED, VisitState.RUNNING))
    workers = tx.run(select(visits.c.worker).where(held, visits.c.worker.is_not(None)).distinct()).scalars().all()
    return sum(reclaim.void_worker(tx, worker, "restored from a backup", deadly=False) for worker in workers)


def put_back(file: Path, place: Path, kept: Path) -> bool:
    """Write `file` over the database at `place` and keep what it was; False if there was nothing to keep.

    Should we die, the database is as it was before.
    """
    keeping = place.exists() and place.stat().st_size > 0
    # What SQLite cannot read, nobody has in use.
    readable = not keeping or _has_pages(place)
    copied = False
    try:
        with nullcontext() if readable else _out_of_the_way(place, kept):
            os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            with opened(file) as copy, opened(place) as live:
                # Leaving the log behind needs the file for oneself, which also proves that nobody else has it open.
                live.execute("PRAGMA locking_mode = EXCLUSIVE")
                live.execute("PRAGMA journal_mode = DELETE")
                live.execute("BEGIN EXCLUSIVE")
                live.execute("COMMIT")
                if keeping and readable:
                    _keep(live, kept)
                    copied = True
                copy.backup(live)
    except (OSError, sqlite3.Error) as error:
        if _OTHERS in str(error):
            raise UserError(
                "restore.in_use",
                f"Another process has {place} open.",
                hint="End every gossamer of this home ('job run', 'job watch', other commands), then try again.",
            ) from error
        # SQLite has taken back what was written over it.
        also = f" {kept} is a copy of it." if copied else ""
        raise _irreplaceable(place, why(error), f"{_UNCHANGED}{also}") from error
    return keeping


def _irreplaceable(place: Path, said: str, hint: str) -> UserError:
    return UserError("restore.unwritable", f"{place} cannot be replaced: {said}.", hint=hint)


@contextmanager
def _out_of_the_way(place: Path, kept: Path) -> Iterator[None]:
    """A file that is none, kept as it is with its logs, which belong to nothing else; back in its place if we fail."""
    try:
        _move(place, kept)
        yield
    except BaseException:
        _move(kept, place)
        raise


def _move(old: Path, new: Path) -> None:
    for part in _PARTS:
        if (one := Path(f"{old}{part}")).exists():
            one.rename(f"{new}{part}")


def _keep(live: sqlite3.Connection, kept: Path) -> None:
    make_private(kept, fresh=True)
    try:
        with opened(kept) as copy:
            live.backup(copy)
    except sqlite3.Error:
        kept.unlink()  # half a copy is worth nothing and takes the room that was missing
        raise


def _has_pages(path: Path) -> bool:
    """Whether SQLite takes it for one of its files at all."""
    try:
        with opened(path) as found:
            found.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        return True  # in use, which is for the caller to find out
    except sqlite3.DatabaseError:
        return False
    return True
