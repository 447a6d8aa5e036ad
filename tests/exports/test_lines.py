"""Reading rows for files: in order, in bounded batches, and the same however a site's rows are read."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import UserError
from gossamer.exports.formats import FORMATS, format_of_file, formats_named, refuse_other_ending
from gossamer.exports.make import Order
from gossamer.exports.orders import Wish, file_name, order_of, request_of
from gossamer.exports.xlsx import CUT, MOST_TEXT, cut
from gossamer.model.export import FORMAT_NAMES, list_formats
from gossamer.model.states import JobState
from gossamer.recipes.base import Looks, TableQuery
from gossamer.recipes.prospect import matches
from gossamer.recipes.prospect.tables import RESULTS
from gossamer.recipes.tables import ERRORS
from gossamer.store import exports, jobs
from tests.conftest import AnyDatabase
from tests.exports.lines import file_of
from tests.jobs import claim_all, done, make_job, settle

MATCH: dict[str, Any] = {
    "frequency": 1,
    "context_snippet": "x",
    "crawl_method": "direct",
    "timestamp": "2026-11-16T01:42:18Z",
    "http_status": 200,
}


async def small_job(database: AnyDatabase, *hosts: str) -> Any:
    job = await database.write(make_job, *hosts)
    steps = [
        done(visit, f"http://{visit.host}/{path}", "ERP", "CRM", depth=1, **MATCH)
        for visit in await database.write(claim_all)
        for path in "zyx"
    ]
    await settle(database, *steps)
    return job


async def lines(database: AnyDatabase, asked: TableQuery) -> list[list[Any]]:
    return [some async for some in RESULTS.lines(database, asked)]


def limit(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """As if so few rows were too many."""
    for name in ("AT_ONCE", "ENOUGH", "LARGE"):
        monkeypatch.setattr(matches, name, at_once)
    monkeypatch.setattr(matches, "_SITES", 2)


@pytest.mark.parametrize("at_once", [1, 4, 7, 5_000])
async def test_the_order_is_the_same_whatever_fits_into_a_read(
    database: AnyDatabase, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six rows a site: read whole, or by what they are sorted by, or several sites together."""
    job = await small_job(database, "c.test", "a.test", "b.test")
    limit(monkeypatch, at_once)
    columns = RESULTS.choose(["domain", "url", "keyword", "keyword_pages"])
    found = await lines(database, TableQuery(job, columns))
    assert all(0 < len(some) <= at_once for some in found)
    assert list(itertools.chain(*found)) == [
        (host, f"http://{host}/{path}", keyword, 3)
        for host in ("a.test", "b.test", "c.test")
        for path in "xyz"
        for keyword in ("CRM", "ERP")
    ]
    for form in ("json", "csv", "jsonl"):
        made = await file_of(database, job, form)
        monkeypatch.undo()
        assert made == await file_of(database, job, form), "in however many pieces"
        limit(monkeypatch, at_once)
    by_keyword = list(itertools.chain(*await lines(database, TableQuery(job, columns, order=("keyword", "url")))))
    assert [line[1:3] for line in by_keyword[:6]] == [
        (f"http://a.test/{path}", keyword) for keyword in ("CRM", "ERP") for path in "xyz"
    ]


def test_a_text_too_long_for_a_cell_is_cut_and_says_so() -> None:
    assert cut("x" * MOST_TEXT) == "x" * MOST_TEXT
    assert cut("x" * (MOST_TEXT + 1)) == "x" * (MOST_TEXT - len(CUT)) + CUT
    smiles = cut("🎉" * 20_000)  # two units each
    assert isinstance(smiles, str)
    assert len(smiles.encode("utf-16-le")) // 2 <= MOST_TEXT
    assert smiles.endswith(CUT)
    assert cut(-1) == -1


async def test_what_was_asked_for_survives_in_its_row(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    order = Order(job, RESULTS, FORMATS["csv"], ("url", "verdict"), "", Looks(bom=True, raw=True))
    (export,) = await database.write(exports.add, job.id, [request_of(order)], "home")
    assert order_of(job, export) == order


async def test_a_file_of_a_job_that_goes_on_says_so_in_its_name(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    order = Order(job, RESULTS, FORMATS["csv"], only="unlinked")
    assert file_name(order) == f"results-unlinked-{job.id.hex[-8:]}-partial.csv"
    assert request_of(order).partial
    await database.write(jobs.move, job.id, JobState.COMPLETED)
    over = await database.read(jobs.get, job.id)
    assert over
    assert file_name(Order(over, ERRORS, FORMATS["json"])) == f"failed_domains-{job.id.hex[-8:]}.json"


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        (Wish("nothing", ()), "export.type"),
        (Wish("results", (), columns=("url", "colour")), "export.column"),
        (Wish("results", (), only="linked"), "export.filter"),
        (Wish("errors", (), only="unlinked"), "export.filter"),
        (Wish("results", (), only="unlinked"), "results.no_client"),
    ],
)
async def test_what_cannot_be_made_is_refused_at_once(database: AnyDatabase, wish: Wish, code: str) -> None:
    job = await database.write(make_job, "a.test")
    with pytest.raises(UserError) as refused:
        wish.orders(job)
    assert refused.value.code == code
    assert refused.value.hint


@pytest.mark.parametrize(
    ("table", "hint"),
    [
        ("results", "Use --filter unlinked."),
        ("prospects", "Use --filter with one of unlinked, new."),
        ("errors", "Use --filter by-hand."),
        ("pages", "It has none."),
    ],
)
async def test_what_could_be_asked_for_is_named(database: AnyDatabase, table: str, hint: str) -> None:
    job = await database.write(make_job, "a.test")
    with pytest.raises(UserError) as refused:
        Wish(table, (), only="best").orders(job)
    assert refused.value.hint == hint


def test_formats_by_name_and_by_ending(tmp_path: Any) -> None:
    assert [one.name for one in formats_named("csv, JSON,csv")] == ["csv", "json"]
    assert format_of_file(tmp_path / "a.XLSX").name == "xlsx"
    assert format_of_file(tmp_path / "a").name == "csv"
    for ending in ("pdf", "txt", "xls"):
        with pytest.raises(UserError, match="does not end like"):
            format_of_file(tmp_path / f"a.{ending}")
    with pytest.raises(UserError, match=r"t\.xlsx ends like xlsx, and --format says csv\."):
        refuse_other_ending(tmp_path / "t.xlsx", FORMATS["csv"])
    for name in ("t.CSV", "t", "t.txt", "-"):
        refuse_other_ending(Path(name), FORMATS["csv"])
    for wrong in ("pdf", "csv,pdf", "", ","):
        with pytest.raises(UserError, match="not a format"):
            formats_named(wrong)


def test_help_and_the_api_name_the_formats_that_can_be_written() -> None:
    assert tuple(FORMATS) == FORMAT_NAMES
    assert list_formats().replace(" or ", ", ").split(", ") == list(FORMAT_NAMES)
