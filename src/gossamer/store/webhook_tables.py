"""The tables of webhooks: endpoints, what signs for them, and the messages that wait or have arrived."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, SmallInteger, String, Table, Text, false

from gossamer.store.tables import metadata
from gossamer.store.types import Blob, Id, Instant, Json

__all__ = ["deliveries", "endpoint_keys", "endpoint_pages", "endpoints", "metadata"]

# Whoever sends to an endpoint holds its lease: two never send the same message at the same moment.
endpoints = Table(
    "webhook_endpoints",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("events", Json, nullable=False),  # none: the usual
    Column("pages", Boolean, nullable=False),  # whether batches of pages are among them
    Column("state", String(8), nullable=False),
    Column("reason", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("failing_since", Instant),
    Column("failures", Integer, nullable=False),
    Column("not_before", Instant),
    Column("lease", Id),
    Column("lease_until", Instant),
    Column("worker", Text),
    Index(None, "account"),
)

# Apart from the endpoints, so that whoever reads or shows those never has them in hand.
endpoint_keys = Table(
    "webhook_keys",
    metadata,
    Column("id", Id, primary_key=True),
    Column("endpoint_id", Id, ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), nullable=False),
    Column("key", Blob, nullable=False),
    Column("until", Instant),  # of one that was replaced
    # False of one that was written before keys were sealed, until somebody sends.
    Column("is_sealed", Boolean, nullable=False, server_default=false()),
    Index(None, "endpoint_id"),
)

# Written in the transaction of what they tell.
deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Id, primary_key=True),
    Column("endpoint_id", Id, ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), nullable=False),
    Column("type", String(24), nullable=False),
    Column("job_id", Id),
    Column("body", Text, nullable=False),  # the bytes that are signed and sent, the same on every try
    Column("state", String(12), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("queued_at", Instant, nullable=False),
    Column("due_at", Instant, nullable=False),
    Column("tries", SmallInteger, nullable=False),
    Column("attempts", Json, nullable=False),
    Column("delivered_at", Instant),
    Index(None, "state", "due_at"),
    Index(None, "endpoint_id", "id"),
    Index(None, "job_id"),
)

# How many pages of a job an endpoint was told of.
endpoint_pages = Table(
    "webhook_pages",
    metadata,
    Column("endpoint_id", Id, ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), primary_key=True),
    Column("job_id", Id, primary_key=True),
    Column("pages", BigInteger, nullable=False),
    Column("at", Instant, nullable=False),
)
