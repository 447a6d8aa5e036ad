"""Every file, read back by somebody else's reader, is what the rows say, whatever they say."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from pyarrow import parquet
from python_calamine import CalamineWorkbook

from gossamer.errors import GossamerError
from gossamer.exports import xlsx
from gossamer.exports.encoding import Draft
from gossamer.exports.formats import FORMATS
from gossamer.exports.formula import PREFIX, RISKY, defused, defused_lines
from gossamer.exports.make import Order, make_file
from gossamer.exports.xlsx import CUT, MOST_TEXT, encode_xlsx
from gossamer.recipes.base import Looks, Table
from gossamer.recipes.prospect.tables import PROSPECTS, RESULTS
from gossamer.recipes.tables import COSTS, PAGES
from tests.conftest import AnyDatabase
from tests.exports.lines import HOSTILE, LONG, PAYLOADS, file_of, hostile_job
from tests.exports.matches import job_with, match
from tests.exports.test_bill import hybrid_job
from tests.jobs import make_job

USUAL = ["domain", "url", "keyword", "frequency", "context_snippet", "crawl_method", "timestamp", "http_status"]
WHOLE_SITE = {"flags": "nearly every page", "keyword_pages": len(HOSTILE), "site_pages": len(HOSTILE)}

Row = dict[str, Any]


def armed(text: str) -> str:
    """Without the prefix that a file may have put before it."""
    return text[1:] if text.startswith(PREFIX) and len(text) > 1 and text[1] in RISKY else text


def is_risky(text: str) -> bool:
    return text != "" and text[0] in RISKY


def from_csv(made: bytes) -> list[Row]:
    assert made.partition(b"\r\n")[0].decode() == ",".join(USUAL)
    found: list[Row] = list(csv.DictReader(io.StringIO(made.decode(), newline="")))
    assert not any(is_risky(row["context_snippet"]) for row in found)
    numbers = ("frequency", "http_status")
    return [{name: int(text) if name in numbers else armed(text) for name, text in row.items()} for row in found]


def from_json(made: bytes) -> list[Row]:
    """The promised shape: domain, keyword, list of pages with these six fields."""
    told = json.loads(made)
    assert list(told) == ["results"]
    pages = ("url", "frequency", "context", "crawl_method", "timestamp", "http_status")
    found = []
    for domain, by_keyword in told["results"].items():
        assert list(by_keyword) == ["CRM", "ERP"]
        for keyword, listed in by_keyword.items():
            assert [tuple(page) for page in listed] == [pages] * len(listed)
            found += [
                {"domain": domain, "keyword": keyword, "context_snippet": page.pop("context"), **page}
                for page in listed
            ]
    return sorted(found, key=lambda row: (row["domain"], row["url"], row["keyword"]))


def from_json_lines(made: bytes) -> list[Row]:
    found = [json.loads(line) for line in made.decode().split("\n")[:-1]]
    assert {tuple(row) for row in found} == {tuple(column.name for column in RESULTS.columns)}
    return found


def from_parquet(made: bytes) -> list[Row]:
    table = parquet.read_table(io.BytesIO(made))
    kinds = {field.name: str(field.type) for field in table.schema}
    assert (kinds["frequency"], kinds["timestamp"], kinds["url"]) == ("int64", "timestamp[ms, tz=UTC]", "string")
    found: list[Row] = table.to_pylist()
    assert all(isinstance(row["timestamp"], datetime) and row["timestamp"].tzinfo for row in found)
    return [{**row, "timestamp": f"{row['timestamp'].astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"} for row in found]


READERS: Mapping[str, Callable[[bytes], list[Row]]] = {
    "csv": from_csv,
    "json": from_json,
    "jsonl": from_json_lines,
    "parquet": from_parquet,
}


async def test_every_format_says_what_the_rows_say(database: AnyDatabase) -> None:
    job, rows = await hostile_job(database)
    for form, read in READERS.items():
        found = read(await file_of(database, job, form))
        wanted = (
            [{**row, **WHOLE_SITE} for row in rows]
            if "verdict" in found[0]
            else [{name: row[name] for name in USUAL} for row in rows]
        )
        assert found == wanted, form
    bare = await file_of(database, job, "csv", looks=Looks(bom=True, raw=True))
    assert bare.startswith(b"\xef\xbb\xbfdomain,")
    assert [row["context_snippet"] for row in csv.DictReader(io.StringIO(bare.decode("utf-8-sig"), newline=""))] == [
        row["context_snippet"] for row in rows
    ]
    await check_workbook(database, job, rows)
    chosen = await file_of(database, job, "csv", columns=["verdict", "keyword_pages", "domain"], only="unlinked")
    lines = chosen.decode().splitlines()
    assert lines[0] == "verdict,keyword_pages,domain"
    assert set(lines[1:]) == {f"unlinked,{len(HOSTILE)},{host}" for host in ("a.test", "b.test")}
    assert len(lines) == 1 + sum(row["verdict"] == "unlinked" for row in rows)


async def check_workbook(database: AnyDatabase, job: Any, rows: list[Row]) -> None:
    """A plain one: what the client gets of `results` has sheets of its own."""
    asked = Order(job, RESULTS, FORMATS["xlsx"]).asked()
    draft = Draft(RESULTS, asked.columns, expected=len(rows))
    made = b"".join([chunk async for chunk in encode_xlsx(RESULTS.lines(database, asked), draft)])
    header, *cells = CalamineWorkbook.from_filelike(io.BytesIO(made)).get_sheet_by_name("results").to_python()
    assert header == USUAL
    for line, wanted in zip(cells, rows, strict=True):
        row = dict(zip(USUAL, line, strict=True))
        text, found = wanted["context_snippet"], row["context_snippet"]
        assert (row["url"], row["frequency"]) == (wanted["url"], wanted["frequency"])
        assert isinstance(found, str)
        assert not is_risky(found)
        if text == LONG:
            assert found.endswith(CUT)
            assert len(found.encode("utf-16-le")) // 2 in (MOST_TEXT, MOST_TEXT - 1)
            assert LONG.startswith(found.removesuffix(CUT))
        else:
            # A workbook knows one kind of line end.
            assert armed(found).replace("\r\n", "\n") == text.replace("\r\n", "\n")


async def test_failed_domains_and_pages_in_every_format(database: AnyDatabase) -> None:
    job, rows = await hostile_job(database)
    made = (await file_of(database, job, "csv", "errors")).decode()
    assert made.splitlines()[0] == "domain,failure_reason,http_status,retry_count,last_attempt_timestamp"
    assert made.splitlines()[1].startswith("failed.test,Timeout after 15s,,0,")
    (listed,) = json.loads(await file_of(database, job, "json", "errors"))
    assert (listed["domain"], listed["failure_reason"], listed["http_status"]) == (
        "failed.test",
        "Timeout after 15s",
        None,
    )
    book = CalamineWorkbook.from_filelike(io.BytesIO(await file_of(database, job, "xlsx", "errors")))
    assert book.get_sheet_by_name("errors").to_python()[1][:2] == ["failed.test", "Timeout after 15s"]
    (typed,) = parquet.read_table(io.BytesIO(await file_of(database, job, "parquet", "errors"))).to_pylist()
    assert (typed["domain"], typed["retry_count"], typed["http_status"]) == ("failed.test", 0, None)
    found = [json.loads(line) for line in (await file_of(database, job, "jsonl", "pages")).decode().splitlines()]
    assert {row["url"] for row in found} == {row["url"] for row in rows}
    assert {row["state"] for row in found} == {"done"}


async def test_costs_in_every_format(database: AnyDatabase) -> None:
    job = await hybrid_job(database)
    names = [column.name for column in COSTS.columns]
    lines = [
        ["free.test", 3, 0, 0, 0, 0, 0],
        ["paid.test", 2, 0, 0, 0, 2, 0.02],
        ["rendered.test", 1, 0, 0, 0, 5, 0.05],
    ]
    rows = [dict(zip(names, line, strict=True)) for line in lines]
    header, *cells = csv.reader(io.StringIO((await file_of(database, job, "csv", "costs")).decode(), newline=""))
    assert (header, [[float(cell) for cell in line[1:]] for line in cells]) == (names, [line[1:] for line in lines])
    assert json.loads(await file_of(database, job, "json", "costs")) == rows
    assert [json.loads(line) for line in (await file_of(database, job, "jsonl", "costs")).splitlines()] == rows
    assert parquet.read_table(io.BytesIO(await file_of(database, job, "parquet", "costs"))).to_pylist() == rows
    book = CalamineWorkbook.from_filelike(io.BytesIO(await file_of(database, job, "xlsx", "costs")))
    assert book.get_sheet_by_name("costs").to_python() == [names, *lines]


async def test_an_empty_table_is_still_a_file(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    assert (await file_of(database, job, "csv")).decode() == ",".join(USUAL) + "\r\n"
    assert await file_of(database, job, "json") == b'{\n  "results": {}\n}\n'
    assert await file_of(database, job, "jsonl") == b""
    assert await file_of(database, job, "json", "errors") == b"[]\n"
    assert parquet.read_table(io.BytesIO(await file_of(database, job, "parquet"))).num_rows == 0
    book = CalamineWorkbook.from_filelike(io.BytesIO(await file_of(database, job, "xlsx", "errors")))
    assert book.get_sheet_by_name("errors").to_python()[0][0] == "domain"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_known_payloads_are_defused_and_numbers_are_not(payload: str) -> None:
    assert defused(payload) == f"'{payload}"
    assert defused_lines([("a", payload, -1)], (0, 1)) == [["a", f"'{payload}", -1]]
    assert defused(-1) == -1
    assert defused("a-b") == "a-b"


async def test_rows_beyond_what_was_planned_are_not_dropped_in_silence(
    database: AnyDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xlsx, "MOST_ROWS", 6)  # the header among them
    job = await job_with(database, [match("a.test", f"{page}") for page in range(6)])
    asked = Order(job, RESULTS, FORMATS["xlsx"]).asked()
    with pytest.raises(GossamerError, match="more than was planned"):
        [_ async for _ in encode_xlsx(RESULTS.lines(database, asked), Draft(RESULTS, asked.columns, expected=5))]
    order = Order(job, PAGES, FORMATS["xlsx"])
    made = b"".join([chunk async for chunk in make_file(database, order, lambda _: None, lines_expected=5)])
    book = CalamineWorkbook.from_filelike(io.BytesIO(made))
    assert [len(book.get_sheet_by_name(name).to_python()) for name in book.sheet_names] == [6, 2]


@pytest.mark.parametrize(("table", "form"), [(RESULTS, "xlsx"), (PROSPECTS, "xlsx"), (PROSPECTS, "csv")])
async def test_one_hears_how_far_it_is_while_matches_are_read(database: AnyDatabase, table: Table, form: str) -> None:
    job = await job_with(database, [match("a.test", "x"), match("b.test", "y"), match("c.test", "z")])
    told: list[int] = []
    made = [chunk async for chunk in make_file(database, Order(job, table, FORMATS[form]), told.append)]
    assert made
    assert len(told) > 1, "also before all is read"
    assert told[0] > 0
    assert told[-1] == 3
