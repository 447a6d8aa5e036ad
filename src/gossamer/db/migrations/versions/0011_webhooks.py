"""Webhooks: endpoints, what signs for them, messages, and how far page batches are."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Blob, Id, Instant, Json

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def _endpoint_of(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["endpoint_id"], ["webhook_endpoints.id"], name=f"fk_{table}_endpoint_id", ondelete="CASCADE"
    )


def upgrade() -> None:
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("events", Json, nullable=False),
        sa.Column("pages", sa.Boolean, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("failing_since", Instant),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("not_before", Instant),
        sa.Column("lease", Id),
        sa.Column("lease_until", Instant),
        sa.Column("worker", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_endpoints"),
    )
    op.create_index("ix_webhook_endpoints_account", "webhook_endpoints", ["account"])
    op.create_table(
        "webhook_keys",
        sa.Column("id", Id, primary_key=True),
        sa.Column("endpoint_id", Id, nullable=False),
        sa.Column("key", Blob, nullable=False),
        sa.Column("until", Instant),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_keys"),
        _endpoint_of("webhook_keys"),
    )
    op.create_index("ix_webhook_keys_endpoint_id", "webhook_keys", ["endpoint_id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", Id, primary_key=True),
        sa.Column("endpoint_id", Id, nullable=False),
        sa.Column("type", sa.String(24), nullable=False),
        sa.Column("job_id", Id),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("queued_at", Instant, nullable=False),
        sa.Column("due_at", Instant, nullable=False),
        sa.Column("tries", sa.SmallInteger, nullable=False),
        sa.Column("attempts", Json, nullable=False),
        sa.Column("delivered_at", Instant),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_deliveries"),
        _endpoint_of("webhook_deliveries"),
    )
    op.create_index("ix_webhook_deliveries_state_due_at", "webhook_deliveries", ["state", "due_at"])
    op.create_index("ix_webhook_deliveries_endpoint_id_id", "webhook_deliveries", ["endpoint_id", "id"])
    op.create_index("ix_webhook_deliveries_job_id", "webhook_deliveries", ["job_id"])
    op.create_table(
        "webhook_pages",
        sa.Column("endpoint_id", Id, nullable=False),
        sa.Column("job_id", Id, nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("at", Instant, nullable=False),
        sa.PrimaryKeyConstraint("endpoint_id", "job_id", name="pk_webhook_pages"),
        _endpoint_of("webhook_pages"),
    )
