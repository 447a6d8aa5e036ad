"""Run by Alembic: applies revisions on the connection the caller has open."""

from alembic import context

from gossamer.db.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
