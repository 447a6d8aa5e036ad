"""Requests, failed ones, and the time of writes per job and minute; the minutes of all jobs are found by an index."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("requests", "failed", "writes"):
        op.add_column("minutes", sa.Column(name, sa.Integer, nullable=False, server_default="0"))
    op.add_column("minutes", sa.Column("write_ms", sa.BigInteger, nullable=False, server_default="0"))
    op.create_index("ix_minutes_minute", "minutes", ["minute"])
