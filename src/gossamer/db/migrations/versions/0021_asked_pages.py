"""Pages that recipes ask for, sites that they open, and what they conclude when the walk is over."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Blob, Id, Instant, Json

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pages", sa.Column("step", sa.String(24)))
    op.add_column("pages", sa.Column("request", Blob))
    op.add_column("pages", sa.Column("carry", Json))
    op.add_column("sites", sa.Column("step", sa.String(24)))
    op.add_column("sites", sa.Column("before", sa.String(8)))
    op.add_column("records", sa.Column("generation", sa.SmallInteger))
    op.create_table(
        "conclusions",
        sa.Column("job_id", Id, nullable=False),
        sa.Column("phase", sa.String(12), nullable=False),
        sa.Column("generation", sa.SmallInteger, nullable=False),
        sa.Column("baseline_id", Id),
        sa.Column("comparable", sa.Boolean, nullable=False),
        sa.Column("cursor", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("done", sa.BigInteger, nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.Column("tries", sa.SmallInteger, nullable=False),
        sa.Column("lease", Id),
        sa.Column("lease_until", Instant),
        sa.Column("worker", sa.Text),
        sa.PrimaryKeyConstraint("job_id", name="pk_conclusions"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_conclusions_job_id", ondelete="CASCADE"),
    )
    op.create_index("ix_conclusions_phase", "conclusions", ["phase"])
