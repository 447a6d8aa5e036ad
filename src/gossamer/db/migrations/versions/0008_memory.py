"""What worked on a domain."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Instant

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "memory",
        sa.Column("domain", sa.Text, nullable=False),
        sa.Column("rung", sa.String(24), nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("wins", sa.Integer, nullable=False),
        sa.Column("tried_at", Instant, nullable=False),
        sa.PrimaryKeyConstraint("domain", "rung", name="pk_memory"),
    )
