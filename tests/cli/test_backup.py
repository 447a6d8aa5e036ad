"""Backups are whole however busy the database is; restoring puts one back or leaves everything as it was."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest

from gossamer.cli.backup import free_name
from gossamer.clock import SystemClock
from gossamer.db.backup import back_up, examine, opened, put_back, restore
from gossamer.db.database import SqliteDatabase, open_database
from gossamer.db.schema import HEAD, ready_database, upgrade
from gossamer.errors import UserError
from gossamer.runtime.home_lock import HomeLock
from gossamer.store.reclaim import void_all
from tests.chaos.postgres import postgres_server
from tests.jobs import claim_all, make_job
from tests.later import LATER, make_migrations, settings_of
from tests.servers import program
from tests.stories.program import Terminal, finish, quick_web


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path / "home")


def live(terminal: Terminal) -> Path:
    return terminal.home / "gossamer.db"


def add_jobs(path: Path, count: int) -> None:
    """Jobs of three sites each."""

    async def add() -> None:
        database = await ready_database(f"sqlite:///{path}", SystemClock())
        for _ in range(count):
            await database.write(make_job, "a.test", "b.test", "c.test")
        await database.close()

    asyncio.run(add())


def add_two_jobs(path: Path) -> None:
    add_jobs(path, 2)


def count(path: Path, table: str = "jobs") -> int:
    with closing(sqlite3.connect(path)) as rows:
        found = rows.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
        return int(found)


def refused(terminal: Terminal, *arguments: str) -> str:
    done = terminal.type(*arguments, check=False)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.story
def test_a_backup_from_the_middle_of_a_job_is_resumed_to_the_same_rows(tmp_path: Path) -> None:
    arguments = ("--sites", "8", "--seed", "5", "--nasty", "0", "--size-min", "8", "--size-max", "12")
    with quick_web(tmp_path / "web", *arguments) as web:
        settings = {"GOSSAMER_DOMAIN_RATE": "4", "GOSSAMER_HTTP_TIMEOUT": "2s"}
        terminal = Terminal(tmp_path / "home", web, settings)
        running = terminal.begin(*terminal.prospect("--max-pages-per-domain", "15", "--processes", "2"))
        job = terminal.until_read(12)
        assert back_up(live(terminal), tmp_path / "middle.db").jobs == 1
        code, output = finish(running)
        assert code == 0, output
        undisturbed = terminal.rows(job)
        read = terminal.ask("job", "status", job)["pages"]["done"]

        # In the same home, and on another machine where nobody knows the name of the first.
        hurry = {**settings, "GOSSAMER_DOMAIN_RATE": "100"}
        for place in (Terminal(terminal.home, web, hurry), Terminal(tmp_path / "elsewhere", web, hurry)):
            restored = place.ask("db", "restore", str(tmp_path / "middle.db"), "--yes")
            assert restored["visits_freed"] > 0
            before = place.ask("job", "status", job)
            assert before["shown_state"] == "stopped: no worker"
            assert 12 <= before["pages"]["done"] < read
            assert "Completed" in place.type("job", "resume", job, "--processes", "2").stdout
            assert place.rows(job) == undisturbed
            place.type("job", "audit", job)
        assert len(undisturbed) > 20
        (kept,) = terminal.home.glob("gossamer.db.before-restore-*")
        assert count(kept, "records") == len(undisturbed)


def test_a_backup_is_of_one_moment_while_another_process_writes(terminal: Terminal, tmp_path: Path) -> None:
    add_jobs(live(terminal), 1)
    code = f"from tests.cli.test_backup import *\nadd_jobs(Path({str(live(terminal))!r}), 100000)"
    writer = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        seen = [1]
        for _ in range(8):
            while count(live(terminal)) == seen[-1]:
                time.sleep(0.01)
            made = back_up(live(terminal), tmp_path / "copy.db", force=True)
            jobs = count(tmp_path / "copy.db")
            assert (made.jobs, count(tmp_path / "copy.db", "sites")) == (jobs, 3 * jobs)
            seen.append(jobs)
        assert seen == sorted(set(seen)), "the writer went on all the while"
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.wait()


def test_a_backup_is_one_private_file_and_replaces_nothing_unasked(terminal: Terminal, tmp_path: Path) -> None:
    add_jobs(live(terminal), 2)
    folder = tmp_path / "copies"
    folder.mkdir()
    target = folder / "monday.db"
    assert terminal.ask("db", "backup", str(target)) == {
        "path": str(target),
        "bytes": target.stat().st_size,
        "jobs": 2,
        "revision": HEAD,
    }
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [file.name for file in folder.iterdir()] == ["monday.db"]
    add_jobs(live(terminal), 1)
    assert "is there already. Name another file, or give --force." in refused(terminal, "db", "backup", str(target))
    assert count(target) == 2
    assert "3 jobs" in terminal.type("db", "backup", str(target), "--force").stdout
    assert "is the database itself" in refused(terminal, "db", "backup", str(live(terminal)), "--force")
    said = refused(terminal, "db", "backup", str(folder / "no such" / "folder.db"))
    assert "cannot be written: No such file or directory." in said
    assert f"Make the folder first: mkdir -p '{folder}/no such'" in said
    for path in (str(folder), "."):
        assert f"{path} is a folder. Name a file in it." in refused(terminal, "db", "backup", path, "--force")


def test_a_backup_that_finds_no_room_leaves_nothing_behind(terminal: Terminal, tmp_path: Path) -> None:
    add_jobs(live(terminal), 30)
    folder = tmp_path / "small"
    folder.mkdir()
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({live(terminal).stat().st_size // 2},) * 2)"
    code = f"{limit}\nfrom gossamer.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "db", "backup", str(folder / "copy.db")],
        env=terminal.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert list(folder.iterdir()) == []


def test_a_damaged_database_is_not_backed_up_and_named_as_by_any_command(terminal: Terminal, tmp_path: Path) -> None:
    add_jobs(live(terminal), 40)
    size = live(terminal).stat().st_size
    os.truncate(live(terminal), size // 2)
    said = refused(terminal, "db", "backup", str(tmp_path / "copy.db"))
    assert said == refused(terminal, "job", "list")
    assert f"{live(terminal)} is damaged: database disk image is malformed." in said
    with_a_hole(tmp_path / "holed.db")
    with pytest.raises(UserError, match="is damaged") as caught:
        back_up(tmp_path / "holed.db", tmp_path / "copy.db")
    assert caught.value.code == "database.damaged"
    assert not (tmp_path / "copy.db").exists()


def test_a_file_without_our_tables_is_not_backed_up(tmp_path: Path) -> None:
    of_another_program(tmp_path / "gossamer.db")
    with pytest.raises(UserError, match="is not a database of gossamer: no such table") as caught:
        back_up(tmp_path / "gossamer.db", tmp_path / "copy.db")
    assert "GOSSAMER_HOME" in caught.value.hint


def test_without_a_database_there_is_nothing_to_back_up(terminal: Terminal, tmp_path: Path) -> None:
    assert "There is no database at" in refused(terminal, "db", "backup", str(tmp_path / "copy.db"))
    assert not terminal.home.exists()


def test_a_backup_does_not_upgrade_and_its_restoration_does(terminal: Terminal, tmp_path: Path) -> None:
    async def former() -> str:
        database = await ready_database(f"sqlite:///{live(terminal)}", SystemClock())
        job = await database.write(make_job, "a.test")
        await database.write(claim_all)
        await database.close()
        return str(job.id)

    job = asyncio.run(former())
    later = Terminal(terminal.home, settings=settings_of(make_migrations(tmp_path / "later")))
    later.type("db", "backup", str(tmp_path / "former.db"))
    assert examine(tmp_path / "former.db").revision == HEAD
    assert examine(live(terminal)).revision == HEAD
    answer = later.ask("db", "restore", str(tmp_path / "former.db"), "--yes")
    assert (answer["revision"], answer["visits_freed"]) == (LATER, 1)
    assert later.ask("job", "status", job)["domains"]["total"] == 1
    assert examine(tmp_path / "former.db").revision == HEAD


def not_sqlite(path: Path) -> None:
    path.write_text("domain,keyword\n" * 1000)


def of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("CREATE TABLE bookmarks (url TEXT)")
        rows.commit()


def of_revision(path: Path, revision: str) -> None:
    add_jobs(path, 1)
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("UPDATE alembic_version SET version_num = ?", (revision,))
        rows.commit()


def with_a_hole(path: Path) -> None:
    add_jobs(path, 40)
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("PRAGMA journal_mode = DELETE")
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        for place in range(size // 2 // 4096 * 4096, size, 4096):
            file.seek(place)
            file.write(b"\xff" * 4096)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (not_sqlite, "is not a database of gossamer: file is not a database."),
        (of_another_program, "is not a database of gossamer: no such table: alembic_version."),
        (lambda path: of_revision(path, "9999"), "was written by a newer gossamer (revision 9999"),
        (lambda path: of_revision(path, "0021"), "is at revision 0021, which this program does not know."),
        (with_a_hole, "is damaged: "),
        (Path.mkdir, "is a folder. Name the file in it"),
        (lambda path: None, "No file at"),
        (lambda path: altered(path, "DROP TABLE places"), "is not a database of gossamer: it has no table 'places'."),
    ],
)
def test_what_is_no_sound_backup_is_refused_and_changes_nothing(
    terminal: Terminal, tmp_path: Path, make: Callable[[Path], None], sentence: str
) -> None:
    add_jobs(live(terminal), 1)
    make(tmp_path / "bad.db")
    assert sentence in refused(terminal, "db", "restore", str(tmp_path / "bad.db"), "--yes")
    assert count(live(terminal)) == 1
    assert not list(terminal.home.glob("*before-restore*"))


def altered(path: Path, *statements: str) -> None:
    """A sound database of ours, and then not quite."""

    async def make() -> None:
        database = open_database(f"sqlite:///{path}", SystemClock())
        await database.write(upgrade, HEAD)
        await database.close()

    asyncio.run(make())
    with closing(sqlite3.connect(path)) as rows:
        for statement in statements:
            rows.execute(statement)
        rows.commit()
        rows.execute("PRAGMA journal_mode = DELETE")


_WORDS = "UPDATE sqlite_schema SET sql = replace(sql, 'CREATE', 'create ') WHERE name = 'ft'"


@pytest.mark.parametrize(
    ("statements", "sentence"),
    [
        (["DROP TABLE places"], "it has no table 'places'"),
        (["ALTER TABLE pages DROP COLUMN links"], "the table 'pages' has not the columns of revision"),
        (["ALTER TABLE jobs ADD COLUMN x AS (1)"], "the table 'jobs' has not the columns of revision"),
        (["DROP TABLE places", "CREATE TABLE places (place TEXT, holder TEXT, until INTEGER)"], "the table 'places'"),
        (["CREATE TRIGGER t AFTER INSERT ON jobs BEGIN DELETE FROM sites; END"], "it has the trigger 't'"),
        (["DROP TABLE places", "CREATE VIEW places AS SELECT 1 AS place"], "it has the view 'places'"),
        (["CREATE VIRTUAL TABLE ft USING fts5(words)"], "it has 'ft', which is no plain table"),
        (["CREATE VIRTUAL TABLE ft USING fts5(words)", "PRAGMA writable_schema = ON", _WORDS], "it has 'ft'"),
        (["DELETE FROM alembic_version"], "it has no revision"),
    ],
)
def test_a_backup_must_be_what_its_revision_made(tmp_path: Path, statements: list[str], sentence: str) -> None:
    altered(tmp_path / "copy.db")
    assert examine(tmp_path / "copy.db").revision == HEAD
    altered(tmp_path / "copy.db", *statements)
    with pytest.raises(UserError, match="is not a database of gossamer") as caught:
        examine(tmp_path / "copy.db")
    assert caught.value.code == "backup.not_ours"
    assert sentence in caught.value.message


def test_a_file_from_elsewhere_is_not_taken_at_its_word(tmp_path: Path) -> None:
    of_another_program(tmp_path / "copy.db")
    with opened(tmp_path / "copy.db") as found:
        assert found.execute("PRAGMA trusted_schema").fetchone() == (0,)


def test_a_backup_of_an_older_revision_is_held_against_that_one(tmp_path: Path, later_program: Path) -> None:
    altered(tmp_path / "copy.db", "CREATE TABLE notes_of_mine (word TEXT)")
    assert examine(tmp_path / "copy.db").revision == HEAD
    altered(tmp_path / "less.db", "DROP TABLE places")
    with pytest.raises(UserError, match="it has no table 'places'"):
        examine(tmp_path / "less.db")


def test_a_backup_that_cannot_be_upgraded_changes_nothing(terminal: Terminal, tmp_path: Path) -> None:
    add_jobs(live(terminal), 2)
    altered(tmp_path / "copy.db", "CREATE TABLE remarks (word TEXT)")
    later = Terminal(terminal.home, settings=settings_of(make_migrations(tmp_path / "later")))
    said = refused(later, "db", "restore", str(tmp_path / "copy.db"), "--yes")
    assert "copy.db cannot be brought up to date: " in said
    assert f"{live(terminal)} is as it was before." in said
    assert count(live(terminal)) == 2
    assert sorted(file.name for file in terminal.home.iterdir() if "db" in file.name) == [
        "gossamer.db",
        "gossamer.db-turn",
    ]


def test_a_restoration_that_fails_puts_back_what_it_moved(tmp_path: Path) -> None:
    for damage in (add_two_jobs, not_sqlite):
        place, kept = tmp_path / f"{damage.__name__}.db", tmp_path / f"{damage.__name__}.kept"
        damage(place)
        before = place.read_bytes()[-5000:]
        # It is gone, or broken, between the look into it and the copying.
        not_sqlite(tmp_path / "broken.db")
        with pytest.raises(UserError, match="cannot be replaced: file is not a database") as caught:
            put_back(tmp_path / "broken.db", place, kept)
        assert caught.value.hint.startswith("It is as it was before.")
        assert place.read_bytes()[-5000:] == before
        assert (str(kept) in caught.value.hint) == kept.exists() == (damage is add_two_jobs)
        with pytest.raises(UserError, match="cannot be replaced"):
            asyncio.run(restore(tmp_path / "broken.db", place, kept, SystemClock(), void_all))
        assert place.read_bytes()[-5000:] == before
        assert not list(tmp_path.glob(".*"))


def test_two_restorations_in_one_second_keep_both(tmp_path: Path) -> None:
    name = tmp_path / "gossamer.db.before-restore-20260101-120000"
    assert free_name(name) == name
    name.touch()
    assert free_name(name).name == f"{name.name}-2"


def test_a_restoration_wants_to_be_confirmed(terminal: Terminal, tmp_path: Path) -> None:
    add_jobs(live(terminal), 1)
    terminal.type("db", "backup", str(tmp_path / "copy.db"))
    add_jobs(live(terminal), 1)
    assert "Give --yes." in refused(terminal, "db", "restore", str(tmp_path / "copy.db"))
    assert count(live(terminal)) == 2


def test_nothing_is_restored_under_a_runner_or_another_process(terminal: Terminal, tmp_path: Path) -> None:
    add_jobs(live(terminal), 1)
    terminal.type("db", "backup", str(tmp_path / "copy.db"))
    command = ("db", "restore", str(tmp_path / "copy.db"), "--yes")
    lock = HomeLock(terminal.home)
    assert lock.take()
    assert f"A runner is active in this data folder (process {os.getpid()})." in refused(terminal, *command)
    lock.release()
    with closing(sqlite3.connect(live(terminal))) as other:
        other.execute("SELECT count(*) FROM jobs").fetchone()
        assert "Another process has" in refused(terminal, *command)
    add_jobs(live(terminal), 1)
    assert "Restored" in terminal.type(*command).stdout
    assert count(live(terminal)) == 1


def test_what_is_replaced_is_kept_beside(terminal: Terminal, tmp_path: Path) -> None:
    add_jobs(live(terminal), 1)
    terminal.type("db", "backup", str(tmp_path / "copy.db"))
    add_jobs(live(terminal), 2)
    answer = terminal.ask("db", "restore", str(tmp_path / "copy.db"), "--yes")
    assert (count(Path(answer["kept"])), count(live(terminal))) == (3, 1)
    assert Path(answer["kept"]).parent == terminal.home
    assert stat.S_IMODE(Path(answer["kept"]).stat().st_mode) == 0o600
    terminal.type("job", "list")
    # And what was kept is a backup like any other.
    assert terminal.ask("db", "restore", answer["kept"], "--yes")["jobs"] == 3


def test_a_damaged_database_can_be_replaced(terminal: Terminal, tmp_path: Path) -> None:
    add_jobs(live(terminal), 1)
    terminal.type("db", "backup", str(tmp_path / "copy.db"))
    for damage in (not_sqlite, with_a_hole):
        live(terminal).unlink()
        damage(live(terminal))
        broken = live(terminal).read_bytes()[-5000:]
        answer = terminal.ask("db", "restore", str(tmp_path / "copy.db"), "--yes")
        assert count(live(terminal)) == 1
        assert Path(answer["kept"]).read_bytes()[-5000:] == broken
        assert terminal.ask("job", "list")[0]["state"] == "running"
        Path(answer["kept"]).unlink()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Large enough that putting it back takes a while."""
    path = tmp_path_factory.mktemp("large") / "copy.db"
    add_jobs(path, 1)
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("CREATE TABLE ballast AS SELECT randomblob(40000000) AS weight")
        rows.commit()
        rows.execute("PRAGMA journal_mode = DELETE")
    return path


def test_a_restoration_that_is_killed_leaves_the_old_or_the_new(tmp_path: Path, large: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom gossamer.db.backup import put_back\n"
        "print('go', flush=True)\nput_back(*map(Path, sys.argv[1:]))\nprint('done', flush=True)"
    )
    came_out = set()
    for number, delay in enumerate((0.0, 0.02, 0.05, 0.1, 0.2, 5.0)):
        place = tmp_path / str(number) / "gossamer.db"
        add_jobs(place, 2)
        arguments = (str(large), str(place), str(tmp_path / f"kept{number}"))
        with subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE) as putting:
            assert putting.stdout is not None
            assert putting.stdout.readline() == b"go\n"
            try:
                putting.wait(delay)
            except subprocess.TimeoutExpired:
                putting.kill()
        with closing(sqlite3.connect(place)) as rows:
            assert rows.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        came_out.add(count(place))
    assert came_out == {1, 2}


async def test_a_file_in_use_is_left_alone(tmp_path: Path) -> None:
    database = await ready_database(f"sqlite:///{tmp_path}/gossamer.db", SystemClock())
    assert isinstance(database, SqliteDatabase)
    await database.write(make_job, "a.test")
    back_up(database.path, tmp_path / "copy.db")
    await database.write(make_job, "b.test")
    with pytest.raises(UserError, match="Another process has") as caught:
        put_back(tmp_path / "copy.db", database.path, tmp_path / "kept.db")
    assert caught.value.code == "restore.in_use"
    await database.write(make_job, "c.test")
    await database.close()
    assert count(database.path) == 3
    assert not (tmp_path / "kept.db").exists()


def test_a_server_is_backed_up_by_its_own_tools(tmp_path: Path, new_postgres: Callable[[], str]) -> None:
    url = new_postgres()
    secret = url.replace("gossamer@", "gossamer:hush@")
    terminal = Terminal(tmp_path / "home", settings={"GOSSAMER_DATABASE_URL": secret})
    file = tmp_path / "a copy.dump"
    for verb, more in (("backup", ()), ("restore", ("--yes",))):
        said = refused(terminal, "db", verb, str(file), *more)
        assert "hush" not in said
        run_as_printed(said, terminal)
        assert file.stat().st_size > 1000


def run_as_printed(said: str, terminal: Terminal) -> None:
    """The very line that was named does it, in the shell where it was printed."""
    tools = {**terminal.environment(), "PATH": f"{Path(program('pg_dump')).parent}:{os.environ['PATH']}"}
    line = said.partition("Run: ")[2]
    done = subprocess.run(  # noqa: S602 - our own words
        line, shell=True, check=False, capture_output=True, env=tools, stdin=subprocess.DEVNULL, start_new_session=True
    )
    assert done.returncode == 0, done.stderr.decode()


def test_the_line_for_a_server_that_wants_a_password_works_as_printed(tmp_path: Path) -> None:
    with postgres_server() as server:
        url = server.create("kept")
        asyncio.run(give_a_password(url))
        server.ask_for_passwords()
        secret = url.replace("gossamer@", "gossamer:h%24sh%21@")
        terminal = Terminal(tmp_path / "home", settings={"GOSSAMER_DATABASE_URL": secret})
        terminal.type("db", "upgrade")
        file = tmp_path / "kept.dump"
        for verb, more in (("backup", ()), ("restore", ("--yes",))):
            said = refused(terminal, "db", verb, str(file), *more)
            assert "sh%21" not in said
            run_as_printed(said, terminal)
        assert "up to date" in terminal.type("db", "upgrade").stdout


async def give_a_password(url: str) -> None:
    connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
    await connection.execute("ALTER ROLE gossamer PASSWORD 'h$sh!'")
    await connection.close()
