"""What signs for webhooks is sealed. What lies here in plain is sealed by whoever sends next: they have the secret."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    plain = sa.Column("is_sealed", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("webhook_keys", plain)
