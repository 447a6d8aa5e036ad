"""What people are told before a job starts, when they are asked, and what they are told at its end."""

import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from gossamer.app import open_app
from gossamer.billing.estimating import Forecast
from gossamer.cli import estimates
from gossamer.cli.here import LocalHome
from gossamer.cli.job_show import show_status
from gossamer.model.ids import short
from gossamer.model.job import Comparable, Estimate, Probed, TrackRecord
from gossamer.model.money import Cap
from gossamer.model.rungs import Mode
from gossamer.questions.submitting import house_rules
from gossamer.questions.view import View
from gossamer.settings import Settings
from tests.ledger.past import Site, run
from tests.stories.program import Terminal

LIKE = Comparable("prospect", ("direct", "scrapingbee-standard", "scrapingbee-js"), 500, 50)
SAID = Estimate(LIKE, 5_000, 4_000, 2_000, 8_000, 20_000_000, 80_000_000, 340, 12)
FOUND = Forecast(SAID, (2_500, 7_500), TrackRecord(10, 12))
ALONE = Forecast(replace(SAID, low=190, known=0, similar=0, low_micros=1_900_000), None, TrackRecord(0, 0))


def test_the_estimate_says_what_it_is_based_on_and_how_good_others_were() -> None:
    assert list(estimates.forecast_lines(FOUND, Mode.HYBRID, Cap(10_000))) == [
        "Estimated 2,000-8,000 ScrapingBee credits ($20-$80) based on hybrid mode and historical data",
        "12 similar jobs used 2,500-7,500 credits per 5,000 domains",
        "340 of 5,000 domains were met before",
        "The last 12 estimates: 10 right",
    ]


def test_without_history_it_says_so_and_what_helps() -> None:
    assert list(estimates.forecast_lines(ALONE, Mode.HYBRID, Cap(5_000, 90_000_000))) == [
        "Estimated 190-8,000 ScrapingBee credits ($1.90-$80) based on hybrid mode",
        "No similar job has ended here yet, so the range is wide; --probe 20 looks at homepages first, for free",
        "It pauses before it spends more than 5,000 credits (--max-credits) or $90.00 (--max-usd)",
    ]
    looked = replace(ALONE, estimate=replace(ALONE.estimate, probed=Probed(20, 4, 1)), record=TrackRecord(0, 1))
    own = list(estimates.forecast_lines(looked, Mode.OWN, Cap()))
    assert own[0].endswith("based on the ladder direct,scrapingbee-standard,scrapingbee-js and 20 homepages")
    assert own[1:] == ["No similar job has ended here yet, so the range is wide", "The last estimate was wrong"]


SITES = [Site(f"free{number}.test", (), 2) for number in range(3)] + [Site("paid.test", ("direct",), 3)]


async def test_a_status_says_what_was_estimated_and_whether_it_was_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        ran = await run(app.database, SITES)
        await show_status(LocalHome(app), short(ran.job.id), as_json=False)
        (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Estimated")]
        low, high = ran.found.estimate.low, ran.found.estimate.high
        assert low <= ran.cost <= high
        assert told.startswith(f"Estimated before the start: {low}-{high:,} credits ($")
        assert told.endswith("), which was right")
        await show_status(LocalHome(app), short(ran.job.id), as_json=True)
        assert orjson.loads(capsys.readouterr().out)["estimate"]["high_credits"] == high


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    (tmp_path / "domains.txt").write_text("".join(f"site{number}.test\n" for number in range(400)))
    (tmp_path / "keywords.txt").write_text("CRM\n")
    # Nobody answers there: nothing of this is ever asked for anything.
    return Terminal(tmp_path / "home", None, {"GOSSAMER_SCRAPINGBEE_KEY": "a-key-of-nobody"})


def lists(terminal: Terminal) -> tuple[str, ...]:
    folder = terminal.home.parent
    return ("--domains", str(folder / "domains.txt"), "--keywords", str(folder / "keywords.txt"))


def test_an_estimate_makes_no_job_and_answers_scripts(terminal: Terminal) -> None:
    said = terminal.type("job", "estimate", *lists(terminal)[:2]).stdout.splitlines()
    assert said[0] == "Processing 400 domains"
    assert said[1].startswith("Estimated ")
    assert said[1].endswith(" based on hybrid mode")
    answer = terminal.ask("job", "estimate", *lists(terminal)[:2], "--mode", "premium-only", "--max-credits", "700")
    assert 0 < answer["low_credits"] < answer["high_credits"]
    assert answer["high_usd"] == answer["high_credits"] / 100
    assert (answer["max_credits"], answer["similar_jobs_used"], answer["probe"]) == (700, None, None)
    free = terminal.type("job", "estimate", *lists(terminal)[:2], "--mode", "free-only", "--probe", "5").stdout
    assert free.splitlines()[1:] == [
        "This job costs nothing, so no homepage was fetched.",
        "Estimated 0 credits ($0): it asks no provider for anything",
    ]
    assert terminal.ask("job", "list") == []


def test_a_free_job_says_nothing_of_money_and_a_paid_one_answers_scripts_too(terminal: Terminal) -> None:
    made = ("job", "run", *lists(terminal), "--name", "not started", "--no-auto-start")
    free = terminal.type(*made, "--mode", "free-only").stdout
    assert "stimate" not in free
    assert "$" not in free
    answer = terminal.ask(*made)
    assert answer["estimate"]["domains"] == 400
    assert answer["estimate"]["high_credits"] > 1_000


async def test_where_nobody_is_there_nobody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Typer itself would end the command, if it asked: there is nobody to answer."""
    async with open_app(Settings(home=tmp_path)) as app:
        house = await house_rules(View(app))
        assert not sys.stdin.isatty()
        estimates.confirm_cost(house, SAID, Cap(10_000), yes=False, quiet=False)
        # Only the answers go to a terminal, or only the questions come from one.
        for stream in (sys.stdin, sys.stdout):
            with monkeypatch.context() as patched:
                patched.setattr(stream, "isatty", lambda: True)
                estimates.confirm_cost(house, SAID, Cap(10_000), yes=False, quiet=False)
        assert capsys.readouterr().out == ""


def answered(terminal: Terminal, reply: bytes, *arguments: str) -> tuple[int, str]:
    """A command on a terminal, and somebody who types one answer once they are asked."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gossamer", *arguments]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=terminal.environment())
    os.close(theirs)
    said = b""
    for some in _pieces(ours):
        said += some
        if said.endswith(b"[y/N]: ") and reply:
            os.write(ours, reply)
            reply = b""
    os.close(ours)
    return process.wait(timeout=60), said.decode().replace("\r\n", "\n")


def _pieces(file: int) -> Iterator[bytes]:
    while select.select([file], [], [], 120)[0]:
        try:
            some = os.read(file, 4_096)
        except OSError:
            return
        if not some:
            return
        yield some


def test_a_person_is_asked_about_a_dear_job_and_not_about_a_cheap_one(terminal: Terminal) -> None:
    made = ("job", "run", *lists(terminal), "--name", "dear", "--max-credits")
    code, said = answered(terminal, b"n\n", *made, "9000")
    assert "Start it? It may cost up to $90.00 [y/N]: n\nNot started.\n" in said
    assert (code, terminal.ask("job", "list")) == (1, [])
    # As a limit says, it cannot cost more than asking is worth.
    code, said = answered(terminal, b"", *made, "1000", "--no-auto-start")
    assert (code, "[y/N]" in said) == (0, False)
    (job,) = terminal.ask("job", "list")
    terminal.settings = {**terminal.settings, "GOSSAMER_CONFIRM_USD": "2"}
    code, said = answered(terminal, b"\n", "job", "start", job["id"])
    assert "Estimated before the start: " in said
    assert "Start it? It may cost up to $10.00 [y/N]: " in said
    assert (code, terminal.ask("job", "status", job["id"])["state"]) == (1, "pending")
    code, said = answered(terminal, b"", "job", "start", job["id"], "--yes", "--detach", "--processes", "1")
    assert (code, "[y/N]" in said) == (0, False)
    terminal.type("job", "cancel", job["id"])
