"""Money: budgets that cannot be passed, what is reserved, what was charged, what jobs have spent."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.migrations.partitioning import partition
from gossamer.db.types import Blob, Id, Instant

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_PARTS = ("credits", "micros", "bytes")


def _amounts(of: str, *, zero: str | None = None) -> list[sa.Column[int]]:
    return [sa.Column(f"{of}{part}", sa.BigInteger, nullable=False, server_default=zero) for part in _PARTS]


def upgrade() -> None:
    op.create_table(
        "budgets",
        sa.Column("scope", sa.String(8), primary_key=True),
        sa.Column("subject", sa.String(40), primary_key=True),
        sa.Column("period", sa.String(10), primary_key=True),
        *(sa.Column(f"cap_{part}", sa.BigInteger) for part in _PARTS),
        sa.Column("job_id", Id),
        sa.Column("cap_traffic", sa.BigInteger),
        *_amounts("reserved_", zero="0"),
        *_amounts("spent_", zero="0"),
        *_amounts("excess_", zero="0"),
        sa.Column("told", sa.SmallInteger, nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("scope", "subject", "period", name="pk_budgets"),
        *(
            sa.CheckConstraint(
                f"reserved_{part} + spent_{part} - excess_{part} <= cap_{part}", name=f"ck_budgets_cap_{part}"
            )
            for part in _PARTS
        ),
        *(
            sa.CheckConstraint(f"reserved_{part} >= 0 AND spent_{part} >= 0", name=f"ck_budgets_signs_{part}")
            for part in _PARTS
        ),
    )
    op.create_table(
        "reservations",
        sa.Column("id", Id, primary_key=True),
        sa.Column("job_id", Id, nullable=False),
        sa.Column("site_id", Id, nullable=False),
        sa.Column("visit_id", Id, nullable=False),
        sa.Column("lease", Id, nullable=False),
        sa.Column("page_key", Blob),
        sa.Column("rung", sa.String(24), nullable=False),
        sa.Column("provider", sa.String(24), nullable=False),
        *_amounts(""),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("at", Instant, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_reservations"),
    )
    op.create_index("ix_reservations_job_id", "reservations", ["job_id"])
    op.create_table(
        "charges",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("id", Id, primary_key=True),
        sa.Column("site_id", Id, nullable=False),
        sa.Column("page_key", Blob),
        sa.Column("rung", sa.String(24), nullable=False),
        sa.Column("provider", sa.String(24), nullable=False),
        *_amounts(""),
        sa.Column("assumed", sa.Boolean, nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("at", Instant, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "id", name="pk_charges"),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        partition(op.get_bind(), "charges")
    op.create_table(
        "expenses",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("rung", sa.String(24), primary_key=True),
        sa.Column("provider", sa.String(24), nullable=False),
        sa.Column("requests", sa.BigInteger, nullable=False),
        *_amounts(""),
        sa.Column("assumed", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "day", "rung", name="pk_expenses"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_expenses_day", "expenses", ["day"])
    op.create_table(
        "closed_rungs",
        sa.Column("rung", sa.String(24), primary_key=True),
        sa.Column("charged", sa.BigInteger, nullable=False),
        sa.Column("at", Instant, nullable=False),
        sa.PrimaryKeyConstraint("rung", name="pk_closed_rungs"),
    )
