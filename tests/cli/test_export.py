"""The commands around files, as a person types them."""

import asyncio
import codecs
import csv
import io
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import pytest

from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.schema import upgrade
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import JobState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import url_key
from gossamer.runtime.home_lock import home_name
from gossamer.settle.step import Finished, Step
from gossamer.store import jobs
from tests.jobs import claim_all, done, make_job, settle
from tests.stories.program import Terminal

PROGRAM = (sys.executable, "-m", "gossamer")
MATCH: dict[str, Any] = {
    "frequency": 2,
    "context_snippet": "=1+1",
    "crawl_method": "direct",
    "timestamp": "2026-11-16T01:42:18Z",
    "http_status": 200,
    "verdict": "unlinked",
}


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path / "home")


def fill(terminal: Terminal, *, over: bool = True) -> Job:
    """A job with a match on a.test, and b.test that failed."""

    async def write() -> Job:
        terminal.home.mkdir(parents=True)
        database = SqliteDatabase(terminal.home / "gossamer.db", SystemClock())
        await database.write(upgrade)
        job = await database.write(make_job, "a.test", "b.test")
        for visit in await database.write(claim_all):
            if visit.host == "a.test":
                await settle(
                    database,
                    done(visit, "http://a.test/", "CRM", **MATCH),
                    Step(visit, ending=Finished(SiteState.DONE)),
                )
            else:
                await settle(database, Step(visit, ending=Finished(SiteState.FAILED, Trouble(Reason.DNS))))
        if over:
            await database.write(jobs.move, job.id, JobState.COMPLETED)
        found = await database.read(jobs.get, job.id)
        await database.close()
        assert found
        return found

    return asyncio.run(write())


def content(url: str) -> bytes:
    """What a file:// address leads to."""
    return Path(unquote(urlsplit(url).path)).read_bytes()


def test_an_export_is_answered_at_once_and_made_in_the_background(terminal: Terminal) -> None:
    job = short(fill(terminal).id)
    started = terminal.type("job", "export", job, "--format", "csv,json")
    assert started.stdout == (
        f"Export started. Check status in ~5 seconds. Run 'gossamer job export-status {job}' to check progress.\n"
    )
    assert re.fullmatch(
        r"This job will be auto-deleted on 20\d\d-\d\d-\d\d\. Download your results now\.\n", started.stderr
    )
    end = time.monotonic() + 60
    made = terminal.ask("job", "exports", job)
    while any(one["state"] != "done" for one in made):
        made = terminal.ask("job", "exports", job)
        assert time.monotonic() < end, terminal.log()
    as_csv, as_json = made
    assert (as_csv["name"], as_json["name"]) == (f"results-{job}.csv", f"results-{job}.json")
    (row,) = csv.DictReader(io.StringIO(content(as_csv["url"]).decode()))
    assert (row["domain"], row["frequency"], row["context_snippet"]) == ("a.test", "2", "'=1+1")
    assert not content(as_csv["url"]).startswith(codecs.BOM_UTF8)
    assert content(as_json["url"]).startswith(b'{\n  "results": {\n    "a.test": {"CRM":[{"url":"http://a.test/"')
    said = terminal.type("job", "export-status", job).stdout.splitlines()
    assert said[0] == f"Export ready: {as_csv['url']} (expires in 7 days)"
    listed = terminal.type("job", "exports", job).stdout.splitlines()
    assert [line.split()[:2] for line in listed] == [
        ["File", "State"],
        [f"results-{job}.json", "done"],
        [f"results-{job}.csv", "done"],
    ]


def test_one_who_waits_gets_the_link_and_one_who_names_a_place_the_file(terminal: Terminal, tmp_path: Path) -> None:
    job = short(fill(terminal, over=False).id)
    waited = terminal.type("job", "export", job, "--format", "csv", "--columns", "domain,verdict", "--raw", "--wait")
    ready, partial = waited.stdout.splitlines()
    assert ready.endswith(f"/results-{job}-partial.csv (expires in 7 days)")
    assert partial == "The job was not over when it was made: these are the results up to then."
    assert content(ready.split()[2]) == b"domain,verdict\r\na.test,unlinked\r\n"
    assert terminal.ask("job", "exports", job)[0]["link"] is None  # nobody knows how to reach a server here
    served = Terminal(terminal.home, None, {"GOSSAMER_API_URL": "https://crawl.example.com"})
    link = served.ask("job", "exports", job)[0]["link"]
    assert link.startswith(f"https://crawl.example.com/v1/files/exports/{job}/")
    assert f"For others, who need no key: {link}" in served.type("job", "export-status", job).stdout
    target = tmp_path / "out.jsonl"
    told = terminal.ask("job", "export", job, "--output", str(target))
    assert (told["format"], told["rows"], told["partial"]) == ("jsonl", 1, True)
    assert told["bytes"] == target.stat().st_size
    bare = terminal.type("job", "export", job, "--output", "-", "--raw", "--bom").stdout
    assert bare.startswith("\ufeffdomain,url,")
    assert ",=1+1," in bare
    refused = terminal.type("job", "export", job, "--format", "csv,json", "--output", "x.csv", "--json", check=False)
    assert (refused.returncode, '"code":"export.one_file"' in refused.stderr) == (2, True)


def test_a_csv_file_for_a_person_opens_in_excel_and_one_for_programs_has_no_mark(
    terminal: Terminal, tmp_path: Path
) -> None:
    job, target = short(fill(terminal).id), tmp_path / "out.csv"
    terminal.type("job", "export", job, "--output", str(target))
    piped = subprocess.run(
        [*PROGRAM, "job", "export", job, "--output", "-"],
        env=terminal.environment(),
        capture_output=True,
        check=True,
    ).stdout
    assert piped.startswith(b"domain,url,")
    assert target.read_bytes() == codecs.BOM_UTF8 + piped
    terminal.type("job", "export", job, "--output", str(target), "--no-bom")
    assert target.read_bytes() == piped
    terminal.type("job", "errors", job, "--output", str(target))
    assert target.read_bytes().startswith(b"domain,failure_reason,")
    waited = terminal.type("job", "export", job, "--wait").stdout
    assert content(waited.split()[2]) == piped


def at_a_screen(terminal: Terminal, folder: Path, *arguments: str) -> str:
    """What somebody sees who types it at a terminal in this folder."""
    near, far = pty.openpty()
    typing = subprocess.Popen([*PROGRAM, *arguments], env=terminal.environment(), stdout=far, stderr=far, cwd=folder)
    os.close(far)
    shown = b""
    with suppress(OSError):  # how the end of a terminal is told
        while piece := os.read(near, 4096):
            shown += piece
    os.close(near)
    assert typing.wait(60) == 0, shown
    return shown.decode().replace("\r\n", "\n")


def test_at_a_terminal_the_file_is_waited_for_and_written_here_and_never_over_another(
    terminal: Terminal, tmp_path: Path
) -> None:
    job, folder = short(fill(terminal).id), tmp_path / "mine"
    folder.mkdir()
    wrote, last = at_a_screen(terminal, folder, "job", "export", job).splitlines()
    file = folder / f"results-{job}.csv"
    assert wrote == f"\x1b[1mWrote 1 match to {file}\x1b[0m"  # it stands out
    assert re.fullmatch(r"This job will be auto-deleted on [\d-]+\. Download your results now\.", last)
    (kept,) = terminal.ask("job", "exports", job)
    assert file.read_bytes() == codecs.BOM_UTF8 + content(kept["url"])
    file.write_text("mine")
    assert f"Wrote 1 match to {folder}/results-{job}-2.csv" in at_a_screen(terminal, folder, "job", "export", job)
    assert file.read_text() == "mine"
    for named in (("--format", "csv"), ("--detach",)):
        assert at_a_screen(terminal, folder, "job", "export", job, *named).startswith(
            "Export started. Check status in ~"
        )
    assert sorted(one.name for one in folder.iterdir()) == [f"results-{job}-2.csv", f"results-{job}.csv"]


def test_what_would_mean_nothing_is_refused(terminal: Terminal) -> None:
    job = short(fill(terminal).id)
    for typed, said in {
        ("--columns", ""): "--columns is empty.",
        ("--format", " , "): "--format is empty.",
        ("--format", "csv", "--output", "t.xlsx"): "t.xlsx ends like xlsx, and --format says csv. Let it end in .csv",
        ("--bom", "--format", "json,xlsx"): "--bom is for csv, not for json and xlsx.",
        ("--since-job", job): "--since-job only affects prospects, and csv of results does not contain them.",
        ("--since-job", job, "--type", "errors", "--format", "xlsx"): "xlsx of errors does not contain them.",
    }.items():
        refused = terminal.type("job", "export", job, *typed, check=False)
        assert refused.returncode == 2
        assert said in refused.stderr
    assert terminal.ask("job", "export", job, "--format", "csv,json", "--bom")["exports"]
    assert terminal.ask("job", "export", job, "--format", "xlsx", "--since-job", job)["exports"]


def test_failed_domains_on_the_screen_and_as_a_file(terminal: Terminal, tmp_path: Path) -> None:
    job = short(fill(terminal).id)
    shown = terminal.type("job", "errors", job).stdout.splitlines()
    assert shown[0].split() == ["Domain", "Reason", "HTTP", "Retries", "Last", "attempt"]
    assert shown[1].startswith("b.test  DNS resolution failed")
    assert shown[2] == "1 of 1 failed domain."
    target = tmp_path / "failed.csv"
    terminal.type("job", "errors", job, "--output", str(target))
    header, line = target.read_text().splitlines()
    assert header == "domain,failure_reason,http_status,retry_count,last_attempt_timestamp"
    assert line.startswith("b.test,DNS resolution failed,,0,")
    assert terminal.type("job", "errors", job, "--format", "csv").stdout == target.read_text()


def test_domains_for_people_are_a_list_of_their_own(terminal: Terminal, tmp_path: Path) -> None:
    job = fill(terminal)
    assert (
        terminal.type("job", "errors", short(job.id), "--by-hand").stdout == "No domain wants a login or a CAPTCHA.\n"
    )
    with closing(sqlite3.connect(terminal.home / "gossamer.db")) as database, database:
        database.execute(
            "UPDATE sites SET reason = 'LOGIN', detail = 'HTTP 401', state = 'failed' WHERE host = 'a.test'"
        )
    said = terminal.type("job", "errors", short(job.id), "--by-hand").stdout
    assert "a.test  Login required (HTTP 401)" in said
    assert "b.test" not in said
    target = tmp_path / "by_hand.csv"
    terminal.type("job", "errors", short(job.id), "--by-hand", "--output", str(target))
    _, line = target.read_text().splitlines()
    assert line.startswith("a.test,Login required (HTTP 401),")


def many_matches(home: Path, job: Job, rows: int) -> None:
    """So many more rows of a.test, made by the database itself."""
    query = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO records (job_id, kind, key, site_id, page_key, data, created_at)
        SELECT ?, 'match', ? || randomblob(12), site.id, ?, json_object('domain', 'a.test', 'url',
            'http://a.test/' || i, 'keyword', 'CRM', 'frequency', 1, 'context_snippet', hex(zeroblob(200)),
            'crawl_method', 'direct', 'timestamp', '2026-11-16T01:42:18Z', 'http_status', 200), 0
        FROM n, (SELECT id FROM sites WHERE host = 'a.test') AS site
    """
    key = url_key("http://a.test/")
    with closing(sqlite3.connect(home / "gossamer.db")) as database, database:
        # SQLite glues bytes together as text, which for these is the same.
        database.execute(
            query.replace("? || randomblob(12)", "CAST(? || randomblob(12) AS BLOB)"),
            (rows, job.id.bytes, key[:4], key),
        )


def test_a_maker_killed_in_the_middle_leaves_nothing_and_the_next_begins_anew(terminal: Terminal) -> None:
    job = fill(terminal)
    many_matches(terminal.home, job, 20_000)
    waiting = terminal.begin("job", "export", short(job.id), "--format", "csv", "--wait")
    files = terminal.home / "files"
    end = time.monotonic() + 60
    while not list(files.rglob(".*.part")):
        assert time.monotonic() < end, terminal.log()
    os.kill(waiting.pid, signal.SIGKILL)
    waiting.communicate(timeout=20)
    assert list(files.rglob("*.csv")) == []
    (half,) = terminal.ask("job", "exports", short(job.id))
    assert (half["state"], half["url"]) == ("running", None)
    with closing(sqlite3.connect(terminal.home / "gossamer.db")) as database, database:
        database.execute("UPDATE exports SET lease_until = 0")  # nothing was heard for so long
    (whole,) = terminal.ask("job", "export-status", short(job.id), "--wait")["exports"]
    assert (whole["state"], whole["rows"]) == ("done", 20_001)
    assert content(whole["url"]).count(b"\r\n") == 20_002


def test_a_file_that_is_not_wanted_is_not_made(terminal: Terminal) -> None:
    """Nobody is there to make it: the row was written by a home whose process died before it could start one."""
    job = fill(terminal)
    home = home_name(terminal.home)
    with closing(sqlite3.connect(terminal.home / "gossamer.db")) as database, database:
        database.execute(
            "INSERT INTO exports (id, job_id, type, format, options, name, partial, state, reason, home, spooled,"
            " tries, rows_done, rows_total, created_at)"
            " VALUES (?, ?, 'results', 'csv', '{}', 'results.csv', 0, 'pending', '', ?, 0, 0, 0, 0, 0)",
            (uuid4().bytes, job.id.bytes, home),
        )
    said = terminal.type("job", "export-status", short(job.id)).stdout.splitlines()
    assert said == [
        "results.csv: waiting for its turn",
        f"Not being made now: 'gossamer job export-status {short(job.id)} --wait' makes it.",
    ]
    assert terminal.type("job", "export-cancel", short(job.id)).stdout == "Cancelled 1 file.\n"
    assert terminal.type("job", "export-cancel", short(job.id)).stdout == "No file is being made.\n"
    assert terminal.type("job", "export-status", short(job.id)).stdout == "results.csv: cancelled\n"


def test_files_in_object_storage_are_had_by_a_link(terminal: Terminal, storage_server: str) -> None:
    job = short(fill(terminal).id)
    names = {"S3_ENDPOINT": storage_server, "S3_BUCKET": "tests", "S3_ACCESS_KEY": "key", "S3_SECRET_KEY": "secret"}
    remote = Terminal(terminal.home, None, names)
    (made,) = remote.ask("job", "export", job, "--wait")["exports"]
    assert made["url"].startswith(f"{storage_server}/tests/exports/{job}/")
    assert made["link"].partition("?")[0] == made["url"].partition("?")[0]
    with urllib.request.urlopen(made["url"], timeout=10) as answer:
        assert answer.read().startswith(b"domain,url,keyword,")
    assert list((terminal.home / "files").rglob("*.csv")) == []
    deleted = remote.type("job", "delete", job, "--yes")
    assert deleted.returncode == 0
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(made["url"], timeout=10)


def test_parquet_without_its_library_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from gossamer.errors import UserError\n"
        "from gossamer.exports.formats import formats_named\n"
        "try:\n    formats_named('parquet')\nexcept UserError as error:\n    print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == (
        "Parquet files need a library that is not installed. "
        f'Install it with "{sys.executable} -m pip install pyarrow", or choose another format.\n'
    )


def test_no_workbook_is_written_onto_a_screen(terminal: Terminal) -> None:
    job = fill(terminal)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gossamer", "job", "export", short(job.id), "--format", "xlsx", "--output", "-"]
    try:
        ended = subprocess.run(
            command, env=terminal.environment(), stdout=theirs, stderr=subprocess.PIPE, timeout=60, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert ended.returncode != 0
    assert b"A xlsx file is nothing to look at on a screen." in ended.stderr
    piped = subprocess.run(command, env=terminal.environment(), capture_output=True, timeout=60, check=True)
    assert piped.stdout.startswith(b"PK")


def test_the_files_of_a_deleted_job_are_said_to_be_gone(terminal: Terminal) -> None:
    job = short(fill(terminal).id)
    terminal.type("job", "export", job, "--format", "csv", "--wait")
    terminal.type("job", "delete", job, "--yes")
    for command in ("exports", "export-status"):
        assert "was deleted, and with it whatever files were made of it" in terminal.type("job", command, job).stdout
