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
from gossamer.model.breaker import News, Rule, Standing, State

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


class StoredSlots:
    """`enter` and `leave` as the Gate wants them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enter(self, place: str, holder: str, limit: int, ttl: timedelta) -> bool:
        return await self._database.write(enter, place, holder, limit, ttl)

    async def leave(self, place: str, holder: str) -> None:
        await self._database.write(leave, place, holder)


_PREFIX = "breaker:"


def ask_breaker(tx: Tx, name: str, rule: Rule) -> timedelta:
    meet(tx, _PREFIX + name)
    before = _read(tx, name)
    state, wait = breaker.ask(before, rule, tx.now.timestamp())
    if state != before:
        _write(tx, name, rule, state)
    return wait


def tell_breaker(tx: Tx, name: str, rule: Rule, news: News, why: str, goods: int) -> Standing:
    meet(tx, _PREFIX + name)
    now = tx.now.timestamp()
    before = _read(tx, name)
    state = breaker.tell(before, rule, now, news, why, goods)
    if state != before:
        _write(tx, name, rule, state)
    return breaker.standing(state, now)


def breaker_standing(tx: Tx, name: str) -> Standing:
    return breaker.standing(_read(tx, name), tx.now.timestamp())


def _read(tx: Tx, name: str) -> State:
    kept = select(places.c.holder).where(places.c.place == _PREFIX + name, places.c.until > tx.now)
    written = tx.run(kept).scalar()
    if written is None:
        return State()
    fields = orjson.loads(written)
    return State(**fields | {"counted": tuple(tuple(one) for one in fields["counted"])})


def _write(tx: Tx, name: str, rule: Rule, state: State) -> None:
    tx.run(delete(places).where(places.c.place == _PREFIX + name))
    if state == State():
        return
    until = tx.now + timedelta(seconds=state.lives(rule, tx.now.timestamp()))
    written = orjson.dumps(asdict(state)).decode()
    tx.run(insert(places).values(place=_PREFIX + name, holder=written, until=until))


class StoredBreakers:
    """`ask`, `tell` and `look` as the Gate wants them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(self, name: str, rule: Rule) -> timedelta:
        # While all is well nobody has to write, nor to wait for who does.
        if not (await self._database.read(breaker_standing, name)).open:
            return timedelta()
        return await self._database.write(ask_breaker, name, rule)

    async def tell(self, name: str, rule: Rule, news: News, why: str = "", goods: int = 0) -> Standing:
        return await self._database.write(tell_breaker, name, rule, news, why, goods)

    async def look(self, name: str) -> Standing:
        return await self._database.read(breaker_standing, name)
