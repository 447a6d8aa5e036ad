"""Places with holders, shared by all processes of a home: the Gate's memory where there is no Redis."""

from datetime import timedelta

from sqlalchemy import delete, func, select, text

from gossamer.store.database import Database
from gossamer.store.tables import places
from gossamer.store.tx import Tx

_SILENT = timedelta(seconds=10)
# Whoever is cut off in the middle of this transaction must not keep all others from the place.
_MEET = (
    "SELECT set_config('idle_in_transaction_session_timeout', :silent, true), pg_advisory_xact_lock(hashtext(:place))"
)


def meet(tx: Tx, place: str) -> None:
    """Two who change a place at once must see each other, and there may be no row yet for them to meet at."""
    if tx.dialect.row_locks:
        tx.run(text(_MEET), {"place": place, "silent": f"{_SILENT // timedelta(milliseconds=1)}"})


def enter(tx: Tx, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
    """Take or renew a place unless `limit` others hold one."""
    meet(tx, place)
    tx.run(delete(places).where(places.c.place == place, places.c.until <= tx.now))
    others = (places.c.place == place) & (places.c.holder != holder)
    if tx.run(select(func.count()).select_from(places).where(others)).scalar_one() >= limit:
        return False
    upsert = tx.dialect.insert(places).values(place=place, holder=holder, until=tx.now + ttl)
    upsert = upsert.on_conflict_do_update(index_elements=["place", "holder"], set_={"until": upsert.excluded.until})
    tx.run(upsert)
    return True


def leave(tx: Tx, place: str, holder: str) -> None:
    tx.run(delete(places).where(places.c.place == place, places.c.holder == holder))


class StoredPlaces:
    """`enter` and `leave` as the Gate wants them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        return await self._database.write(enter, place, holder, limit, ttl)

    async def leave(self, place: str, holder: str) -> None:
        await self._database.write(leave, place, holder)
