"""Files made of a job's rows; how many slices of a visit were handed back in order, since not each of them is told."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Id, Instant, Json

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "exports",
        sa.Column("id", Id, primary_key=True),
        sa.Column("job_id", Id, nullable=False),
        sa.Column("type", sa.String(24), nullable=False),
        sa.Column("format", sa.String(8), nullable=False),
        sa.Column("options", Json, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("partial", sa.Boolean, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("home", sa.Text, nullable=False),
        sa.Column("spooled", sa.Boolean, nullable=False),
        sa.Column("lease", Id),
        sa.Column("lease_until", Instant),
        sa.Column("worker", sa.Text),
        sa.Column("tries", sa.SmallInteger, nullable=False),
        sa.Column("rows_done", sa.BigInteger, nullable=False),
        sa.Column("rows_total", sa.BigInteger, nullable=False),
        sa.Column("blob_key", sa.Text),
        sa.Column("size", sa.BigInteger),
        sa.Column("sha256", sa.String(64)),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("finished_at", Instant),
        sa.Column("expires_at", Instant),
        sa.PrimaryKeyConstraint("id", name="pk_exports"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_exports_job_id", ondelete="CASCADE"),
    )
    op.create_index("ix_exports_job_id", "exports", ["job_id"])
    op.create_index("ix_exports_state", "exports", ["state"])
    op.add_column("visits", sa.Column("slices", sa.Integer, nullable=False, server_default="0"))
