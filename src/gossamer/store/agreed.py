"""Settings that all machines of a cluster must share, as the first of them had them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, insert, select

from gossamer.store.tables import cluster_settings
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Agreed:
    """A setting as the cluster has it; of a secret only the digest."""

    name: str
    value: str
    host: str  # of the machine that was first
    at: datetime


def all_of_them(tx: Tx) -> list[Agreed]:
    """By name; none where no cluster has worked this database yet, or an operator had them forgotten."""
    return [Agreed(*row) for row in tx.run(select(cluster_settings).order_by(cluster_settings.c.name))]


def replace(tx: Tx, values: Mapping[str, str], host: str) -> None:
    forget(tx)
    rows = [{"name": name, "value": value, "host": host, "at": tx.now} for name, value in values.items()]
    tx.run_many(insert(cluster_settings), rows)


def forget(tx: Tx) -> int:
    """Whoever joins next is the first again."""
    return tx.run(delete(cluster_settings)).rowcount
