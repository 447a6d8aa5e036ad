"""Breakers shared by all processes of a home: the Gate's memory where there is no Redis.

A breaker is a place whose one holder is its state, written out. So it drops out by itself when it says nothing more.
"""

from dataclasses import asdict
from datetime import timedelta

import orjson
from sqlalchemy import delete, insert, select

from gossamer.model import breaker
from gossamer.model.breaker import News, Rule, Standing, State
from gossamer.store.database import Database
from gossamer.store.places import meet
from gossamer.store.tables import places
from gossamer.store.tx import Tx

_PREFIX = "breaker:"


def ask(tx: Tx, name: str, rule: Rule) -> timedelta:
    meet(tx, _PREFIX + name)
    before = _read(tx, name)
    state, wait = breaker.ask(before, rule, tx.now.timestamp())
    if state != before:
        _write(tx, name, rule, state)
    return wait


def tell(tx: Tx, name: str, rule: Rule, news: News, why: str, goods: int) -> Standing:
    meet(tx, _PREFIX + name)
    now = tx.now.timestamp()
    before = _read(tx, name)
    state = breaker.tell(before, rule, now, news, why, goods)
    if state != before:
        _write(tx, name, rule, state)
    return breaker.standing(state, now)


def look(tx: Tx, name: str) -> Standing:
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
        if not (await self._database.read(look, name)).open:
            return timedelta()
        return await self._database.write(ask, name, rule)

    async def tell(self, name: str, rule: Rule, news: News, why: str = "", goods: int = 0) -> Standing:
        return await self._database.write(tell, name, rule, news, why, goods)

    async def look(self, name: str) -> Standing:
        return await self._database.read(look, name)
