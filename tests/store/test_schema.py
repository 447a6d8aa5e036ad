"""The schema: what the migrations make is what the code expects, and no program works on a schema it does not know."""

from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.postgres import PARTITIONED
from gossamer.db.schema import HEAD, known_revisions, ready_database, revision, set_up, upgrade
from gossamer.db.tables import metadata
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from tests.conftest import AnyDatabase


def test_the_head_is_the_newest_migration() -> None:
    assert known_revisions()[-1] == HEAD


def _index(index: Any) -> str:
    """Its name, columns and condition; clauses of the same words are different objects."""
    options = {name: str(value) for name, value in index.get("dialect_options", {}).items()}
    return f"{index['name']} {index['column_names']} {index['unique']} {options}"


async def test_migrations_make_the_tables_the_code_uses(database: AnyDatabase) -> None:
    def no_partition(name: str | None, kind: str, _: Any) -> bool:
        return kind != "table" or not name or name in metadata.tables or not name.startswith(PARTITIONED)

    def differences(tx: Tx) -> list[Any]:
        context = MigrationContext.configure(tx.conn, opts={"include_name": no_partition})
        return list(compare_metadata(context, metadata))

    found = await database.write(differences)
    # Reflected types of our own columns cannot be compared by name on SQLite; everything else must agree.
    assert [one for one in found if not (isinstance(one, list) and one[0][0] == "modify_type")] == []


async def test_a_new_home_gets_the_same_tables_as_all_migrations_together(tmp_path: Path) -> None:
    def tables(tx: Tx) -> dict[str, Any]:
        seen = inspect(tx.conn)
        return {
            name: (
                [(column["name"], str(column["type"]), column["nullable"]) for column in seen.get_columns(name)],
                sorted(_index(index) for index in seen.get_indexes(name)),
                seen.get_pk_constraint(name)["constrained_columns"],
                sorted(str(unique) for unique in seen.get_unique_constraints(name)),
                sorted(str(key) for key in seen.get_foreign_keys(name)),
            )
            for name in seen.get_table_names()
        }

    found = []
    for make in (set_up, upgrade):
        database = SqliteDatabase(tmp_path / f"{make.__name__}.db", SystemClock())
        await database.write(make)
        found.append(await database.read(tables))
        await database.close()
    assert found[0] == found[1]
    assert len(found[0]) > 10


async def test_upgrading_twice_changes_nothing(database: AnyDatabase) -> None:
    await database.write(upgrade)
    assert await database.read(revision) == HEAD


async def test_a_new_home_is_set_up_by_itself(tmp_path: Path) -> None:
    database = await ready_database(f"sqlite:///{tmp_path}/deep/home/gossamer.db", SystemClock())
    assert await database.read(revision) == HEAD
    await database.close()


async def test_a_server_is_left_to_its_operator(new_postgres: Any) -> None:
    url = new_postgres()
    database = await ready_database(url, SystemClock())
    await database.write(lambda tx: tx.run(text("DROP TABLE alembic_version")))
    await database.close()
    with pytest.raises(UserError, match="gossamer db upgrade"):
        await ready_database(url, SystemClock())


async def test_an_unknown_kind_of_database_is_named() -> None:
    with pytest.raises(UserError, match="mysql"):
        await ready_database("mysql://x/y", SystemClock())


async def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "gossamer.db").write_text("garbage " * 1000)
    with pytest.raises(UserError, match="is damaged") as refused:
        await ready_database(f"sqlite:///{tmp_path}/gossamer.db", SystemClock())
    assert refused.value.code == "database.damaged"
