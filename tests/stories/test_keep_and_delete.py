"""From the command line: submitted once, warned of, hidden, had back, forgotten, deleted."""

import os
import pty
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest

from tests import warm
from tests.stories.program import LONGEST, Terminal, quick_web


def typed(terminal: Terminal, *arguments: str, stdin: int | None = None) -> "subprocess.CompletedProcess[str]":
    """A command with an input of its own: nobody's, or a terminal's."""
    return warm.run(arguments, terminal.environment(), LONGEST, stdin)


def answered(terminal: Terminal, answer: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    ours, theirs = pty.openpty()
    try:
        os.write(ours, f"{answer}\n".encode())
        return typed(terminal, *arguments, stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.story
def test_results_are_kept_warned_of_hidden_had_back_forgotten_and_deleted(tmp_path: Path) -> None:
    with quick_web(tmp_path / "web", "--sites", "4", "--seed", "9", "--nasty", "0", "--pages-per-site", "6") as web:
        settings = {"GOSSAMER_DOMAIN_RATE": "500"}
        terminal = Terminal(tmp_path / "home", web, settings)
        command = terminal.prospect("--processes", "1", "--idempotency-key", "nightly-1")
        status = terminal.ask(*command)
        job, short = status["id"], status["short_id"]
        again = terminal.type(*command).stdout
        assert f"Job {job} (short: {short}) was created before with this key\nIt is completed." in again
        other = terminal.type(*terminal.prospect("--depth", "1", "--idempotency-key", "nightly-1"), check=False)
        assert other.returncode == 2
        assert f"belongs to job {short}" in other.stderr
        blank = terminal.type(*terminal.prospect("--idempotency-key", ""), check=False)
        assert "1 to 200 visible characters" in blank.stderr
    assert len(terminal.ask("job", "list")) == 1

    # What failed is written down without anybody asking.
    made = terminal.ask("job", "exports", short)
    assert [(one["name"], one["state"]) for one in made] == [
        ("failed_domains.csv", "done"),
        ("failed_domains.json", "done"),
    ]
    assert Path(urlsplit(made[0]["url"]).path).read_text().startswith("domain,failure_reason,http_status,retry_count,")

    # Warned of, on the error stream.
    csv = str(tmp_path / "results.csv")
    day, last = (f"{datetime.now(UTC).astimezone() + timedelta(days=days):%Y-%m-%d}" for days in (90, 97))
    written = terminal.ask("job", "export", short, "--output", csv)
    assert (written["hidden_on"], written["deleted_on"]) == (day, last)
    warned = terminal.type("job", "export", short, "--output", csv)
    told = f"The job keeps its results until {day}; they are deleted on {last}.\n"
    assert warned.stderr == told, "who has the file is not sent for it"
    assert day not in warned.stdout
    asked = terminal.type("job", "export-status", short)
    told = f"This job will be auto-deleted on {last}. Download your results now.\n"
    assert asked.stderr == told
    assert f"kept until {day}, deleted on {last}\n" in terminal.type("job", "status", short).stdout

    # Hidden, and had back.
    late = Terminal(terminal.home, None, {**settings, "GOSSAMER_RETENTION": "0.01s"})
    (due,) = late.ask("system", "retention", "--dry-run")
    assert (due["due"], due["matches"], due["hidden_at"]) == ("hide", status["matches"], None)
    assert late.ask("job", "results", short), "a dry run hides nothing"
    assert late.ask("system", "retention", "--run")["hidden"] == [job]
    for looked in (("results", short), ("export", short, "--output", csv)):
        refused = late.type("job", *looked, check=False)
        assert refused.returncode == 2
        assert f"The results of job {short} are hidden since" in refused.stderr
        assert "GOSSAMER_RETENTION" in refused.stderr
    assert terminal.ask("system", "retention", "--run")["shown"] == [job]
    rows = terminal.rows(short)
    assert len(rows) == status["matches"]

    # Forgotten: one page, then a domain.
    page = rows[0]["url"]
    (found,) = terminal.ask("job", "forget", "--url", page, "--dry-run")["jobs"]
    assert found["matches"] == sum(row["url"] == page for row in rows)
    assert "Repeat with --yes" in typed(terminal, "job", "forget", "--url", page).stderr
    terminal.type("job", "forget", "--url", page, "--yes")
    assert page not in {row["url"] for row in terminal.rows(short)}
    domain = rows[-1]["domain"]
    assert "Forgotten." in terminal.type("job", "forget", "--domain", domain, "--job", short, "--yes").stdout
    left = terminal.rows(short)
    assert domain not in orjson.dumps(left).decode()
    assert terminal.ask("job", "status", short)["matches"] == len(left)
    terminal.type("job", "audit", short)
    assert "No stored data mentions it." in terminal.type("job", "forget", "--domain", domain).stdout

    # Deleted, after being asked.
    assert typed(terminal, "job", "delete", short).returncode == 2
    assert "Nothing was changed." in answered(terminal, "n", "job", "delete", short).stdout
    assert terminal.rows(short) == left
    deleted = answered(terminal, "y", "job", "delete", short)
    assert deleted.returncode == 0, deleted.stderr
    assert [path for path in (terminal.home / "files").rglob("*") if path.is_file()] == []
    assert terminal.ask("job", "list") == []
    assert "(Results deleted)" in terminal.type("job", "list", "--include-archived").stdout
    gone = terminal.type("job", "results", short, check=False)
    assert f"The results of job {short} were deleted on 20" in gone.stderr
    terminal.type("job", "audit", short)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("job", "forget"), "usage"),
        (("job", "forget", "--url", "http://a.test/", "--domain", "a.test"), "usage"),
        (("job", "forget", "--url", "ftp://a.test/"), "forget.url"),
        (("job", "forget", "--domain", "not a domain"), "forget.domain"),
        (("system", "retention", "--run", "--dry-run"), "usage"),
        (("job", "delete", "ffffffff"), "job.not_found"),
    ],
)
def test_what_cannot_be_deleted_is_said(tmp_path: Path, arguments: tuple[str, ...], code: str) -> None:
    refused = Terminal(tmp_path / "home").type(*arguments, "--json", check=False)
    assert refused.returncode == 2
    assert orjson.loads(refused.stderr)["error"]["code"] == code


def test_a_home_without_jobs_has_nothing_to_keep_or_forget(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home")
    assert terminal.type("system", "retention").stdout == "No job has results to keep.\n"
    assert terminal.type("system", "retention", "--dry-run").stdout == "Nothing is due.\n"
    assert terminal.type("job", "forget", "--domain", "a.test").stdout == "No stored data mentions it.\n"
    nothing = {"hidden": [], "shown": [], "deleted": [], "rows": 0, "files_left": 0}
    assert terminal.ask("system", "retention", "--run") == nothing
