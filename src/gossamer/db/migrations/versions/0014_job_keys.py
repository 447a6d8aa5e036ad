"""Keys to providers that come with a job, sealed."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Blob, Id

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "job_keys",
        sa.Column("job_id", Id, nullable=False),
        sa.Column("provider", sa.String(24), nullable=False),
        sa.Column("sealed", Blob, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "provider", name="pk_job_keys"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_job_keys_job_id", ondelete="CASCADE"),
    )
