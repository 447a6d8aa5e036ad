"""Settings that all machines of a cluster must share."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Instant

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "cluster_settings",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("at", Instant, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_cluster_settings"),
    )
