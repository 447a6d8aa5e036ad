"""Alerts for the operator: raised once, and cleared when the cause is gone."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

SYSTEM = "system"  # the subject of alerts that are about no single job


class AlertKind(StrEnum):
    DEADLINE = "deadline"  # a job ran as long as jobs may
    DISK = "disk"  # the disk is nearly full
    BACKPRESSURE = "backpressure"  # the database takes results too slowly
    LANE = "lane"  # nobody walks the visits of a lane
    NETWORK = "network"  # a machine of ours reaches no site
    PROXY = "proxy"  # the operator's own proxy cannot be used
    PROVIDER = "provider"  # a provider does not work
    PROVIDER_KEY = "provider-key"  # it does not accept the key
    JOB_KEY = "job-key"  # nor one that came with a job
    PROVIDER_CREDITS = "provider-credits"  # the credits at it are used up
    ADDRESS = "address"  # many sites block our address
    DEAD_LETTER = "dead-letter"  # a visit was given up after killing its workers
    WORKERS = "workers"  # the working processes do not live
    REDIS = "redis"  # the server that keeps the spacing for all is away
    STORAGE = "storage"  # object storage cannot be used
    INSTANCE = "instance"  # a machine of a cluster has vanished
    BROKER = "broker"  # nobody can be told of work
    DATABASE = "database"  # a cluster's was away
    CONCURRENCY = "concurrency"  # more visits run at once than may
    CONNECTIONS = "connections"  # the database has hardly any left
    PARTITIONS = "partitions"  # rows of no month lie where everybody has to look
    AUDIT = "audit"  # the rows of a job do not add up
    BUDGET = "budget"  # a job has spent what it may
    ACCOUNT_BUDGET = "account-budget"  # an account has, in this month
    DAILY_BUDGET = "daily-budget"  # all jobs together have, on this day
    SPENDING = "spending"  # much of a budget is spent
    OVERCHARGE = "overcharge"  # a rung took more than its price
    JOB_OVERCHARGE = "job-overcharge"  # with a key that came with a job
    THROUGHPUT = "throughput"  # a job has become much slower
    ERRORS = "errors"  # many requests fail
    SLOW_WRITES = "slow-writes"  # the database takes long to write results
    QUEUE_GROWTH = "queue-growth"  # more visits are added than are finished
    QUEUE_DEPTH = "queue-depth"  # very many visits wait
    QUEUE_FULL = "queue-full"  # and their number does not go down: new jobs wait
    WEBHOOK = "webhook"  # an endpoint took nothing for so long that it was switched off


@dataclass(frozen=True, slots=True)
class Alert:
    id: UUID
    kind: AlertKind
    subject: str
    sentence: str
    fired_at: datetime
    job_id: UUID | None = None
    cleared_at: datetime | None = None
