"""A server that will not have us is named in one sentence."""

from collections.abc import Callable

import pytest

from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.db.schema import revision
from gossamer.errors import StorageAway, UserError
from tests.servers import free_port


def _without_database(url: str) -> str:
    return url.rsplit("/", 1)[0] + "/not_there"


def _without_user(url: str) -> str:
    return url.replace("gossamer@", "nobody-here@")


@pytest.mark.parametrize("wrong", [_without_database, _without_user])
async def test_a_wrong_name_is_refused_with_what_to_do(
    new_postgres: Callable[[], str], wrong: Callable[[str], str]
) -> None:
    database = open_database(wrong(new_postgres()), SystemClock())
    try:
        with pytest.raises(UserError) as refused:
            await database.read(revision)
    finally:
        await database.close()
    assert refused.value.code == "database.refused"
    assert "does not exist" in refused.value.message


async def test_nobody_there_is_away_and_says_what_next() -> None:
    database = open_database(f"postgresql://me@127.0.0.1:{free_port()}/gossamer", SystemClock())
    try:
        with pytest.raises(StorageAway, match="Is it running"):
            await database.read(revision)
    finally:
        await database.close()
