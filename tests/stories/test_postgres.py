"""The same job with its rows on a server."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from asyncpg.exceptions import InsufficientPrivilegeError

from gossamer.db.postgres import roles_sql
from gossamer_sandbox.web.proof import compare
from tests.stories.program import Terminal, finish, sample_web
from tests.stories.program import Web as SampleWeb

PAGES = ("--max-pages-per-domain", "20", "--processes", "2")


@contextmanager
def fifteen_sites(folder: Path) -> Iterator[SampleWeb]:
    sites = ("--sites", "15", "--seed", "9", "--nasty", "0.2", "--pages-per-site", "20")
    with sample_web(folder, *sites) as web:
        yield web


def ask(url: str, sql: str, *values: Any) -> Any:
    """The first value of the answer; several statements if there are no values."""

    async def asked() -> Any:
        connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
        try:
            return await (connection.fetchval(sql, *values) if sql.startswith("SELECT") else connection.execute(sql))
        finally:
            await connection.close()

    return asyncio.run(asked())


def until_begun(terminal: Terminal, seconds: float = 60) -> str:
    """Until a job has read something; its id."""
    end = time.monotonic() + seconds
    while not (found := terminal.ask("job", "list")):
        assert time.monotonic() < end, terminal.log()
        time.sleep(0.1)
    terminal.until(found[0]["id"], lambda status: status["pages"]["done"] > 0)
    return str(found[0]["id"])


@pytest.mark.story
@pytest.mark.parametrize("pooling", ["session", "transaction"])
def test_a_whole_job_on_postgres(
    tmp_path: Path, new_postgres: Callable[[], str], pooling: str, request: pytest.FixtureRequest
) -> None:
    url = new_postgres()
    if pooling == "transaction":
        before: str = request.getfixturevalue("pooler")
        url = before.replace("/postgres", urlsplit(url).path)
    with fifteen_sites(tmp_path / "web") as web:
        settings = {
            "GOSSAMER_DATABASE_URL": url,
            "GOSSAMER_DATABASE_POOLING": pooling,
            "GOSSAMER_DOMAIN_RATE": "500",
            "GOSSAMER_HTTP_TIMEOUT": "2s",
        }
        terminal = Terminal(tmp_path / "home", web, settings)
        assert "up to date" in terminal.type("db", "upgrade").stdout
        status = terminal.ask(*terminal.prospect(*PAGES))
        assert status["state"] == "completed"
        rows = [(row["url"], row["keyword"], row["frequency"]) for row in terminal.rows(status["id"])]
        assert compare(rows, web.truth).exact
        assert len(rows) == status["matches"] > 50
        terminal.assert_clean(status["id"])
        file = tmp_path / "results.csv"
        terminal.type("job", "export", status["id"], "--output", str(file))
        assert len(file.read_text(encoding="utf-8-sig").splitlines()) > len(rows)


@pytest.mark.story
def test_the_working_role_needs_no_other_right(tmp_path: Path, new_postgres: Callable[[], str]) -> None:
    """Submitted, paused, resumed, exported, deleted; months made and dropped: all by who may only work with rows."""
    url = new_postgres()
    name = urlsplit(url).path[1:]
    owner, worker = f"owner_{name}", f"worker_{name}"
    ask(url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    made = Terminal(tmp_path / "admin").type("db", "roles", "--owner", owner, "--worker", worker).stdout
    assert made.strip() == roles_sql(owner, worker, "public").strip()
    ask(url, made)
    with fifteen_sites(tmp_path / "web") as web:
        owners = Terminal(tmp_path / "owner", web, {"GOSSAMER_DATABASE_URL": url.replace("gossamer@", f"{owner}@")})
        assert "was empty" in owners.type("db", "upgrade").stdout
        ask(url, made)
        settings = {
            "GOSSAMER_DATABASE_URL": url.replace("gossamer@", f"{worker}@"),
            "GOSSAMER_DOMAIN_RATE": "2",
            "GOSSAMER_HTTP_TIMEOUT": "2s",
            "GOSSAMER_RETENTION": "1s",
            "GOSSAMER_RETENTION_GRACE": "0s",
        }
        mine = settings["GOSSAMER_DATABASE_URL"]
        for refused in (
            "CREATE TABLE more (id int)",
            "CREATE TEMPORARY TABLE more (id int)",
            "ALTER TABLE jobs ADD COLUMN more int",
            "DROP TABLE robots",
            "TRUNCATE pages",
            "UPDATE alembic_version SET version_num = '0001'",
            "CREATE SCHEMA more",
            "CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "SELECT gossamer_add_partition('pages', '2024-03-01 UTC')",
        ):
            with pytest.raises(InsufficientPrivilegeError):
                ask(mine, refused)
        # As if it had not been worked for a while: next month is missing, and a former one is still there.
        month = datetime.now(UTC).month % 12 + 1
        missing = str(ask(url, "SELECT relname FROM pg_class WHERE relname LIKE $1", f"pages_20%\\_{month:02d}"))
        ask(url.replace("gossamer@", f"{owner}@"), f"DROP TABLE {missing}")
        ask(url.replace("gossamer@", f"{owner}@"), "SELECT gossamer_add_partition('records', '2024-03-01 UTC')")

        terminal = Terminal(tmp_path / "home", web, settings)
        running = terminal.begin(*terminal.prospect(*PAGES))
        job = until_begun(terminal)
        terminal.type("job", "pause", job)
        finish(running)
        assert terminal.ask("job", "status", job)["state"] == "paused"
        terminal.settings = {**settings, "GOSSAMER_DOMAIN_RATE": "500"}
        terminal.type("job", "resume", job)
        status = terminal.ask("job", "status", job)
        assert status["state"] == "completed"
        assert ask(url, "SELECT to_regclass($1)::text", missing) == missing
        rows = [(row["url"], row["keyword"], row["frequency"]) for row in terminal.rows(job)]
        assert compare(rows, web.truth).exact
        terminal.assert_clean(job)
        file = tmp_path / "results.csv"
        terminal.type("job", "export", job, "--output", str(file))
        assert file.stat().st_size > 1_000
        # What is hidden in one pass is deleted in the next. Commands may take less than the second it is kept.
        end = time.monotonic() + 10
        while not terminal.ask("system", "retention", "--dry-run"):
            assert time.monotonic() < end, terminal.log()
            time.sleep(0.1)
        assert terminal.ask("system", "retention", "--run")["hidden"] == [job]
        assert terminal.ask("system", "retention", "--run")["deleted"] == [job]
        assert ask(url, "SELECT count(*) FROM pages") == 0
        assert ask(url, "SELECT to_regclass('records_2024_03')") is None
        assert "up to date" in terminal.type("db", "upgrade").stdout
