"""A statement says the same, and brings the same, however often it is run."""

import gc
from datetime import UTC, datetime
from uuid import UUID, uuid4
from weakref import ref

import pytest
from sqlalchemy import Executable, bindparam, func, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError, MultipleResultsFound, NoResultFound

from gossamer.db.statement_cache import prepared
from gossamer.db.tables import alerts, jobs, places
from gossamer.db.transactions import Tx
from gossamer.model.states import JobState
from tests.conftest import AnyDatabase
from tests.jobs import make_job

_AT = datetime(2026, 1, 18, 12, 30, tzinfo=UTC)
_ADD = insert(alerts)
_BY_KIND = select(alerts).where(alerts.c.kind.in_(bindparam("kinds", expanding=True))).order_by(alerts.c.subject)
_SAY = update(alerts).where(alerts.c.id == bindparam("b_id"))
_TAKEN_OUT = update(alerts).where(alerts.c.kind == bindparam("b_kind")).returning(alerts.c.id, alerts.c.subject)


def _add(tx: Tx, number: int, kind: str = "audit") -> None:
    tx.run(_ADD, _alert(number, kind))


def _said(tx: Tx, changes: dict[str, object]) -> int:
    return tx.run(_SAY, changes).rowcount


def _kinds(tx: Tx, kinds: list[str]) -> list[str]:
    return [row.kind for row in tx.run(_BY_KIND, {"kinds": kinds})]


def _firsts(tx: Tx, query: Executable, params: dict[str, object]) -> list[str]:
    return list(tx.run(query, params).scalars())


def _taken_out(tx: Tx, changes: dict[str, object]) -> list[tuple[UUID, str]]:
    return sorted(tx.run(_TAKEN_OUT, changes).all())


def _alert(number: int, kind: str = "audit") -> dict[str, object]:
    return {
        "id": UUID(int=number),
        "kind": kind,
        "subject": f"s{number}",
        "job_id": None,
        "sentence": "It holds.",
        "fired_at": _AT,
        "holds": True,
    }


async def test_rows_are_written_and_read_as_the_library_does(database: AnyDatabase) -> None:
    for number in range(4):
        await database.write(_add, number)
    for _ in range(3):
        rows = await database.read(lambda tx: tx.run(_BY_KIND, {"kinds": ["audit"]}).all())
        assert [row.subject for row in rows] == ["s0", "s1", "s2", "s3"]
        assert (rows[1].id, rows[1].fired_at, rows[1].job_id, rows[1].holds) == (UUID(int=1), _AT, None, True)
        assert rows[1][0] == rows[1].id


async def test_lists_of_any_length_are_asked_for(database: AnyDatabase) -> None:
    for number, kind in enumerate(("a", "b", "c")):
        await database.write(_add, number, kind)
    for kinds in ([], ["a"], ["b", "a"], ["c", "x", "a"], ["b"], [], ["x"] * 100 + ["c"]):
        found = await database.read(_kinds, kinds)
        assert found == sorted(set(kinds) & {"a", "b", "c"})


async def test_what_is_listed_need_not_be_a_list(database: AnyDatabase) -> None:
    for number, kind in enumerate(("a", "b", "c")):
        await database.write(_add, number, kind)
    query = select(alerts.c.kind).where(alerts.c.kind.in_(bindparam("kinds", expanding=True))).order_by(alerts.c.kind)
    for kinds in ({"a", "c"}, frozenset({"b"}), ("c", "a"), dict.fromkeys("bc").keys(), set[str]()):
        found = await database.read(_firsts, query, {"kinds": kinds})
        assert found == sorted(kinds)


async def test_what_changes_without_being_given_is_asked_for_each_time(database: AnyDatabase) -> None:
    numbers = iter(range(10))
    called = select(alerts.c.subject).where(alerts.c.subject == bindparam("s", callable_=lambda: f"s{next(numbers)}"))
    spelled = select(alerts.c.subject).where(alerts.c.subject == bindparam("s", literal_execute=True))
    for number in range(4):
        await database.write(_add, number)
    for number in range(4):
        subject = f"s{number}"
        assert await database.read(_firsts, called, {}) == [subject]
        assert await database.read(_firsts, spelled, {"s": subject}) == [subject]


async def test_pairs_are_asked_for_as_pairs(database: AnyDatabase) -> None:
    query = select(alerts.c.subject).where(tuple_(alerts.c.kind, alerts.c.id).in_(bindparam("both", expanding=True)))
    for number in range(3):
        await database.write(_add, number, f"k{number}")
    wanted = [("k1", UUID(int=1)), ("k2", UUID(int=0))]
    for _ in range(3):
        assert list(await database.read(lambda tx: tx.run(query, {"both": wanted}).scalars().all())) == ["s1"]


async def test_columns_that_are_given_are_those_that_are_set(database: AnyDatabase) -> None:
    await database.write(_add, 1)
    for number in range(3):
        changes: dict[str, object] = {"b_id": UUID(int=1), "sentence": f"{number}"}
        if number % 2:
            changes["cleared_at"] = _AT
        assert await database.write(_said, changes) == 1
    row = await database.read(lambda tx: tx.run(_BY_KIND, {"kinds": ["audit"]}).one())
    assert (row.sentence, row.cleared_at) == ("2", _AT)


async def test_what_a_change_gives_back_is_read(database: AnyDatabase) -> None:
    for number in range(2):
        await database.write(_add, number)
    for turn in range(3):
        found = await database.write(_taken_out, {"b_kind": "audit", "sentence": f"{turn}"})
        assert found == [(UUID(int=0), "s0"), (UUID(int=1), "s1")]


async def test_exactly_one_is_one(database: AnyDatabase) -> None:
    count = select(func.count()).select_from(alerts)
    for turn in range(3):
        with pytest.raises(NoResultFound):
            await database.read(lambda tx: tx.run(_BY_KIND, {"kinds": ["none"]}).one())
        await database.write(_add, turn)
        assert await database.read(lambda tx: tx.run(count).scalar_one()) == turn + 1
        assert (await database.read(lambda tx: tx.run(_BY_KIND, {"kinds": ["audit"]}).first())).subject == "s0"
    with pytest.raises(MultipleResultsFound):
        await database.read(lambda tx: tx.run(_BY_KIND, {"kinds": ["audit"]}).one())


async def test_what_the_database_refuses_is_the_librarys_error(database: AnyDatabase) -> None:
    await database.write(_add, 1)
    for _ in range(3):
        with pytest.raises(IntegrityError):
            await database.write(_add, 1)
    # The secrets of rows have no place in an error.
    with pytest.raises(IntegrityError) as refused:
        await database.write(lambda tx: tx.run(_ADD, {**_alert(1), "sentence": "hush"}))
    if not database.dialect.row_locks:
        assert "hush" not in str(refused.value)


async def test_what_fails_aside_is_undone_alone(database: AnyDatabase) -> None:
    def both(tx: Tx, *numbers: int) -> None:
        with tx.savepoint():
            for number in numbers:
                tx.run(_ADD, _alert(number))

    def work(tx: Tx) -> None:
        for number in range(3):
            tx.run(_ADD, _alert(number))
            with pytest.raises(IntegrityError):
                both(tx, number + 10, number)
            with tx.savepoint():
                with pytest.raises(IntegrityError):
                    both(tx, number + 30, number)
                tx.run(_ADD, _alert(number + 20))

    await database.write(work)
    rows = await database.read(lambda tx: tx.run(_BY_KIND, {"kinds": ["audit"]}).all())
    assert sorted(row.id.int for row in rows) == [0, 1, 2, 20, 21, 22]


async def test_a_statement_that_is_gone_is_forgotten(database: AnyDatabase) -> None:
    def asked(tx: Tx) -> "ref[Executable]":
        # Past the library, which keeps some of what it has run itself.
        query = select(places.c.holder).where(places.c.place == uuid4().hex)
        assert prepared(query, {}, tx.conn.dialect) is None
        assert prepared(query, {}, tx.conn.dialect) is prepared(query, {}, tx.conn.dialect) is not None
        return ref(query)

    known = await database.read(asked)
    gc.collect()
    assert known() is None


async def test_rows_that_are_locked_are_those_that_are_read(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    query = select(jobs.c.state).where(jobs.c.id == bindparam("job"))
    for _ in range(3):
        found = await database.write(lambda tx: tx.run(tx.locked(query), {"job": job.id}).scalar())
        assert found == JobState.RUNNING
