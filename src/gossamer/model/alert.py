"""Alerts for the operator and the sentences of alerts, pauses and failures, each with the next step.

An alert is raised once, and cleared when its cause is gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

SYSTEM = "system"  # the subject of alerts that do not belong to a single job


class AlertKind(StrEnum):
    DEADLINE = "deadline"  # a job ran as long as jobs may
    DISK = "disk"  # the disk is nearly full
    BACKPRESSURE = "backpressure"  # the database takes results too slowly
    LANE = "lane"  # no worker takes the visits of a lane
    NETWORK = "network"  # a machine of ours reaches no site
    PROXY = "proxy"  # the operator's own proxy cannot be used
    PROVIDER = "provider"  # a provider does not work
    PROVIDER_KEY = "provider-key"  # a provider does not accept the key
    JOB_KEY = "job-key"  # a provider does not accept the key that came with a job
    PROVIDER_CREDITS = "provider-credits"  # the credits at a provider are used up
    ADDRESS = "address"  # many sites block our address
    DEAD_LETTER = "dead-letter"  # a visit was given up after killing its workers
    WORKERS = "workers"  # worker processes end as soon as they start
    REDIS = "redis"  # the server that coordinates request spacing is unreachable
    STORAGE = "storage"  # object storage cannot be used
    INSTANCE = "instance"  # a machine of a cluster has vanished
    BROKER = "broker"  # workers cannot be notified of work
    DATABASE = "database"  # the database of a cluster was unreachable
    CONCURRENCY = "concurrency"  # more visits run at once than allowed
    CONNECTIONS = "connections"  # the database has hardly any connections left
    PARTITIONS = "partitions"  # rows have no monthly partition and slow down every query
    AUDIT = "audit"  # the rows of a job do not add up
    BUDGET = "budget"  # a job has reached its budget
    ACCOUNT_BUDGET = "account-budget"  # an account has reached its budget of this month
    DAILY_BUDGET = "daily-budget"  # all jobs together have reached the budget of this day
    SPENDING = "spending"  # much of a budget is spent
    OVERCHARGE = "overcharge"  # a rung took more than its price
    JOB_OVERCHARGE = "job-overcharge"  # the same with a key that came with a job
    THROUGHPUT = "throughput"  # a job has become much slower
    ERRORS = "errors"  # many requests fail
    SLOW_WRITES = "slow-writes"  # the database takes long to write results
    QUEUE_GROWTH = "queue-growth"  # more visits are added than are finished
    QUEUE_DEPTH = "queue-depth"  # very many visits wait
    QUEUE_FULL = "queue-full"  # their number does not go down either: new jobs wait
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


PAUSES: Mapping[str, str] = {
    "deadline": (
        "Job running for {time}. Auto-paused to prevent runaway costs. Go on with 'gossamer job resume {job}'; "
        "how long a job may run is GOSSAMER_JOB_TIME."
    ),
    "disk": (
        "Only {free} MB are free on the disk of {home}, less than {least} MB (GOSSAMER_MIN_FREE_DISK). "
        "Paused before anything could get lost. Make room, then resume with 'gossamer job resume {job}'."
    ),
    "backpressure": (
        "The database takes results too slowly (the oldest has waited {seconds} s). Paused so that nothing piles up. "
        "Look at the disk and at what else uses the database, then resume with 'gossamer job resume {job}'."
    ),
    "proxy": (
        "The proxy in GOSSAMER_PROXY cannot be used: {why}. Paused before any page could fail for it. "
        "See that it runs, then resume with 'gossamer job resume {job}'."
    ),
    "provider": (
        "{provider} has not worked for {time} ({why}). Paused: no page has failed for it. "
        "See that it works again, then resume with 'gossamer job resume {job}'."
    ),
    "provider-key": (
        "{provider} does not accept the key ({why}). Paused: no page has failed for it, and nothing was charged. "
        "Correct {setting}, then resume with 'gossamer job resume {job}'."
    ),
    "job-key": (
        "{provider} does not accept the key that came with this job ({why}). Paused: no page has failed for it, and "
        "nothing was charged. Cancel it with 'gossamer job cancel {job}', and create it anew with the right key."
    ),
    "provider-credits": (
        "The credits at {provider} are used up ({why}). Paused: no page has failed for it. Buy some there, or wait "
        "until your plan renews, then resume with 'gossamer job resume {job}'."
    ),
    "lane": (
        "No worker has served the {lane} lane for {minutes} minutes. Paused. "
        "Start a worker for it, then resume with 'gossamer job resume {job}'."
    ),
    "budget": ("Budget limit reached ({used} used). Job paused. Resume with higher limit or export partial results."),
    "account-budget": (
        "Budget limit of {month} reached ({used} used). Job paused. Raise GOSSAMER_ACCOUNT_CREDITS or "
        "GOSSAMER_ACCOUNT_USD and resume with 'gossamer job resume {job}', or export partial results."
    ),
    "daily-budget": (
        "Budget limit of {day} reached ({used} used). Job paused. Resume tomorrow (UTC) with "
        "'gossamer job resume {job}', raise GOSSAMER_DAILY_CREDITS or GOSSAMER_DAILY_USD, or export partial results."
    ),
    "overcharge": (
        "{rung} took {charged} credits for one request, more than its price of at most {worst}. Nothing more is sent "
        "through it, and jobs that need it pause, until GOSSAMER_PRICES says what it costs."
    ),
    "job-overcharge": (
        "{rung} took {charged} credits of the key that came with this job for one request, more than its price of at "
        "most {worst}. Only this job is paused. Look at your plan there, then resume with 'gossamer job resume {job}'."
    ),
}
"""Reasons for automatic pauses."""

FAILURES: Mapping[str, str] = {
    "recipe": (
        "The recipe {recipe} failed on every page ({pages} of {pages}): {error}. This is a mistake in the recipe: "
        "see the log, then go on with 'gossamer job resume {job}'."
    ),
    "params": (
        "The parameters of this job cannot be used by this program: {error}. Create the job anew, or go on with the "
        "program that created it."
    ),
    "conclusion": (
        "The recipe {recipe} has read everything and could not conclude: {error}. See the log, then go on with "
        "'gossamer job resume {job}'."
    ),
    "database": (
        "The database was away for longer than {minutes} minutes ({error}). "
        "See that it runs, then go on with 'gossamer job resume {job}'."
    ),
}
"""Reasons for the failure of a whole job; only those a person can do something about."""

ALERTS: Mapping[str, str] = {
    **PAUSES,
    "dead-letter": (
        "{host} was given up after its visit ended the worker {deaths} times ({error}). "
        "Look with 'gossamer system dead-letters show {visit}'."
    ),
    "workers": "The working processes end as soon as they start. The reason is in the lines before this one in {log}",
    "network": (
        "No network since {since}: waiting. No site can be reached from {host} ({why}). No page fails for it, and work "
        "goes on automatically when one can. See that {host} has a network: 'gossamer doctor'."
    ),
    "redis": (
        "Redis is away ({why}). Until it is back every worker asks a domain at most once in two seconds, and nothing "
        "that costs money is begun. See that it runs and that GOSSAMER_REDIS_URL is right: 'gossamer doctor'."
    ),
    "storage": (
        "Object storage cannot be used from {host} ({why}). Files are kept in its home until it can, and none is lost. "
        "See that it runs and that the keys are right: 'gossamer doctor' there."
    ),
    "instance": (
        "{host} has not been heard of since {since} UTC ({workers}). Others take over what it was reading when its "
        "leases have run out, and no page is lost. See that it runs and reaches the database: 'gossamer system "
        "workers'."
    ),
    "broker": (
        "No message has reached the broker for {seconds} s. Visits wait until it is back, and none is lost. See that "
        "it runs and that GOSSAMER_BROKER_URL, or GOSSAMER_REDIS_URL, is right: 'gossamer doctor'."
    ),
    "database": (
        "The database is away for {host} ({why}). Workers wait for it, and nothing is lost. See that it runs and can "
        "be reached from there: 'gossamer doctor'."
    ),
    "concurrency": (
        "{visits} visits{of} are running at the same time, more than {setting} allows ({cap}). See that all "
        "workers have the same setting: 'gossamer system workers'."
    ),
    "connections": (
        "{open} of the {most} connections of the database are in use. Start no more workers, or raise max_connections "
        "of the server."
    ),
    "partitions": (
        "Rows of {table} belong to no month that can have a partition of its own, and slow down every question about "
        "it. Their jobs have ids of another time: see {table}_default in the database, and the clock of its server."
    ),
    "throughput": "Warning: Job {job} throughput dropped from {before} to {now} {things}/hour",
    "errors": "Alert: High error rate detected ({percent}% failures). Check API status.",
    "slow-writes": "Warning: Database write latency high ({seconds}s average)",
    "queue-growth": "Alert: Queue depth growing faster than processing rate ({tasks} pending tasks)",
    "queue-depth": "Alert: Queue depth above {limit} ({tasks} pending tasks)",
    "queue-full": (
        "Queue depth above {limit} ({tasks} pending tasks) and not shrinking for {minutes} minutes: new jobs stay "
        "pending, and start automatically once the queue has drained."
    ),
    "spending": "{percent} % of the budget {whose} is spent: {spent} of {most}. See 'gossamer system credits'.",
    "webhook": (
        "The webhook to {host} was switched off: {why}. Messages that waited for it are kept: see 'gossamer webhook "
        "deliveries {endpoint}', mend it, then 'gossamer webhook enable {endpoint}'."
    ),
    "audit": (
        "The rows of job {job} do not add up: {found}. Its results may be incomplete: see 'gossamer job audit {job}'."
    ),
}
"""Sentences by `AlertKind`, except `address`, whose sentence is in crawl/ip_block.py."""


def slow_job_sentence(job: str, before: int, now: int, things: str) -> str:
    """Return the history line of a job that has become much slower."""
    percent = round(100 * (before - now) / before)
    dropped = f"Warning: Job {job} throughput dropped {percent}% in last 10 minutes."
    return f"{dropped} Current: {now:,} {things}/hour (expected: {before:,})"


NO_NETWORK = "No network since "


def no_network_sentence(since: str) -> str:
    """Return the status of a job that waits for the network; `since` is the time of day it was lost."""
    return f"{NO_NETWORK}{since}: waiting"


def rendering_sentence(host: str, rendered: int, read: int) -> str:
    """Describe how many pages of a site needed a browser, our own or a provider's."""
    return f"{host}: {rendered:,}/{read:,} pages required JS rendering"
