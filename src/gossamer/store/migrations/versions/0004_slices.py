"""How many slices of a visit have been handed back in order: not each of them is told."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("visits", sa.Column("slices", sa.Integer, nullable=False, server_default="0"))
