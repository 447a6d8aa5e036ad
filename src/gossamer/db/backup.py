"""Backups of an embedded database, and their restoration.

A backup is complete, made while jobs run, and checked before it is relied on. To restore one, all
changes it needs are made in a copy next to the database. SQLite itself then writes the copy's pages
over those of the database in one transaction: a renamed file would be missed by processes that have
the old one open, or be combined with the old one's log.
"""

import os
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from gossamer.clock import Clock
from gossamer.db import schema
from gossamer.db.schema import ready_database
from gossamer.db.transactions import Tx
from gossamer.errors import StorageAway, StorageFull, UserError

_PATIENCE = 3.0  # seconds to wait for others to let go of the file


@dataclass(frozen=True, slots=True)
class Copy:
    """Contents of a backup file."""

    size: int
    jobs: int
    revision: str


def back_up(source: Path, target: Path, *, force: bool = False) -> Copy:
    """Write a copy of the database in its present state; `target` is created complete or not at all."""
    if not source.exists():
        raise UserError("backup.nothing", f"There is no database at {source}.", hint="Check GOSSAMER_HOME.")
    if target.is_dir():
        raise UserError("backup.folder", f"{target} is a folder.", hint="Name a file in it.")
    refuse_itself(source, target)
    if target.exists() and not force:
        raise UserError("backup.exists", f"{target} is there already.", hint="Name another file, or give --force.")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        make_private(unfinished)
        with opened(source) as live, opened(unfinished) as copy:
            live.backup(copy)
            # One file with nothing beside it, which can be carried away.
            copy.execute("PRAGMA journal_mode = DELETE")
        found = _examine_own(unfinished, source)
        unfinished.replace(target)
        _make_last(target.parent)
    except (OSError, sqlite3.OperationalError) as error:
        raise UserError(
            "backup.unwritable", f"{target} cannot be written: {why(error)}.", hint=_own_network(target.parent)
        ) from error
    except sqlite3.DatabaseError as error:
        raise _damaged_here(source, str(error)) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return found


def examine(file: Path) -> Copy:
    """Check a whole backup. Raises UserError if it is damaged, or not a database of this program."""
    try:
        with opened(file) as copy:
            # First of all: nothing in a foreign file may be executed, not even by reading it.
            foreign, flaw = schema.stranger(copy), ""
            if not foreign:
                flaw, jobs, revision = _read_through(copy)
                foreign = schema.difference(copy, revision)
    except sqlite3.DatabaseError as error:
        foreign, flaw = ("", str(error)) if "malformed" in str(error) else (str(error), "")
    if flaw:
        raise UserError("backup.damaged", f"{file} is damaged: {flaw}.", hint="Use an earlier backup.")
    if foreign:
        raise _not_ours(file, foreign, "Give a file that 'gossamer db backup' has written.")
    return Copy(file.stat().st_size, jobs, str(revision))


def _examine_own(file: Path, source: Path) -> Copy:
    """Check a copy that was just made, in which further tables of its owner are allowed."""
    try:
        with opened(file) as copy:
            flaw, jobs, revision = _read_through(copy)
    except sqlite3.OperationalError as error:
        if not str(error).startswith("no such table"):
            raise
        raise _not_ours(source, str(error), "Check GOSSAMER_HOME and GOSSAMER_DATABASE_URL.") from error
    if flaw:
        raise _damaged_here(source, flaw)
    return Copy(file.stat().st_size, jobs, str(revision))


def _read_through(copy: sqlite3.Connection) -> tuple[str, int, str | None]:
    """Return the first flaw that SQLite finds, the number of jobs, and the revision."""
    (said,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
    (revision,) = copy.execute("SELECT max(version_num) FROM alembic_version").fetchone()
    (jobs,) = copy.execute("SELECT count(*) FROM jobs").fetchone()
    return "" if said == "ok" else " ".join(str(said).split()), jobs, revision


def _not_ours(file: Path, foreign: str, hint: str) -> UserError:
    return UserError("backup.not_ours", f"{file} is not a database of gossamer: {foreign}.", hint=hint)


def _damaged_here(source: Path, flaw: str) -> UserError:
    return UserError(
        "database.damaged",
        f"{source} is damaged: {flaw}.",
        hint="Restore a backup with 'gossamer db restore FILE', or move the damaged file away to start with an empty "
        "database.",
    )


def _own_network(folder: Path) -> str:
    if folder.exists():
        return "Choose another place, or make room there."
    return f"Make the folder first: mkdir -p {shlex.quote(str(folder))}"


def refuse_itself(database: Path, file: Path) -> None:
    if file.exists() and database.exists() and file.samefile(database):
        raise UserError("backup.itself", f"{file} is the database itself.", hint="Name another file.")


def make_private(path: Path, *, fresh: bool = False) -> None:
    """Create an empty file that only its owner may read; `fresh`: it must not exist yet."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | (os.O_EXCL if fresh else os.O_TRUNC) | os.O_CLOEXEC, 0o600))


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing database file; it is never created."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)) as connection:
        # The file may come from anywhere: functions in its schema are not called.
        connection.execute("PRAGMA trusted_schema = OFF")
        yield connection


def why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _make_last(folder: Path) -> None:
    """Sync a folder, so that a new name in it survives a power cut."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


_OTHERS = "database is locked"
_PARTS = ("-wal", "-shm", "-journal", "")  # of a database; the file itself last
_UNCHANGED = "It is as it was before."


@dataclass(frozen=True, slots=True)
class Restored:
    has_kept: bool  # False: there was no database before
    freed: int  # number of visits returned to the queue


async def restore(file: Path, place: Path, kept: Path, clock: Clock, free: Callable[[Tx], int]) -> Restored:
    """Make the database at `place` the one in `file`, up to date and with no visit leased; keep the former as `kept`.

    `file` has been examined. All other processes must have closed the database. `free` returns the visits that were
    leased when the copy was made, and says how many there were.
    """
    refuse_itself(place, file)
    with _copied_beside(file, place) as copy:
        freed = await _made_ready(copy, file, place, clock, free)
        return Restored(put_back(copy, place, kept), freed)


@contextmanager
def _copied_beside(file: Path, place: Path) -> Iterator[Path]:
    """Yield a copy without leases and other claims of running processes; it is deleted afterwards."""
    copy = place.with_name(f".{place.name}.restoring.{os.getpid()}")
    try:
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            make_private(copy)
            with opened(file) as source, opened(copy) as target:
                source.backup(target)
                # Holders of slots at the time of the backup are gone.
                target.execute("DELETE FROM places")
        except (OSError, sqlite3.Error) as error:
            raise _irreplaceable(place, why(error), _UNCHANGED) from error
        yield copy
    finally:
        for part in (*_PARTS, "-turn"):
            Path(f"{copy}{part}").unlink(missing_ok=True)


async def _made_ready(copy: Path, file: Path, place: Path, clock: Clock, free: Callable[[Tx], int]) -> int:
    """Upgrade the copy and release the visits of its former workers."""
    try:
        database = await ready_database(f"sqlite:///{copy}", clock)
        try:
            return await database.write(free)
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


def put_back(file: Path, place: Path, kept: Path) -> bool:
    """Write `file` over the database at `place` and keep what it was; False if there was nothing to keep.

    If this process dies, the database is unchanged.
    """
    keeping = place.exists() and place.stat().st_size > 0
    # A file that SQLite cannot read is not in use.
    readable = not keeping or _has_pages(place)
    copied = False
    try:
        with nullcontext() if readable else _out_of_the_way(place, kept):
            os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            with opened(file) as copy, opened(place) as live:
                # Ending WAL mode needs exclusive use of the file, so it also proves that no other process has it open.
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
        # SQLite has rolled back its changes.
        also = f" {kept} is a copy of it." if copied else ""
        raise _irreplaceable(place, why(error), f"{_UNCHANGED}{also}") from error
    return keeping


def _irreplaceable(place: Path, said: str, hint: str) -> UserError:
    return UserError("restore.unwritable", f"{place} cannot be replaced: {said}.", hint=hint)


@contextmanager
def _out_of_the_way(place: Path, kept: Path) -> Iterator[None]:
    """Move a file that is not a database out of the way, with its log files; restore it if the block fails."""
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
        kept.unlink()  # an incomplete copy is useless and takes up space
        raise


def _has_pages(path: Path) -> bool:
    """Return True if SQLite accepts the file as a database."""
    try:
        with opened(path) as found:
            found.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        return True  # in use: the caller finds out
    except sqlite3.DatabaseError:
        return False
    return True
