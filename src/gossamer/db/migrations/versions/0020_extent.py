"""How much a job reads, and how its progress is counted."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("names_pages", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("jobs", sa.Column("in_pages", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("jobs", sa.Column("whole_up_to", sa.Integer, nullable=False, server_default="500"))
    op.add_column("jobs", sa.Column("top_pages", sa.Integer, nullable=False, server_default="50"))
