"""Every table there is, whichever module it is written in."""

from gossamer.store import access_tables, ledger_tables, webhook_tables
from gossamer.store.tables import metadata

__all__ = ["access_tables", "ledger_tables", "metadata", "webhook_tables"]
