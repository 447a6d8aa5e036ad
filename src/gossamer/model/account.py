"""Accounts, the keys they have issued, and the rights of each key."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from gossamer.model.money import ACCOUNT as DEFAULT
from gossamer.model.rungs import RUNGS

__all__ = ["DEFAULT", "Account", "ApiKey", "Bill", "Quota", "Right", "User", "credit_prices"]


class Right(StrEnum):
    """Rights of a key; each includes the ones before it."""

    READ = "read"  # see jobs and download their results
    SUBMIT = "submit"  # create, control and export jobs, and delete their results
    ADMIN = "admin"  # create and revoke the account's keys, renew webhook secrets

    def includes(self, other: "Right") -> bool:
        rights = list(Right)
        return rights.index(self) >= rights.index(other)


def credit_prices(own: Mapping[str, int]) -> Mapping[str, int]:
    """Return the account credits of a page by the rung that read it; `own` overrides single rungs."""
    return {**{rung.name: rung.account_credits for rung in RUNGS.values()}, **own}


@dataclass(frozen=True, slots=True)
class Account:
    id: str
    name: str
    created_at: datetime
    credits: int | None = None  # per month; None: no limit
    running_jobs: int | None = None  # at a time; None: the default of the settings
    queued_jobs: int | None = None
    closed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key as stored: without the key itself."""

    id: UUID
    account: str
    name: str
    start: str
    right: Right
    created_at: datetime
    used_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class User:
    id: UUID
    account: str
    email: str
    right: Right
    created_at: datetime
    closed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of an account at a time and per month. None: no limit."""

    credits: int | None = None
    running: int | None = None
    queued: int | None = None

    def of(self, account: Account | None) -> "Quota":
        """Return the account's own limits, with these as defaults."""
        if account is None:
            return self
        return Quota(
            self.credits if account.credits is None else account.credits,
            self.running if account.running_jobs is None else account.running_jobs,
            self.queued if account.queued_jobs is None else account.queued_jobs,
        )


@dataclass(frozen=True, slots=True)
class Bill:
    """Accounting data of a request for a job: its origin, its key and its possible cost."""

    door: str
    quota: Quota = Quota()
    key: UUID | None = None
    urls: int = 0
    credits: int = 0  # the minimum it costs
