"""Working processes of a cluster, and how large a job's share of them is."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Instant, Json

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("priority", sa.String(8), nullable=False, server_default="normal"))
    op.create_table(
        "workers",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("lanes", Json, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("started_at", Instant, nullable=False),
        sa.Column("beat_at", Instant, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
    )
