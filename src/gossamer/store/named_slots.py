"""Slots with holders, shared by all processes of a data folder: the Gate's storage if there is no Redis.

A circuit breaker is a slot whose one holder is its serialised state, so it expires when it is no longer
needed.
"""

from dataclasses import asdict
from datetime import timedelta

import orjson
from sqlalchemy import delete, func, insert, select, text

from gossamer.db.database import Database
from gossamer.db.tables import places
from gossamer.db.transactions import Tx
from gossamer.model import breaker
from gossamer.model.breaker import BreakerRule, BreakerStanding, BreakerState, News

_SILENT = timedelta(seconds=10)
# A client that is disconnected in this transaction must not block the slot.
_MEET = (
    "SELECT set_config('idle_in_transaction_session_timeout', :silent, true), pg_advisory_xact_lock(hashtext(:place))"
)


def lock_slot(tx: Tx, place: str) -> None:
    """Lock a slot until commit. It may have no row yet, so an advisory lock is used."""
    if tx.dialect.row_locks:
        tx.run(text(_MEET), {"place": place, "silent": f"{_SILENT // timedelta(milliseconds=1)}"})


def enter(tx: Tx, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
    """Take or renew a place in a slot, unless `limit` others hold it."""
    lock_slot(tx, place)
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


class StoredSlots:
    """Slots as the Gate needs them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        return await self._database.write(enter, place, holder, limit, ttl)

    async def leave(self, place: str, holder: str) -> None:
        await self._database.write(leave, place, holder)


_PREFIX = "breaker:"


def ask_breaker(tx: Tx, name: str, rule: BreakerRule) -> timedelta:
    lock_slot(tx, _PREFIX + name)
    before = _read(tx, name)
    state, wait = breaker.ask(before, rule, tx.now.timestamp())
    if state != before:
        _write(tx, name, rule, state)
    return wait


def tell_breaker(tx: Tx, name: str, rule: BreakerRule, news: News, why: str, goods: int) -> BreakerStanding:
    lock_slot(tx, _PREFIX + name)
    now = tx.now.timestamp()
    before = _read(tx, name)
    state = breaker.tell(before, rule, now, news, why, goods)
    if state != before:
        _write(tx, name, rule, state)
    return breaker.standing(state, now)


def breaker_standing(tx: Tx, name: str) -> BreakerStanding:
    return breaker.standing(_read(tx, name), tx.now.timestamp())


def _read(tx: Tx, name: str) -> BreakerState:
    kept = select(places.c.holder).where(places.c.place == _PREFIX + name, places.c.until > tx.now)
    written = tx.run(kept).scalar()
    if written is None:
        return BreakerState()
    fields = orjson.loads(written)
    return BreakerState(**fields | {"counted": tuple(tuple(one) for one in fields["counted"])})


def _write(tx: Tx, name: str, rule: BreakerRule, state: BreakerState) -> None:
    tx.run(delete(places).where(places.c.place == _PREFIX + name))
    if state == BreakerState():
        return
    until = tx.now + timedelta(seconds=state.lives(rule, tx.now.timestamp()))
    written = orjson.dumps(asdict(state)).decode()
    tx.run(insert(places).values(place=_PREFIX + name, holder=written, until=until))


class StoredBreakers:
    """Circuit breakers as the Gate needs them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(self, name: str, rule: BreakerRule) -> timedelta:
        # A closed breaker needs no write and no lock.
        if not (await self._database.read(breaker_standing, name)).open:
            return timedelta()
        return await self._database.write(ask_breaker, name, rule)

    async def tell(self, name: str, rule: BreakerRule, news: News, why: str = "", goods: int = 0) -> BreakerStanding:
        return await self._database.write(tell_breaker, name, rule, news, why, goods)

    async def look(self, name: str) -> BreakerStanding:
        return await self._database.read(breaker_standing, name)
