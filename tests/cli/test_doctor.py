"""The doctor finds what is wrong, says what to do about it, and needs nothing to be right for that."""

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from urllib.parse import urlsplit

import obstore
import pytest
from sqlalchemy import text

from gossamer.blobs import objects
from gossamer.blobs.objects import StorageAccess, open_objects
from gossamer.cli.doctor import CheckResult, Level, services
from gossamer.cli.doctor.examine import examine
from gossamer.cli.doctor.machine import available_memory, check_lasting, filesystem_of
from gossamer.clock import SystemClock
from gossamer.db import health
from gossamer.db.database import open_database
from gossamer.db.schema import ready_database, upgrade
from gossamer.errors import StorageAway
from gossamer.model.alert import AlertKind
from gossamer.runtime.home_lock import HomeLock, home_name
from gossamer.settings import Settings
from gossamer.store import alerts, events, workers
from gossamer.store.named_slots import enter, leave
from tests.conftest import AnyDatabase
from tests.fetch.loopback import Name, NameServer
from tests.jobs import make_job
from tests.later import NOW
from tests.servers import free_port, redis
from tests.stories.program import Terminal

MEMORY = Path("/dev/shm")  # noqa: S108 - nothing is written there


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home the settings of a test point at."""
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def no_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test asks the network for a name."""
    monkeypatch.setenv("GOSSAMER_DNS_SERVERS", f"127.0.0.1:{free_port()}")


async def make_home(home: Path, *hosts: str) -> None:
    database = await ready_database(f"sqlite:///{home}/gossamer.db", SystemClock())
    if hosts:
        await database.write(make_job, *hosts)
    await database.close()


async def on_rows(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / "gossamer.db")) as rows:
        for statement in statements:
            rows.execute(statement)
        rows.commit()


async def findings(check: str, level: Level | None = None) -> list[CheckResult]:
    return [one for one in await examine() if one.check == check and level in (None, one.level)]


async def only(check: str, level: Level) -> CheckResult:
    (found,) = await findings(check, level)
    return found


def test_the_doctor_leaves_no_trace_and_is_content_with_a_new_home(tmp_path: Path) -> None:
    settings = {"GOSSAMER_DNS_SERVERS": os.environ["GOSSAMER_DNS_SERVERS"]}
    terminal = Terminal(tmp_path / "home", settings=settings)
    done = terminal.type("doctor")
    assert done.stdout.startswith("ok    settings")
    assert "is made by the first job." in done.stdout
    assert not terminal.home.exists()
    answer = terminal.ask("doctor")
    assert answer["healthy"] is True
    assert {one["check"] for one in answer["checks"]} >= {
        "settings", "version", "home", "disk", "log", "database", "runner", "clock", "open files", "cores", "proxy",
        "redis", "storage", "names", "browser", "providers",
    }  # fmt: skip
    assert all(one["next"] for one in answer["checks"] if one["level"] != "ok")


def test_with_everything_broken_each_thing_is_named_and_the_exit_code_is_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "gossamer.db").write_text("garbage " * 1000)
    (home / "logs").write_text("not a folder")
    (tmp_path / "never.txt").write_text("not a / domain\n")
    broken = {
        "GOSSAMER_NEVER_VISIT": str(tmp_path / "never.txt"),
        "GOSSAMER_PROXY": f"http://me:hush@127.0.0.1:{free_port()}",
        "GOSSAMER_DNS_SERVERS": os.environ["GOSSAMER_DNS_SERVERS"],
        "GOSSAMER_SPEED": "11",
    }
    terminal = Terminal(home, settings=broken)
    done = terminal.type("doctor", check=False)
    assert (done.returncode, done.stderr) == (1, "")
    for line in ("warn  settings", "warn  home", "fail  log", "fail  database", "fail  rules", "fail  proxy"):
        assert f"\n{line}" in f"\n{done.stdout}"
    assert "hush" not in done.stdout
    assert "4 problems, " in done.stdout
    wrong = Terminal(home, settings={"GOSSAMER_LEASE": "soon"}).type("doctor", check=False)
    assert (wrong.returncode, wrong.stderr) == (1, "")
    assert "fail  settings       GOSSAMER_LEASE is 'soon', expected a duration" in wrong.stdout


async def test_a_home_that_does_not_last_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 0:1 / / rw - overlay overlay rw\n"
        "2 1 8:1 / /data rw shared:7 - ext4 /dev/sda1 rw\n"
        "3 2 0:2 / /data/fast rw - tmpfs tmpfs rw\n"
        "4 2 0:3 / /data/with\\040space rw - nfs4 nas:/ rw\n"
        "5 2 0:4 / /data/over rw - tmpfs tmpfs rw\n"
        "6 2 8:2 / /data/over rw - xfs /dev/sdb1 rw\n"
    )
    kinds = {"/srv/x": "overlay", "/data/x": "ext4", "/data/fast/x": "tmpfs", "/data/with space/x": "nfs4"}
    assert {path: filesystem_of(Path(path), mounts) for path in kinds} == kinds
    assert (filesystem_of(Path("/data/fastest"), mounts), filesystem_of(Path("/data/over"), mounts)) == ("ext4", "xfs")
    assert filesystem_of(Path("/"), tmp_path / "no such file") == ""

    def lasting(kind: str) -> list[tuple[Level, str]]:
        mounts.write_text(f"1 0 0:1 / / rw - {kind} none rw\n")
        return [(one.level, one.next_step) for one in check_lasting(tmp_path, Settings(), mounts)]

    assert lasting("ext4") == []
    assert lasting("overlay") == [(Level.WARN, f"Mount a volume at {tmp_path}.")]
    assert lasting("tmpfs") == [(Level.WARN, "Point GOSSAMER_HOME at a folder on a disk.")]
    assert lasting("nfs4")[0][0] is Level.FAIL
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", "postgresql://me@host/gossamer")
    assert lasting("nfs4") == []


@pytest.mark.skipif(filesystem_of(MEMORY) != "tmpfs", reason="no file system in memory here")
async def test_a_home_in_memory_is_seen_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_HOME", str(MEMORY / "gossamer-doctor"))
    assert "all jobs are gone when the machine restarts" in (await only("home", Level.WARN)).sentence


async def test_a_home_of_the_wrong_kind_is_a_failure(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write_text("a file")
    assert "is not a folder" in (await only("home", Level.FAIL)).sentence
    monkeypatch.setenv("GOSSAMER_HOME", str(home / "below"))
    assert "cannot be made in" in (await only("home", Level.FAIL)).sentence


async def test_a_home_others_may_look_into_is_a_warning(home: Path) -> None:
    home.mkdir()
    home.chmod(0o755)
    assert (await only("home", Level.WARN)).next_step == f"chmod 700 {home}"
    home.chmod(0o700)
    assert not await findings("home", Level.WARN)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
async def test_a_home_of_somebody_else_is_a_warning(home: Path) -> None:
    home.mkdir(mode=0o700)
    os.chown(home, 12345, 12345)
    assert "belongs to user 12345" in (await only("home", Level.WARN)).sentence


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_a_database_of_somebody_else_is_said_to_be_that() -> None:
    place = Path(mkdtemp())  # others may not look into the folders of tests
    await make_home(place, "a.test")
    for one in (place, *place.iterdir()):
        one.chmod(0o755)
    database = open_database(f"sqlite:///{place}/gossamer.db", SystemClock())
    os.seteuid(65534)
    try:
        with pytest.raises(StorageAway, match="cannot be written by you") as caught:
            await database.write(lambda tx: tx.run(text("DELETE FROM jobs")))
    finally:
        os.seteuid(0)
        await database.close()
        rmtree(place)
    assert "did not answer" not in str(caught.value)


async def test_the_doctor_does_not_send_to_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    found = await only("database", Level.FAIL)
    assert "cannot be reached" in found.sentence
    assert "gossamer doctor" not in found.sentence


async def test_a_full_disk_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not await findings("disk", Level.FAIL)
    monkeypatch.setenv("GOSSAMER_MIN_FREE_DISK", "1000TB")
    assert "jobs pause below" in (await only("disk", Level.FAIL)).sentence


async def test_a_damaged_file_leads_to_the_backup(home: Path) -> None:
    await make_home(home, *(f"site-{number}.test" for number in range(400)))
    assert not await findings("database", Level.FAIL)
    with closing(sqlite3.connect(home / "gossamer.db")) as rows:
        rows.execute("PRAGMA journal_mode = DELETE")
    with (home / "gossamer.db").open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xff" * (size // 4))
    found = await only("database", Level.FAIL)
    assert "is damaged" in found.sentence
    assert "Restore a backup" in found.next_step


async def test_a_look_through_the_file_ends_in_time(home: Path) -> None:
    await make_home(home, *(f"site-{number}.test" for number in range(2000)))
    database = open_database(f"sqlite:///{home}/gossamer.db", SystemClock())
    assert await database.read(health.flaw, timedelta(seconds=30)) == ""
    assert await database.read(health.flaw, timedelta(0)) is None
    assert await database.read(health.flaw, timedelta(seconds=30)) == ""
    await database.close()


async def test_revisions_are_compared(home: Path, later_program: Path) -> None:
    database = open_database(f"sqlite:///{home}/gossamer.db", SystemClock())
    await database.write(upgrade, NOW)
    await database.close()
    found = await only("database", Level.WARN)
    assert f"is at revision {NOW}; the next command upgrades it" in found.sentence
    assert "gossamer db backup" in found.next_step
    await on_rows(home, "UPDATE alembic_version SET version_num = '99999'")
    found = await only("database", Level.FAIL)
    assert "newer gossamer" in found.sentence
    assert "Update gossamer" in found.next_step
    await on_rows(home, "UPDATE alembic_version SET version_num = '0021'")
    found = await only("database", Level.FAIL)
    assert "revision 0021, which this program does not know" in found.sentence


async def test_a_log_of_sqlite_that_grew_is_a_warning(home: Path) -> None:
    await make_home(home)
    with (home / "gossamer.db-wal").open("wb") as log:
        log.truncate(600_000_000)
    assert "has grown to 600 MB" in (await only("database", Level.WARN)).sentence


async def test_rows_from_the_future_are_a_warning(home: Path) -> None:
    await make_home(home, "a.test")
    assert not await findings("row times", Level.WARN)
    assert len(await findings("clock")) == 1
    await on_rows(home, "UPDATE events SET at = at + 7200000")
    assert "in the future: the clock was set back" in (await only("row times", Level.WARN)).sentence


async def test_jobs_nobody_works_are_a_warning(home: Path) -> None:
    await make_home(home, "a.test")
    found = await only("runner", Level.WARN)
    assert found.sentence == "Stopped, no worker: 1 job should be running."
    assert "gossamer job resume --all" in found.next_step
    lock = HomeLock(home)
    assert lock.take()
    assert (await only("runner", Level.OK)).sentence == f"Process {os.getpid()} runs the jobs of this data folder."
    lock.release()
    assert await findings("runner", Level.WARN)


async def test_of_this_home_the_lock_tells_and_of_others_their_row(home: Path) -> None:
    await make_home(home, "a.test")
    database = open_database(f"sqlite:///{home}/gossamer.db", SystemClock())
    await database.write(enter, "runner", home_name(home), 1, timedelta(seconds=30))
    # As a runner leaves it that was killed.
    assert (await only("runner", Level.WARN)).sentence == "Stopped, no worker: 1 job should be running."
    await database.write(leave, "runner", home_name(home))
    await database.write(enter, "runner", "home-else", 1, timedelta(seconds=30))
    assert (await only("runner", Level.OK)).sentence == "home-else runs the jobs of this database."
    await database.close()


async def test_a_lock_that_outlived_its_runner_is_a_warning(home: Path) -> None:
    await make_home(home, "a.test")
    code = (
        "import pathlib, subprocess, sys\nfrom gossamer.runtime.home_lock import HomeLock\n"
        "lock = HomeLock(pathlib.Path(sys.argv[1])); lock.take()\n"
        "subprocess.Popen([sys.executable, '-c', 'input()'], pass_fds=(lock.fileno(),))"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(home)], stdin=subprocess.PIPE) as runner:
        runner.wait()
        found = await only("runner", Level.WARN)
        assert f"(process {runner.pid}) is gone" in found.sentence
        runner.communicate(b"\n")


async def test_what_waits_for_a_person_is_counted(
    database: AnyDatabase, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.write(make_job, "a.test", "b.test")
    await database.write(alerts.fire, AlertKind.DISK, "home", "The disk is nearly full.")
    for visit in ("one", "another"):
        await database.write(alerts.fire, AlertKind.DEAD_LETTER, visit, "It was given up.")
    assert await database.read(workers.waiting) == workers.Unattended(unfinished=1, dead_letters=2, alerts=3)
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", database_url)
    assert (await only("dead letters", Level.WARN)).sentence.startswith("2 visits given up")
    await database.write(alerts.clear, AlertKind.DEAD_LETTER, "another")  # as dropping it does
    said = (await only("dead letters", Level.WARN)).sentence
    assert said == "1 visit given up after ending its worker again and again."
    assert (await only("alerts", Level.WARN)).next_step == "Read them: 'gossamer system alerts'."
    assert await findings("runner", Level.WARN)
    await database.write(enter, "runner", "home-else", 1, timedelta(seconds=30))
    assert (await only("runner", Level.OK)).sentence == "home-else runs the jobs of this database."


async def test_a_server_tells_its_version_and_its_clock(
    new_postgres: Callable[[], str], monkeypatch: pytest.MonkeyPatch, later_program: Path
) -> None:
    url = new_postgres()
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", url)
    said = [one.sentence for one in await findings("database", Level.OK)]
    assert any(one.startswith("Postgres ") and "connections" in one for one in said)
    assert not await findings("server clock", Level.WARN)
    database = open_database(url, SystemClock())
    ahead = await database.read(health.clock_ahead, SystemClock().now() - timedelta(hours=1))
    assert timedelta(minutes=59) < ahead < timedelta(minutes=61)
    await database.close()
    assert (await only("database", Level.FAIL)).next_step == "Run 'gossamer db upgrade'."


@pytest.mark.parametrize("address", ["127.0.0.1:{port}/gossamer", "no-such-host.invalid/gossamer"])
async def test_a_server_that_is_away_is_named_without_its_password(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", f"postgresql://me:hush@{address.format(port=free_port())}")
    seen = await examine()
    (found,) = [one for one in seen if one.check == "database"]
    assert found.level is Level.FAIL
    assert found.next_step
    assert not any("hush" in one.sentence for one in seen)
    assert seen[-1].check == "providers", "the other checks were made all the same"


async def test_a_wrong_database_on_a_server_is_a_finding(postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", postgres_server.replace("/postgres", "/no_such"))
    found = await only("database", Level.FAIL)
    assert 'database "no_such" does not exist.' in found.sentence
    assert "createdb" in found.next_step
    assert "gossamer db upgrade" in found.next_step
    assert "server runs" not in found.next_step
    parts = urlsplit(postgres_server)
    nobody = parts._replace(netloc=f"no_such_user@{parts.netloc.rpartition('@')[2]}")
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", nobody.geturl())
    found = await only("database", Level.FAIL)
    assert found.next_step == "Correct the user and the password in GOSSAMER_DATABASE_URL."


async def test_a_file_that_cannot_be_opened_is_no_matter_of_a_server(home: Path) -> None:
    (home / "gossamer.db").mkdir(parents=True)
    found = await only("database", Level.FAIL)
    assert "Is a directory" in found.sentence
    assert str(home) in found.next_step
    assert "server" not in found.next_step


async def test_a_slip_in_the_path_of_the_database_is_a_warning(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_home(home)
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", f"sqlite:///{home}/gosamer.db")
    found = await only("database", Level.WARN)
    assert found.sentence == f"GOSSAMER_DATABASE_URL names {home}/gosamer.db: there is no such file."
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", f"sqlite:///{tmp_path}/hom/gossamer.db")
    assert f"nor a folder {tmp_path}/hom." in (await only("database", Level.WARN)).sentence
    assert not (tmp_path / "hom").exists()
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", f"sqlite:///{home}/gossamer.db")
    assert not await findings("database", Level.WARN)


async def test_redis_is_asked_for_all_that_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No Redis is set" in (await only("redis", Level.OK)).sentence
    with redis(tmp_path / "redis") as server:
        server.ask("CONFIG", "SET", "requirepass", "hush-hush")
        monkeypatch.setenv("REDIS_URL", server.url.replace("//", "//:hush-hush@"))
        said = (await only("redis", Level.OK)).sentence
        assert said.startswith("Redis ")
        assert f"at 127.0.0.1:{server.port} answers in " in said
        assert await findings("redis", Level.WARN) == []
        monkeypatch.setenv("REDIS_URL", server.url.replace("//", "//:hush-wrong@"))
        refused = await only("redis", Level.WARN)
        assert "cannot be used: it refuses the user or the password." in refused.sentence
        assert refused.next_step
    gone = await only("redis", Level.WARN)
    assert "cannot be used: Connection refused." in gone.sentence
    assert "hush" not in f"{said} {refused} {gone}"


async def test_a_redis_that_forgets_under_pressure_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with redis(tmp_path / "redis", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as server:
        monkeypatch.setenv("GOSSAMER_REDIS_URL", server.url)
        assert "may forget what was asked when its memory is full (allkeys-lru)" in (
            (await only("redis", Level.WARN)).sentence
        )


async def test_object_storage_is_tried_with_a_small_file(storage_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No object storage is set" in (await only("storage", Level.OK)).sentence
    access = StorageAccess("s3://tests/doctor", storage_server, "us-east-1", "key", "secret")
    for name, value in {
        "GOSSAMER_STORAGE_URL": access.url,
        "GOSSAMER_STORAGE_ENDPOINT": access.endpoint,
        "GOSSAMER_STORAGE_REGION": access.region,
        "GOSSAMER_STORAGE_ACCESS_KEY": access.access_key,
        "GOSSAMER_STORAGE_SECRET_KEY": access.secret_key,
    }.items():
        monkeypatch.setenv(name, value)
    said = (await only("storage", Level.OK)).sentence
    assert said.startswith("s3://tests/doctor takes, gives and removes a small file in ")
    store: Any = open_objects(access)._store
    assert obstore.list(store).collect() == [], "nothing is left behind"
    monkeypatch.setenv("GOSSAMER_STORAGE_SECRET_KEY", "hush-wrong")
    refused = await only("storage", Level.WARN)
    assert "Object storage cannot be used" in refused.sentence
    assert "Files are kept in the home" in refused.sentence
    assert "GOSSAMER_STORAGE_URL" in refused.next_step
    assert "hush" not in f"{refused}"


async def test_object_storage_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "_STORAGE_TIMEOUT", 0.3)
    monkeypatch.setattr(objects, "_LEAVE", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        settings = Settings(
            storage_url="s3://bucket",
            storage_endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}",
            storage_access_key="key",
            storage_secret_key="secret",
        )
        async with asyncio.timeout(5):
            (found,) = await services.check_storage(settings)
    assert found.level is Level.WARN
    assert "has not answered within" in found.sentence


async def test_a_proxy_is_knocked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang_up(_: Any, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv("GOSSAMER_PROXY", f"socks5://me:hush@127.0.0.1:{port}")
        assert (await only("proxy", Level.OK)).sentence == f"The proxy 127.0.0.1:{port} answers."
    assert "cannot be reached" in (await only("proxy", Level.FAIL)).sentence


async def test_names_that_cannot_be_looked_up_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "did not answer" in (await only("names", Level.WARN)).sentence
    server = await NameServer().start()
    monkeypatch.setenv("GOSSAMER_DNS_SERVERS", server.address)
    assert "but cannot resolve example.com" in (await only("names", Level.WARN)).sentence
    server.names["example.com"] = Name(["93.184.216.34"])
    assert await findings("names", Level.OK)
    server.close()


async def test_rules_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_CONNECT_TO", "*.test=127.0.0.1:8080")
    monkeypatch.setenv("GOSSAMER_NEVER_VISIT", str(tmp_path / "never.txt"))
    assert "which cannot be read" in (await only("rules", Level.FAIL)).sentence
    (tmp_path / "never.txt").write_text("example.com\n")
    assert len(await findings("rules", Level.OK)) == 2
    monkeypatch.setenv("GOSSAMER_CONNECT_TO", "nonsense")
    assert "GOSSAMER_CONNECT_TO is 'nonsense', expected rules such as" in (await only("settings", Level.FAIL)).sentence


async def test_limits_are_held_against_what_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_PROCESSES", "1000")
    monkeypatch.setenv("GOSSAMER_MAX_CONCURRENCY", "1000000000")
    assert "get in each other's way" in (await only("cores", Level.WARN)).sentence
    assert "visits at once per process" in (await only("open files", Level.WARN)).sentence
    (tmp_path / "meminfo").write_text("MemTotal: 8000 kB\nMemAvailable: 5000 kB\n")
    assert available_memory(tmp_path / "meminfo", tmp_path / "none") == 5000 * 1024
    for name, value in (("memory.max", "4000000\n"), ("memory.current", "1000000\n")):
        (tmp_path / name).write_text(value)
    assert available_memory(tmp_path / "meminfo", tmp_path) == 3_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory(tmp_path / "meminfo", tmp_path) == 5000 * 1024
    assert available_memory(tmp_path / "none", tmp_path / "none") is None


async def test_an_event_of_the_newest_job_is_the_newest_moment(database: AnyDatabase) -> None:
    assert await database.read(workers.newest_moment) is None
    job = await database.write(make_job, "a.test")
    await database.write(events.add, job.id, "job.paused", "later")
    newest, now = await database.read(lambda tx: (workers.newest_moment(tx), tx.now))
    assert newest is not None
    assert timedelta() <= now - newest < timedelta(seconds=30)
