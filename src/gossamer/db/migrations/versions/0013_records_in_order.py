"""On SQLite, records are written one after the other and found by an index.

A table that is its own index keeps whole rows on every level of its tree: four to a page, of which a handful had to be
rewritten for every record.
"""

import shutil
from pathlib import Path

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Id, Instant, Json
from gossamer.errors import UserError

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        return
    _refuse_full(op.get_bind())
    op.rename_table("records", "former_records")
    op.create_table(
        "records",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("kind", sa.String(24), primary_key=True),
        sa.Column("key", sa.LargeBinary(16), primary_key=True),
        sa.Column("site_id", Id, nullable=False),
        sa.Column("page_key", sa.LargeBinary(12), nullable=False),
        sa.Column("data", Json, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
    )
    op.execute("INSERT INTO records SELECT * FROM former_records ORDER BY job_id, kind, key")
    op.drop_table("former_records")


TIMES = 3.5
"""What is written, of the size of the records: the new ones and the room of the old ones go into the log, the new ones
into the file as well. That is three, and some of it is half empty."""

_SIZE = "SELECT COALESCE(SUM(LENGTH(CAST(data AS BLOB)) + LENGTH(kind) + 120), 0) FROM records"


def _refuse_full(conn: sa.Connection) -> None:
    """Better before than in the middle of it, with nothing left for anybody else on that disk."""
    file = next(row.file for row in conn.exec_driver_sql("PRAGMA database_list") if row.name == "main")
    if not file:
        return
    needed = int(TIMES * conn.exec_driver_sql(_SIZE).scalar_one())
    free = shutil.disk_usage(Path(file).parent).free
    if needed > free:
        raise UserError(
            "database.no_room",
            f"{file} cannot be upgraded: {needed // 1_000_000 + 1:,} MB of free disk are needed for that, "
            f"and there are {free // 1_000_000:,} MB.",
            hint="Make room, or delete results that nobody needs with the gossamer you had before, and try again.",
        )
