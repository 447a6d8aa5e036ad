"""How long a job has worked, requests that are one job however often they come, checkpoints, alerts."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Blob, Id, Instant

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("ran_ms", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("submit_key", sa.Text))
    op.add_column("jobs", sa.Column("submit_digest", Blob))
    op.add_column("jobs", sa.Column("hidden_at", Instant))
    op.create_index("uq_jobs_submit_key", "jobs", ["submit_key"], unique=True)
    op.create_index("ix_visits_worker", "visits", ["worker"])
    op.create_table(
        "checkpoints",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("id", Id, primary_key=True),
        sa.Column("at", Instant, nullable=False),
        sa.Column("cause", sa.String(12), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("sites_total", sa.Integer, nullable=False),
        sa.Column("sites_done", sa.Integer, nullable=False),
        sa.Column("sites_failed", sa.Integer, nullable=False),
        sa.Column("sites_partial", sa.Integer, nullable=False),
        sa.Column("pages_done", sa.BigInteger, nullable=False),
        sa.Column("pages_failed", sa.BigInteger, nullable=False),
        sa.Column("pages_skipped", sa.BigInteger, nullable=False),
        sa.Column("records", sa.BigInteger, nullable=False),
        sa.Column("last_at", Instant),
        sa.PrimaryKeyConstraint("job_id", "id", name="pk_checkpoints"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "alerts",
        sa.Column("id", Id, primary_key=True),
        sa.Column("kind", sa.String(24), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("job_id", Id),
        sa.Column("sentence", sa.Text, nullable=False),
        sa.Column("fired_at", Instant, nullable=False),
        sa.Column("cleared_at", Instant),
        sa.Column("delivered_at", Instant),
        sa.Column("holds", sa.Boolean),
        sa.PrimaryKeyConstraint("id", name="pk_alerts"),
        sa.UniqueConstraint("kind", "subject", "holds", name="uq_alerts_kind_subject_holds"),
    )
    if op.get_bind().dialect.name == "sqlite":
        # 0002 emptied the notes with a text, which SQLite keeps as one where bytes are read.
        op.execute("UPDATE sites SET notes = CAST(notes AS BLOB) WHERE typeof(notes) = 'text'")
