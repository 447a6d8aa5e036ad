"""An account's credits of a month as one number, and no sum over all its requests whenever one more comes."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "month_credits",
        sa.Column("account_id", sa.String(40), nullable=False),
        sa.Column("month", sa.String(7), nullable=False),
        sa.Column("credits", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("account_id", "month", name="pk_month_credits"),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO month_credits (account_id, month, credits) "
        "SELECT account_id, month, sum(credits) FROM usage GROUP BY account_id, month"
    )
    op.drop_index("ix_usage_month", "usage")  # by which they were summed up
