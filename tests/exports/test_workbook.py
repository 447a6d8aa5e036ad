"""The workbook for a client: all of the rows in it, whatever they contain, and it opens."""

import asyncio
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from python_calamine import CalamineWorkbook

from gossamer.billing.prices import PriceList
from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.schema import upgrade
from gossamer.db.transactions import Tx
from gossamer.exports import sheet as sheets
from gossamer.exports.workbook import write_workbook
from gossamer.exports.workbook_writer import heading
from gossamer.exports.xlsx import CUT, MOST_TEXT
from gossamer.model.job import Job, Target
from gossamer.model.states import JobState
from gossamer.recipes.base import Looks, TableQuery
from gossamer.recipes.prospect.tables import PROSPECTS, RESULTS
from gossamer.store import jobs, sites
from tests.conftest import AnyDatabase
from tests.exports.matches import Row, job_with, match
from tests.exports.test_bill import hybrid_job

NAMES = [heading(column) for column in RESULTS.columns]
RISKY = ("=", "+", "-", "@", "\t", "\r", "＝")
MOMENT = datetime(2026, 3, 4, 5, 6, 7)  # noqa: DTZ001 - spreadsheets know no time zones
HOSTILE = [
    "=1+1",
    '=HYPERLINK("http://evil.test","x")',
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "＝cmd|' /C calc'!A0",
    "quotes \" and ' and <b>&amp;</b> ]]>",
    "line\nend\r\nand tab\tinside",
    "  spaces at both ends  ",
    "emoji 👩‍👩‍👧 and 𝄞",
    "עברית مرحبا right to left",
    "_x0041_ is no A",
    "control \x01 \x0b \x1f characters \ufffe",
    "x" * 50_000,
    "👍" * 30_000,
    "",
]


async def written(database: AnyDatabase, job: Job, folder: Path, **more: Any) -> Path:
    looks, rows = more.pop("looks", Looks()), more.pop("rows_per_sheet", 1_048_576)
    path = folder / "client.xlsx"
    await write_workbook(
        path, database, RESULTS, TableQuery(job, **{"columns": RESULTS.columns, **more}), looks, rows_per_sheet=rows
    )
    return path


def by_openpyxl(path: Path, sheet: str) -> list[list[Any]]:
    book = openpyxl.load_workbook(path)
    try:
        return [list(row) for row in book[sheet].iter_rows(values_only=True)]
    finally:
        book.close()


def by_calamine(path: Path, sheet: str) -> list[list[Any]]:
    rows = CalamineWorkbook.from_path(path).get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    return [[None if cell == "" else cell for cell in row] for row in rows]


def as_it_should_be(text: str) -> str | None:
    """The documented changes, said once more."""
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe]", "\ufffd", ("'" if text.startswith(RISKY) else "") + text)
    units = text.encode("utf-16-le")
    if len(units) // 2 > MOST_TEXT:
        text = units[: (MOST_TEXT - len(CUT)) * 2].decode("utf-16-le", "ignore") + CUT
    return text.replace("\r\n", "\n").replace("\r", "\n") or None


def hostile_rows() -> list[Row]:
    return [
        match(
            "a.test", f"{number:02}?a=1&b=2", text[:30].strip() or f"k{number}", context_snippet=text, anchor_text=text
        )
        for number, text in enumerate(HOSTILE)
    ]


async def test_all_matches_are_in_it_whatever_they_contain(database: AnyDatabase, tmp_path: Path) -> None:
    rows = hostile_rows()
    path = await written(database, await job_with(database, rows, failed=["down.test"]), tmp_path)
    lines = [
        line
        async for some in RESULTS.lines(database, TableQuery(await _job(database), RESULTS.columns))
        for line in some
    ]
    at = [RESULTS.columns.index(column) for column in RESULTS.choose(["timestamp", "verdict"])]
    lines = [[*line[: at[0]], MOMENT, line[at[0] + 1], "No link yet", *line[at[1] + 1 :]] for line in lines]
    expected = [[as_it_should_be(cell) if isinstance(cell, str) else cell for cell in line] for line in lines]
    assert len(lines) == len(rows)
    found = by_openpyxl(path, "Matches")
    assert found[0] == NAMES
    # One reader leaves Excel's way of writing an underscore as it stands.
    assert [[_unescaped(cell) for cell in line] for line in found[1:]] == expected
    assert [[_unescaped(cell) for cell in line] for line in by_calamine(path, "Matches")] == [NAMES, *expected]
    snippets = {line[RESULTS.columns.index(RESULTS.columns[4])] for line in found[1:]}
    assert any(str(text).endswith(CUT) for text in snippets)
    assert [line[:2] for line in by_openpyxl(path, "Failed")] == [
        ["Domain", "Failure reason"],
        ["down.test", "DNS resolution failed"],
    ]
    assert by_openpyxl(path, "Prospects")[0] == [heading(column) for column in PROSPECTS.columns]
    assert [line[1] for line in by_openpyxl(path, "Prospects")[1:]] == ["a.test"]


def _unescaped(cell: Any) -> Any:
    return cell.replace("_x005F_", "_") if isinstance(cell, str) else cell


async def _job(database: AnyDatabase) -> Job:
    return (await database.read(jobs.recent, 1))[0]


async def test_formulas_are_left_alone_only_where_that_is_asked_for(database: AnyDatabase, tmp_path: Path) -> None:
    job = await job_with(database, [match("a.test", context_snippet="=1+1")])
    raw = by_openpyxl(await written(database, job, tmp_path, looks=Looks(raw=True)), "Matches")
    assert raw[1][4] == "=1+1"
    path = await written(database, job, tmp_path)
    assert by_openpyxl(path, "Matches")[1][4] == "'=1+1"
    with zipfile.ZipFile(path) as archive:
        assert not any(b"<f>" in archive.read(name) for name in archive.namelist() if "/sheet" in name)


async def test_what_does_not_fit_on_a_sheet_goes_on_in_the_next(database: AnyDatabase, tmp_path: Path) -> None:
    rows = [match("a.test", f"{page:02}") for page in range(5)] + [match("b.test", f"{page:02}") for page in range(4)]
    path = await written(database, await job_with(database, rows), tmp_path, rows_per_sheet=5)
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["Summary", "Prospects", "Matches", "Matches 2", "Matches 3", "Failed"]
    assert [book[name].auto_filter.ref for name in book.sheetnames[2:5]] == ["A1:O5", "A1:O5", "A1:O2"]
    book.close()
    found = [line for name in ("Matches", "Matches 2", "Matches 3") for line in by_openpyxl(path, name)[1:]]
    assert [line[1] for line in found] == sorted(row["url"] for row in rows)
    assert "The matches go on in 3 sheets: a sheet holds 4 rows." in words_of(path)


async def test_a_full_last_sheet_is_not_followed_by_an_empty_one(database: AnyDatabase, tmp_path: Path) -> None:
    job = await job_with(database, [match("a.test", f"{page}") for page in range(8)])
    path = await written(database, job, tmp_path, rows_per_sheet=5)
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["Summary", "Prospects", "Matches", "Matches 2", "Failed"]
    book.close()


def words_of(path: Path) -> str:
    return "\n".join(str(cell) for line in by_openpyxl(path, "Summary") for cell in line if cell is not None)


async def test_the_summary_says_what_was_searched_and_that_it_is_not_all(database: AnyDatabase, tmp_path: Path) -> None:
    job = await database.write(_running_job)
    path = await written(database, job, tmp_path)
    words = words_of(path)
    assert "Partial: the job is running, 0 of 2 domains are done." in words
    assert "'=Acme Q1" in words
    assert "acme.com" in words
    assert "2: CRM, ERP" in words
    book = openpyxl.load_workbook(path)
    assert [book[name].freeze_panes for name in book.sheetnames] == [None, "C2", "B2", "B2"]
    assert book["Matches"].auto_filter.ref == "A1:O1"
    assert book["Matches"].max_row == 1
    new = "D"  # a column that says nothing where there is no earlier job
    assert book["Prospects"].column_dimensions[new].hidden
    book.close()
    compared = openpyxl.load_workbook(await written(database, job, tmp_path, since=job))
    assert compared["Prospects"][f"{new}1"].value == "New"
    assert not compared["Prospects"].column_dimensions[new].hidden
    compared.close()


def _running_job(tx: Tx) -> Job:
    job = jobs.create(tx, "=Acme Q1", "prospect", {"keywords": ["CRM", "ERP"], "client_domains": ["acme.com"]}, 2)
    sites.create_many(tx, job.id, [Target(host, (f"http://{host}/",), host) for host in ("a.test", "b.test")])
    jobs.move(tx, job.id, JobState.RUNNING)
    found = jobs.get(tx, job.id)
    assert found
    return found


async def test_counts_of_the_summary_are_those_of_the_sheets(database: AnyDatabase, tmp_path: Path) -> None:
    rows = [match("a.test", "1"), match("a.test", "2", verdict="linked"), match("b.test", "1", verdict="linked")]
    job = await job_with(database, [*rows, match("left-out.test")], failed=["down.test"])
    job = replace(job, params={**job.params, "client_domains": ["acme.com"]})
    path = await written(database, job, tmp_path, excluded=frozenset({"left-out.test"}))
    summary = {line[1]: line[2] for line in by_openpyxl(path, "Summary") if line[1] is not None}
    assert (summary["Matches"], summary["Domains with matches"], summary["Domains that failed"]) == (3, 2, 1)
    assert summary["Prospects with unlinked mentions"] == 1
    assert summary["Left out on request"] == "1 domain"
    assert summary["CRM"] == 3
    assert len(by_openpyxl(path, "Matches")) == 4
    assert len(by_openpyxl(path, "Prospects")) == 3


async def test_without_a_client_nothing_is_called_unlinked(database: AnyDatabase, tmp_path: Path) -> None:
    path = await written(database, await job_with(database, [match("a.test", verdict="")]), tmp_path)
    summary = {line[1]: line[2] for line in by_openpyxl(path, "Summary") if line[1] is not None}
    assert summary["Prospects with mentions"] == 1
    assert "Prospects with unlinked mentions" not in summary


async def test_only_unlinked_matches_but_all_prospects(database: AnyDatabase, tmp_path: Path) -> None:
    job = await job_with(database, [match("a.test"), match("b.test", verdict="linked")])
    path = await written(database, job, tmp_path, only="unlinked")
    assert [line[0] for line in by_openpyxl(path, "Matches")] == ["Domain", "a.test"]
    assert [line[1] for line in by_openpyxl(path, "Prospects")] == ["Domain", "a.test", "b.test"]


async def test_the_prospects_may_be_chosen_as_well(database: AnyDatabase, tmp_path: Path) -> None:
    earlier = await job_with(database, [match("b.test")])
    job = await job_with(database, [match("a.test"), match("b.test", verdict="linked")])
    asked = TableQuery(job, PROSPECTS.choose(["score", "domain", "new"]), only="new", since=earlier)
    path = tmp_path / "client.xlsx"
    assert await write_workbook(path, database, PROSPECTS, asked, Looks()) == 1
    assert by_openpyxl(path, "Prospects") == [["Score", "Domain", "New"], [15, "a.test", "yes"]]
    assert [line[0] for line in by_openpyxl(path, "Matches")] == ["Domain", "a.test", "b.test"]


async def test_some_columns(database: AnyDatabase, tmp_path: Path) -> None:
    job = await job_with(database, [match("a.test")])
    path = await written(database, job, tmp_path, columns=RESULTS.choose(["keyword", "url"]))
    assert by_openpyxl(path, "Matches") == [["Keyword", "URL"], ["CRM", "https://a.test/"]]


async def test_addresses_are_links_as_far_as_a_sheet_can_hold_them(
    database: AnyDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheets, "MOST_LINKS", 2)
    odd = "https://a.test/3?q=[odd]"
    rows = [match("a.test", f"{page}?a=1&b=2") for page in range(2)] + [{**match("a.test", "2"), "url": odd}]
    rows.append(match("a.test", "4"))
    path = await written(database, await job_with(database, rows), tmp_path)
    book = openpyxl.load_workbook(path)
    cells = [book["Matches"].cell(row, 2) for row in range(2, 6)]
    links = [cell.hyperlink.target if cell.hyperlink else None for cell in cells]
    assert links == ["https://a.test/0?a=1&b=2", "https://a.test/1?a=1&b=2", None, None]
    assert [cell.value for cell in cells] == sorted(row["url"] for row in rows)
    best = book["Prospects"].cell(2, 5).hyperlink
    assert best
    assert best.target == "https://a.test/0?a=1&b=2"
    book.close()
    assert "1 addresses are plain text" in words_of(path)


async def test_a_cancelled_workbook_leaves_nothing_open(database: AnyDatabase, tmp_path: Path) -> None:
    job = await job_with(database, [match(f"s{site}.test", f"{page}") for site in range(30) for page in range(9)])
    writing = asyncio.create_task(written(database, job, tmp_path))
    await asyncio.sleep(0.02)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert len(by_openpyxl(await written(database, job, tmp_path), "Matches")) == 271


@pytest.mark.skipif(shutil.which("soffice") is None, reason="needs LibreOffice")
async def test_an_office_program_opens_it_as_it_is(tmp_path: Path) -> None:
    """Without any repair: what it saves again is what we wrote."""
    rows = [row for row in hostile_rows() if len(row["context_snippet"]) < 1000]
    database = SqliteDatabase(tmp_path / "rows.db", SystemClock())
    await database.write(upgrade)
    path = await written(database, await job_with(database, rows, failed=["down.test"]), tmp_path)
    await database.close()
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    command = ["soffice", profile, "--headless", "--convert-to", "xlsx:Calc MS Excel 2007 XML"]
    out = tmp_path / "again"
    ended = subprocess.run([*command, "--outdir", str(out), str(path)], capture_output=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    for sheet in ("Matches", "Prospects", "Failed"):
        mine = [[_unescaped(cell) for cell in line] for line in by_calamine(path, sheet)]
        assert by_calamine(out / "client.xlsx", sheet)[: len(mine)] == mine


async def test_a_job_that_could_cost_has_a_sheet_of_costs_unless_nobody_wants_it(
    database: AnyDatabase, tmp_path: Path
) -> None:
    job = await hybrid_job(database)
    path = await written(database, job, tmp_path, prices=PriceList())
    assert openpyxl.load_workbook(path).sheetnames[-2:] == ["Costs", "Failed"]
    header, *lines = by_openpyxl(path, "Costs")
    assert header == [
        "Domain",
        "URLs crawled",
        "Direct requests",
        "ScrapingBee requests",
        "JS rendering requests",
        "Total credits",
        "Estimated cost USD",
    ]
    # The dearest first. These pages have no attempts, so no request is counted.
    assert [(line[0], line[1], line[5], line[6]) for line in lines] == [
        ("rendered.test", 1, 5, 0.05),
        ("paid.test", 2, 2, 0.02),
        ("free.test", 3, 0, 0),
    ]
    assert by_calamine(path, "Costs")[1:] == lines
    said = words_of(path)
    for wanted in (
        "What it cost",
        "7 credits ($0.07)",
        "2 pages (33 %), 2 credits ($0.02)",
        "rendered.test (1 of 1 page)",
    ):
        assert wanted in said
    quiet = await written(database, job, tmp_path)
    assert "Costs" not in openpyxl.load_workbook(quiet).sheetnames
    assert "cost" not in words_of(quiet).lower()


async def test_a_free_job_has_no_costs(database: AnyDatabase, tmp_path: Path) -> None:
    path = await written(database, await job_with(database, [match("a.test")]), tmp_path, prices=PriceList())
    assert "Costs" not in openpyxl.load_workbook(path).sheetnames
