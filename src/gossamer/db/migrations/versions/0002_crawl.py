"""Where the size of a site is known from, its requests that were not for pages, and where its pages lead."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Json

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sites", sa.Column("size_source", sa.String(8), nullable=False, server_default=""))
    op.add_column("sites", sa.Column("errands", Json, nullable=False, server_default="[]"))
    op.add_column("pages", sa.Column("links", sa.LargeBinary))
    # Both are written in another form from here on. An unfinished job still reads the pages it had chosen.
    op.execute("UPDATE sites SET notes = ''")
    op.execute("UPDATE pages SET attempts = '[]'")
