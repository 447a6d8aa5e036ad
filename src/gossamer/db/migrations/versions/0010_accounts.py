"""Accounts, their users, keys and logins, what they have used; and whose each job is."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Blob, Id, Instant

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _accounts()
    _logins()
    _usage()
    # What was there before belongs to the one account that there was.
    op.add_column("jobs", sa.Column("account_id", sa.String(40), nullable=False, server_default="default"))
    op.create_index("ix_jobs_account_id_id", "jobs", ["account_id", "id"])
    op.drop_index("uq_jobs_submit_key", "jobs")
    op.create_index("uq_jobs_submit_key", "jobs", ["account_id", "submit_key"], unique=True)


def _accounts() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("credits", sa.BigInteger),
        sa.Column("running_jobs", sa.Integer),
        sa.Column("queued_jobs", sa.Integer),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("closed_at", Instant),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
    )
    op.create_table(
        "users",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", sa.String(40), nullable=False),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("password", sa.Text, nullable=False),
        sa.Column("scope", sa.String(8), nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("closed_at", Instant),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_users_account_id"),
    )
    op.create_index("uq_users_email", "users", ["email"], unique=True)
    op.create_table(
        "api_keys",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", sa.String(40), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("start", sa.String(16), nullable=False),
        sa.Column("digest", Blob, nullable=False),
        sa.Column("scope", sa.String(8), nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("used_at", Instant),
        sa.Column("revoked_at", Instant),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_api_keys_account_id"),
    )
    op.create_index("uq_api_keys_digest", "api_keys", ["digest"], unique=True)
    op.create_index("ix_api_keys_account_id", "api_keys", ["account_id"])


def _logins() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", Id, primary_key=True),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("digest", Blob, nullable=False),
        sa.Column("turns", sa.Integer, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=False),
        sa.Column("revoked_at", Instant),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_sessions_user_id", ondelete="CASCADE"),
    )
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])


def _usage() -> None:
    op.create_table(
        "usage",
        sa.Column("account_id", sa.String(40), primary_key=True),
        sa.Column("id", Id, primary_key=True),
        sa.Column("month", sa.String(7), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("key_id", Id),
        sa.Column("door", sa.String(24), nullable=False),
        sa.Column("recipe", sa.String(40), nullable=False),
        sa.Column("urls", sa.Integer, nullable=False),
        sa.Column("credits", sa.BigInteger, nullable=False),
        sa.Column("micros", sa.BigInteger, nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("ms", sa.BigInteger),
        sa.Column("outcome", sa.String(12), nullable=False),
        sa.Column("is_open", sa.SmallInteger, nullable=False),
        sa.Column("at", Instant, nullable=False),
        sa.PrimaryKeyConstraint("account_id", "id", name="pk_usage"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_usage_month", "usage", ["account_id", "month"])
    op.create_index("ix_usage_open", "usage", ["is_open"])
