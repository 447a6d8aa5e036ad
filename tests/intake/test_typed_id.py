"""Jobs and dead letters are named in the same way: by a whole id, its beginning or its end."""

from uuid import UUID

import pytest

from gossamer.intake.typed_id import NotAnId, Several, find_id
from gossamer.store.tx import Tx
from tests.conftest import AnyDatabase

KNOWN = [UUID(int=number << 64 | number) for number in (0xABCD0001, 0xABCD0002, 0xABCD0003, 0xABCD0004, 0xABCD0005)]


def matching(tx: Tx, digits: str) -> list[UUID]:
    return [one for one in KNOWN if one.hex.endswith(digits)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (str(KNOWN[1]), KNOWN[1]),
        (" ABCD0003 ", KNOWN[2]),
        ("abcd9999", None),
        ("003", NotAnId()),
        ("job-1234", NotAnId()),
        ("", NotAnId()),
    ],
)
async def test_what_is_typed_is_the_one_id_that_fits(
    database: AnyDatabase, text: str, found: UUID | NotAnId | None
) -> None:
    assert await find_id(database, text, matching) == found


async def test_several_are_named_as_far_as_they_fit_a_line(database: AnyDatabase) -> None:
    def all_of_them(tx: Tx, digits: str) -> list[UUID]:
        return KNOWN

    shown = ", ".join(one.hex[-8:] for one in KNOWN[:4])
    assert await find_id(database, "abcd", all_of_them) == Several(f"{shown}, ...")
