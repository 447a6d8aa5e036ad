"""What jobs were said to cost before they started."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Id, Instant

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "estimates",
        sa.Column("job_id", Id, nullable=False),
        sa.Column("recipe", sa.String(40), nullable=False),
        sa.Column("ladder", sa.Text, nullable=False),
        *(
            sa.Column(name, sa.Integer, nullable=False)
            for name in ("pages_per_site", "top_pages", "sites", "known", "similar", "probed")
        ),
        *(
            sa.Column(name, sa.BigInteger, nullable=False)
            for name in ("expected", "low", "high", "low_micros", "high_micros")
        ),
        sa.Column("at", Instant, nullable=False),
        sa.PrimaryKeyConstraint("job_id", name="pk_estimates"),
    )
    op.create_index("ix_estimates_recipe_ladder_job_id", "estimates", ["recipe", "ladder", "job_id"])
