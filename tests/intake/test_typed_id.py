"""Jobs and dead letters are named in the same way: by a whole id, its beginning or its end."""

from uuid import UUID

import pytest

from gossamer.db.transactions import Tx
from gossamer.intake.typed_id import NotAnId, Several, find_id
from gossamer.model.ids import fits
from tests.conftest import AnyDatabase

KNOWN = [UUID(int=number << 64 | number) for number in (0xABCD0001, 0xABCD0002, 0xABCD0003, 0xABCD0004, 0xABCD0005)]


def matching(tx: Tx, digits: str) -> list[UUID]:
    return [one for one in KNOWN if fits(one, digits)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (str(KNOWN[1]), KNOWN[1]),
        (" ABCD0003 ", KNOWN[2]),
        ("0004", KNOWN[3]),
        ("0004-0000", NotAnId()),
        ("abcd0", Several("abcd0001, abcd0002, abcd0003, abcd0004 and more")),
        ("abcd9999", None),
        ("003", NotAnId()),
        ("job-1234", NotAnId()),
        ("", NotAnId()),
    ],
)
async def test_what_is_typed_is_the_one_id_that_fits(
    database: AnyDatabase, text: str, found: UUID | NotAnId | Several | None
) -> None:
    assert await find_id(database, text, matching) == found


async def test_several_are_named_as_far_as_they_fit_a_line(database: AnyDatabase) -> None:
    def all_of_them(tx: Tx, digits: str) -> list[UUID]:
        return KNOWN

    shown = ", ".join(one.hex[-8:] for one in KNOWN[:4])
    assert await find_id(database, "abcd", all_of_them) == Several(f"{shown} and more")


def test_an_id_is_found_by_both_its_ends_and_by_the_beginning_of_what_is_shown() -> None:
    identifier = UUID("01936b2e-7c1a-7f3e-9a4b-0c1dfefbc23f")
    assert all(fits(identifier, digits) for digits in ("01936b2e", "c23f", "fefb", "fefbc23f", identifier.hex))
    assert not any(fits(identifier, digits) for digits in ("efbc", "1936", "0c1df", "fefbc23e"))
