"""How many sites of a job are walked at a time, where somebody has said so."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("at_once", sa.Integer))
