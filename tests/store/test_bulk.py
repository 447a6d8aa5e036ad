"""One statement over many rows: in few pieces, and each row once."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import bindparam, insert, select, update

from gossamer.db.bulk import BulkStatement, powers_of_two
from gossamer.db.tables import robots
from gossamer.db.transactions import Tx
from tests.conftest import AnyDatabase

_ADD = insert(robots).values({column.name: bindparam(column.name) for column in robots.c})
_ADD_NEW = BulkStatement(_ADD, " ON CONFLICT (origin) DO NOTHING", together=True)
_ADD_ALL = BulkStatement(_ADD, together=True)
_COUNT = BulkStatement(
    update(robots).where(robots.c.origin == bindparam("b_origin")).values(status=robots.c.status + bindparam("b_more")),
    together=True,
)


@given(st.integers(0, 3_000), st.booleans())
def test_every_row_is_in_one_piece_of_a_usual_length(number: int, repeats: bool) -> None:
    rows = range(number)
    pieces = list(powers_of_two(rows, repeats=repeats))
    assert all(len(piece) & (len(piece) - 1) == 0 and len(piece) <= 512 for piece in pieces)
    assert [*dict.fromkeys(row for piece in pieces for row in piece)] == list(rows)
    said_twice = sum(map(len, pieces)) - number
    assert said_twice == 0 if not repeats else said_twice * 3 <= number


@pytest.mark.parametrize(("number", "lengths"), [(100, [128]), (200, [256]), (320, [256, 64]), (65, [64, 1]), (0, [])])
def test_few_pieces(number: int, lengths: Sequence[int]) -> None:
    assert [len(piece) for piece in powers_of_two(range(number), repeats=True)] == lengths


@pytest.mark.parametrize("number", [1, 3, 64, 100, 130, 700])
async def test_a_row_that_fills_up_a_piece_counts_once(database: AnyDatabase, number: int) -> None:
    def run(tx: Tx) -> tuple[int, int, int]:
        rows = [
            {"origin": f"http://{at}.test", "status": at % 7, "body": "", "fetched_at": tx.now} for at in range(number)
        ]
        first = _ADD_ALL.run(tx, rows[: number // 2])
        return first, _ADD_NEW.run(tx, rows), _COUNT.run(tx, [{"b_origin": r["origin"], "b_more": 200} for r in rows])

    first, second, counted = await database.write(run)
    if database.dialect.counts_many:
        assert (first, second, counted) == (number // 2, number - number // 2, number)
    found = await database.read(lambda tx: [tuple(row) for row in tx.run(select(robots.c.origin, robots.c.status))])
    assert sorted(found) == sorted((f"http://{at}.test", at % 7 + 200) for at in range(number))
