"""On SQLite, records are written one after the other and found by an index.

A table that is its own index keeps whole rows on every level of its tree: four to a page, of which a handful had to be
rewritten for every record.
"""

import sqlalchemy as sa
from alembic import op

from gossamer.store.types import Id, Instant, Json

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        return
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
