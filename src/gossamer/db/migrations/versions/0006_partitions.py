"""On Postgres, pages, records and events in monthly partitions. A file needs none."""

from alembic import op

from gossamer.db.migrations.partitioning import add_functions, partition

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name != "postgresql":
        return
    add_functions(bind)
    for table in ("pages", "records", "events"):
        partition(bind, table)
