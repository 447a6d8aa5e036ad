"""What people read about a job."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from rich.console import Console

from gossamer.cli import formatting, report
from gossamer.cli.screen import draw
from gossamer.intake.control import Retried
from gossamer.model.ids import new_id, short
from gossamer.model.job import Ahead, Job, Progress
from gossamer.model.states import JobState
from gossamer.model.trouble import Reason

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
JOB = Job(new_id(NOW), "Acme Q1", "prospect", {}, JobState.RUNNING, "", NOW, NOW, None)
PROGRESS = Progress(
    sites_total=5000,
    sites_done=3000,
    sites_failed=241,
    pages_done=41_000,
    records=812,
    sites_recently=72,
    pages_recently=300,
    ahead=Ahead(pages=4_000, unread=1_500, pages_unread=20_000, longest=timedelta(minutes=8)),
    last_activity=NOW - timedelta(minutes=2),
)


def test_the_status_of_a_running_job_has_all_a_person_asks_for() -> None:
    lines = report.status_lines(JOB, PROGRESS, 4711, NOW)
    assert "Progress: 3,241/5,000 domains (64%)" in lines
    assert "Status: Running" in lines
    assert "Pages so far: 41,000 of ~65,000 pages (63%), 100 pages/min" in lines
    assert "ETA: at least ~4.0 hours remaining, 1,500 domains are unread" in lines
    assert "Throughput: Averaging 288 domains/hour over last 15 minutes" in lines
    assert "Last activity: 2 min ago" in lines
    assert "Domains: 3,000 succeeded, 241 failed (see error report)" in lines


def test_a_running_job_without_a_runner_is_stopped() -> None:
    lines = report.status_lines(JOB, PROGRESS, None, NOW)
    assert "Status: Stopped: no worker" in lines
    assert lines[-1].startswith(f"Go on with 'gossamer job resume {short(JOB.id)}'")
    assert not any(line.startswith("ETA") for line in lines)


def test_the_end_says_how_many_succeeded_and_where_the_failures_are() -> None:
    job = replace(JOB, state=JobState.COMPLETED)
    progress = replace(PROGRESS, sites_total=4_873, sites_done=4_573, sites_failed=300)
    said, command, *_ = report.ending_lines(job, progress)
    assert said.startswith("Completed: 4,573 succeeded, 300 failed (see error report). ")
    assert command == f"Error report: gossamer job errors {short(JOB.id)}"
    assert "Domains: 4,573 succeeded, 300 failed (see error report)" in report.status_lines(job, progress, None, NOW)
    none, *others = report.ending_lines(job, replace(progress, sites_failed=0))
    assert not any("job errors" in line for line in others)
    assert none.startswith("Completed: 4,573 succeeded, 0 failed. ")


def test_a_table_is_offered_only_where_it_has_rows() -> None:
    job = replace(JOB, state=JobState.COMPLETED)
    for said in (report.ending_lines(job, PROGRESS), report.status_lines(job, PROGRESS, None, NOW)):
        assert said[-1].startswith("Get the table with ")
    empty = Progress(sites_total=2, sites_failed=2)
    for said in (report.ending_lines(job, empty), report.status_lines(job, empty, None, NOW)):
        assert said[-1]
        assert not any("Get the table" in line for line in said)


def test_every_ending_has_its_exit_code_and_its_next_step() -> None:
    endings = {
        JobState.COMPLETED: 0,
        JobState.FAILED: 1,
        JobState.CANCELLED: 1,
        JobState.PAUSED: 3,
        JobState.RUNNING: 3,
    }
    for state, code in endings.items():
        job = replace(JOB, state=state, reason="the disk is full")
        assert report.exit_code(job) == code
        assert report.ending_lines(job, PROGRESS)[0]
    paused = report.ending_lines(replace(JOB, state=JobState.PAUSED), PROGRESS)
    assert paused == [
        f"Paused at 3,241/5,000 domains (64%). Resume anytime with 'gossamer job resume {short(JOB.id)}'."
    ]


def test_a_job_that_was_not_over_says_that_it_goes_on_with_the_rest() -> None:
    again = Retried(sites=3, pages=4)
    said = report.retry_lines(again, PROGRESS, "3f9a2c71", 12)
    assert said[:2] == [
        "Retrying what failed: 3 domains, 4 pages.",
        "The job also goes on with what was still open: 12 domains.",
    ]
    assert report.retry_lines(again, PROGRESS, "3f9a2c71") == [said[0], said[2]]


def test_a_job_that_failed_everywhere_says_why() -> None:
    job = replace(JOB, state=JobState.COMPLETED)
    offline = Progress(sites_total=3, sites_failed=3)
    said = report.ending_lines(job, offline, [(Reason.DNS, 3)])
    assert said[2].startswith("Failed most often: DNS resolution failed (3).")
    assert said[3] == "No name could be looked up at all: is this machine connected?"
    mixed = report.ending_lines(job, offline, [(Reason.DNS, 2), (Reason.FORBIDDEN, 1)])
    assert "HTTP 403 Forbidden (1)" in mixed[2]
    assert not any("connected" in line for line in mixed)


_IN_GENERAL = (Reason.SERVER_ERROR, Reason.CLIENT_ERROR, Reason.SAME_AS, Reason.RUNG_SKIPPED)


def test_the_reasons_of_failures_have_no_gaps_and_hide_nobody() -> None:
    job = replace(JOB, state=JobState.COMPLETED)
    for reason in Reason:
        (_, _, why, *_) = report.ending_lines(job, Progress(sites_total=9, sites_failed=1), [(reason, 1)])
        said = why.removeprefix("Failed most often: ").partition(" (1).")[0]
        assert said
        assert "{" not in why
        assert said in reason.sentence or reason in _IN_GENERAL
    (_, _, crashed, *_) = report.ending_lines(job, PROGRESS, [(Reason.CRASHED, 1)])
    assert crashed.startswith("Failed most often: Given up after crashing the worker (1).")
    four = [(reason, 1) for reason in (Reason.TLS, Reason.DNS, Reason.ROBOTS, Reason.GONE)]
    (_, _, all_four, *_) = report.ending_lines(job, PROGRESS, four)
    assert "HTTP 410 Gone (1)." in all_four
    many = [(reason, 2) for reason in list(Reason)[:8]]
    (_, _, some, *_) = report.ending_lines(job, PROGRESS, many)
    assert some.endswith(" and others (6).")


def test_the_live_display_fits_a_narrow_terminal() -> None:
    for width in (30, 40, 80, 200):
        console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
        console.print(draw(replace(JOB, name="A very long name of a job " * 5), PROGRESS, ""))
        shown = console.export_text()
        console.file.close()
        assert all(len(line) <= width for line in shown.splitlines())
        assert "3,241/5,000 domains (64%)" in shown
        assert "41,000 of ~65,000 pages (63%)" in shown
        assert "pages/min" in shown


def test_durations_read_naturally() -> None:
    assert [formatting.duration(timedelta(seconds=seconds)) for seconds in (0, 45, 600, 8280, 400_000)] == [
        "0 s",
        "45 s",
        "10 min",
        "2.3 hours",
        "4.6 days",
    ]


def test_a_snippet_is_cut_around_its_keyword() -> None:
    snippet = "a" * 100 + " the CRM software " + "b" * 100
    short_form = formatting.excerpt(snippet, "crm software", 20)
    assert "CRM software" in short_form
    assert len(short_form) < 50


def test_what_remains_goes_by_pages_and_says_when_it_is_a_least() -> None:
    ahead = Ahead(pages=400, longest=timedelta(seconds=300))
    progress = Progress(
        sites_total=30,
        sites_done=29,
        pages_done=600,
        pages_recently=300,
        pages_window=timedelta(minutes=3),
        ahead=ahead,
    )
    assert formatting.remaining(progress) == "~5 min remaining"
    assert formatting.page_progress(progress) == "600 of 1,000 pages (60%)"
    growing = replace(progress, ahead=replace(ahead, growing=True))
    assert formatting.remaining(growing) == "at least ~5 min remaining, more pages may be found"
    unread = replace(progress, ahead=replace(ahead, unread=12, pages_unread=240))
    assert formatting.remaining(unread) == "at least ~6 min remaining, 12 domains are unread"
    assert formatting.page_progress(unread) == "600 of ~1,240 pages (48%)"
    assert formatting.remaining(replace(progress, pages_recently=0)) == "not known yet"
    assert formatting.remaining(replace(progress, sites_done=30)) == "not known yet"


def test_one_page_is_no_pages() -> None:
    job = replace(JOB, state=JobState.COMPLETED)
    small = Progress(sites_total=1, sites_done=1, pages_done=1, records=1)
    assert "1 match, 1 page read." in report._outcome(job, small)
    assert "2,000 matches, 1 page read." in report._outcome(job, replace(small, records=2000))
