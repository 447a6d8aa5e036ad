"""Every table there is, whichever module it is written in."""

from gossamer.store import ledger_tables, webhook_tables
from gossamer.store.tables import metadata

__all__ = ["ledger_tables", "metadata", "webhook_tables"]
