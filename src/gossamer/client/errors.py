"""Error classes of the client.

ClientError              everything below
    Unreachable          no answer: nothing listens there, or the answer broke off
    StillRunning         the job takes longer than the caller wanted to wait
    ProblemError         the server refused: `status`, `code`, `detail`, `hint`, `request_id`
        InvalidRequest   400, 413, 422   BadKey 401        OutOfCredits 402   NotAllowed 403
        NotFound         404             Conflict 409      Gone 410           TooManyRequests 429
        ServerError      500 and above, and answers that are not the server's
        PageFailed       the request was valid, and the page could not be fetched: `reason` says why
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gossamer.errors import GossamerError


class ClientError(GossamerError):
    """Base of all errors that `gossamer.client` raises."""


class Unreachable(ClientError):
    """The server did not answer."""


class StillRunning(ClientError):
    """The job is still running; its result can be requested again later."""

    def __init__(self, sentence: str, job_id: str) -> None:
        super().__init__(sentence)
        self.job_id = job_id


class ProblemError(ClientError):
    """An error response of the server (RFC 9457). `code` is stable and meant for programs."""

    def __init__(self, status: int, said: Mapping[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.code = str(said.get("code") or "")
        self.detail = str(said.get("detail") or said.get("title") or f"The server answered with HTTP {status}.")
        self.hint = str(said.get("hint") or "")
        self.command_hint = str(said.get("command_hint") or self.hint)
        self.request_id = str(said.get("request_id") or "")
        self.errors: Sequence[Mapping[str, Any]] = tuple(said.get("errors") or ())
        self.retry_after = retry_after  # seconds
        super().__init__(f"{self.detail} {self.hint}".rstrip())


class InvalidRequest(ProblemError):
    """The request is invalid; `errors` names the fields concerned, if any."""


class PageFailed(ProblemError):
    """The page could not be read. `reason` is the name of what was wrong with it, such as `not_found`."""

    reason = ""


class BadKey(ProblemError):
    """The key is missing, wrong or revoked."""


class OutOfCredits(ProblemError):
    """The account has no credits left."""


class NotAllowed(ProblemError):
    """The key does not have the right."""


class NotFound(ProblemError):
    """The object does not exist, or belongs to another account."""


class Conflict(ProblemError):
    """The action is not possible in the present state."""


class Gone(ProblemError):
    """The object existed and was deleted."""


class TooManyRequests(ProblemError):
    """Too many requests, or the account's queue is full: retry after `retry_after` seconds."""


class ServerError(ProblemError):
    """The server failed, or the answer is not from a Gossamer server."""


_PAGE_FAILED = "page-failed"
_KINDS: Mapping[int, type[ProblemError]] = {
    401: BadKey,
    402: OutOfCredits,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    410: Gone,
    429: TooManyRequests,
}


def problem_of(status: int, said: object, retry_after: float | None = None, reason: str = "") -> ProblemError:
    """Return the error of a failed request. `said` is the decoded JSON of the answer, or None."""
    if not isinstance(said, Mapping):
        # The answer does not come from a Gossamer server, but perhaps from a proxy.
        detail = {"detail": f"The answer was HTTP {status}, and not one of a Gossamer server."}
        return ServerError(status, detail, retry_after)
    if said.get("code") == _PAGE_FAILED:
        failed = PageFailed(status, said, retry_after)
        failed.reason = reason
        return failed
    kind = _KINDS.get(status, ServerError if status >= 500 else InvalidRequest)
    return kind(status, said, retry_after)
