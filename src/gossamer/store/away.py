"""What a driver says when its database is not there, as our own errors."""

import errno

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from gossamer.errors import StorageAway, StorageFull

AWAY_STATES = ("08", "53", "57P", "57014", "25P03")
"""Connection trouble, out of something, shutting down or starting up; took too long, cut off while it did nothing."""

_NOT_OURS = ("attempt to write a readonly database", "unable to open database file")


def storage_away(error: DBAPIError, where: str) -> Exception:
    """Connection trouble as our own error; anything else is a bug and stays what it is."""
    text = str(error.orig)
    if text.startswith(("no such", "near ")):  # SQLite files mistakes in SQL under the same class
        return error
    if "disk is full" in text or getattr(error.orig, "sqlstate", "") == "53100":
        return StorageFull(f"The disk of the database {where} is full")
    if text in _NOT_OURS:
        return StorageAway(
            f"The database {where} cannot be written by you: {text}. Run gossamer as its owner, change the permissions "
            "of the file and its folder, or point GOSSAMER_HOME at a folder of your own."
        )
    state = str(getattr(error.orig, "sqlstate", None) or "")
    away = error.connection_invalidated or state.startswith(AWAY_STATES)
    if away or isinstance(error, (OperationalError, InterfaceError)):
        return StorageAway(f"The database {where} did not answer: {text}. 'gossamer doctor' says more.")
    return error


def log_away(error: OSError, where: str) -> StorageAway:
    """The disk does not take what is in a file's log."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"The disk of the database {where} is full")
    return StorageAway(f"The disk of the database {where} did not take it: {error}. 'gossamer doctor' says more.")
