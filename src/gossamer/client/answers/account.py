"""The account: limits, usage, keys, what may be forgotten; and what the server is and would take."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gossamer.client.answers.answer import Answer


class Account(Answer):
    id: str
    name: str
    month: str
    credits: int | None
    credits_used: int
    credits_left: int | None
    running_jobs: int
    running_jobs_limit: int | None
    queued_jobs: int
    queued_jobs_limit: int | None


class Day(Answer):
    day: str
    requests: int
    urls: int
    pages: int
    failed: int
    credits: int
    provider_usd: float


class Use(Answer):
    job_id: str
    at: datetime
    key_id: str | None
    door: str
    recipe: str
    urls: int
    credits: int
    provider_usd: float
    pages: int
    failed: int
    ms: int | None
    outcome: str
    open: bool


class Usage(Answer):
    days: tuple[Day, ...] = ()
    items: tuple[Use, ...] = ()
    has_more: bool = False
    next_cursor: str | None = None


class Key(Answer):
    id: str
    name: str
    start: str
    scope: str
    created_at: datetime
    used_at: datetime | None = None
    revoked_at: datetime | None = None


class NewKey(Key):
    key: str  # shown this once


class Keys(Answer):
    items: list[Key]


class ForgottenIn(Answer):
    job_id: str
    name: str
    pages: int
    records: int
    mentions: int


class Forgotten(Answer):
    forgotten: bool
    jobs: list[ForgottenIn]


class Recipe(Answer):
    name: str
    description: str
    records: list[str]
    params: Mapping[str, Any]


class Recipes(Answer):
    items: list[Recipe]


class Health(Answer):
    status: str
    live: bool
    ready: bool
    database: str
    workers: str
    version: str


class AccountCredits(Answer):
    at_least: int
    at_most: int
    left: int | None


class Estimate(Answer):
    """Provider credits and dollars, from low to high."""

    low_credits: int
    high_credits: int
    low_usd: float
    high_usd: float
    sites: int = 0
    met_before: int = 0
    similar_jobs: int = 0
    similar_low_credits: int | None = None
    similar_high_credits: int | None = None
    max_credits: int | None = None
    account_credits: AccountCredits
