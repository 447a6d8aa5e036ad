"""Errors that a user can act on: each describes what went wrong and what to do next.

    GossamerError
        UserError          bad input, unknown job, illegal request: `code`, one sentence, a hint
        StorageAway        the database did not answer for longer than we are willing to wait
            StorageFull    there is no room left to write to

Core errors contain no exit codes and no HTTP statuses: the command line and the API map `code`.
"""


class GossamerError(Exception):
    """Everything the project raises on purpose."""


class UserError(GossamerError):
    """Something the caller can mend. `hint` is the next step."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class StorageAway(GossamerError):
    """The database cannot be reached."""


class StorageFull(StorageAway):
    """The database has no room left to write to."""
