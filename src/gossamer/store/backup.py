"""Whole copies of an embedded database, made while jobs run, and a look into one before anybody relies on it.

They go page by page through SQLite itself, never by copying a file that somebody may have open: the newest rows are in
its log, and a file and a log of two moments are nothing.
"""

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gossamer.errors import UserError
from gossamer.store import shape

_PATIENCE = 3.0  # seconds to wait for others to let go of the file


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
            "backup.unwritable", f"{target} cannot be written: {why(error)}.", hint=_way_out(target.parent)
        ) from error
    except sqlite3.DatabaseError as error:
        raise _damaged_here(source, str(error)) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return found


def examine(file: Path) -> Copy:
    """Read a copy from end to end; refused unless it is a sound database of ours with nothing foreign in it."""
    try:
        with opened(file) as copy:
            # First of all: nothing of a stranger's is to be run, not even by looking.
            foreign, flaw = shape.stranger(copy), ""
            if not foreign:
                flaw, jobs, revision = _read_through(copy)
                foreign = shape.difference(copy, revision)
    except sqlite3.DatabaseError as error:
        foreign, flaw = ("", str(error)) if "malformed" in str(error) else (str(error), "")
    if flaw:
        raise UserError("backup.damaged", f"{file} is damaged: {flaw}.", hint="Use an earlier backup.")
    if foreign:
        raise _not_ours(file, foreign, "Give a file that 'gossamer db backup' has written.")
    return Copy(file.stat().st_size, jobs, str(revision))


def _examine_own(file: Path, source: Path) -> Copy:
    """The same for a copy just made: whatever its owner has put into it besides belongs to the copy."""
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
    """The first flaw SQLite finds, the number of jobs, and the revision."""
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
        hint="Go back to a copy with 'gossamer db restore FILE', or move it away to begin anew.",
    )


def _way_out(folder: Path) -> str:
    if folder.exists():
        return "Choose another place, or make room there."
    return f"Make the folder first: mkdir -p {shlex.quote(str(folder))}"


def refuse_itself(database: Path, file: Path) -> None:
    if file.exists() and database.exists() and file.samefile(database):
        raise UserError("backup.itself", f"{file} is the database itself.", hint="Name another file.")


def make_private(path: Path, *, fresh: bool = False) -> None:
    """An empty file that only its owner may read; `fresh`: it must not be there yet."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | (os.O_EXCL if fresh else os.O_TRUNC) | os.O_CLOEXEC, 0o600))


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """An existing file; never made by opening it."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)) as connection:
        # The file may come from anywhere: no function is called on its word.
        connection.execute("PRAGMA trusted_schema = OFF")
        yield connection


def why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _make_last(folder: Path) -> None:
    """A new name is safe from a power cut once its folder is written."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
