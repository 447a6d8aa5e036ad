"""Python client of a Gossamer server: `Client` is blocking, `AsyncClient` is for programs with an event loop."""

from gossamer.client.asynchronous import AsyncClient
from gossamer.client.blocking import Client
from gossamer.client.errors import (
    BadKey,
    ClientError,
    Conflict,
    Gone,
    InvalidRequest,
    NotAllowed,
    NotFound,
    OutOfCredits,
    PageFailed,
    ProblemError,
    ServerError,
    StillRunning,
    TooManyRequests,
    Unreachable,
)

__all__ = [
    "AsyncClient",
    "BadKey",
    "Client",
    "ClientError",
    "Conflict",
    "Gone",
    "InvalidRequest",
    "NotAllowed",
    "NotFound",
    "OutOfCredits",
    "PageFailed",
    "ProblemError",
    "ServerError",
    "StillRunning",
    "TooManyRequests",
    "Unreachable",
]
