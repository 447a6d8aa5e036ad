"""The files people get: exact, whole, and safe to open in a spreadsheet."""

import asyncio
import csv
import io
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from gossamer.errors import UserError
from gossamer.export.rows import rows_by_site
from gossamer.export.write import defused, encode_csv, encode_json, write_file
from gossamer.recipes.prospect import MATCH
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle


def row(domain: str = "a.test", url: str = "https://a.test/", keyword: str = "CRM", **more: Any) -> dict[str, Any]:
    return {
        "domain": domain,
        "url": url,
        "keyword": keyword,
        "frequency": 3,
        "context_snippet": 'they said "CRM", twice',
        "crawl_method": "direct",
        "timestamp": "2026-01-01T00:00:00Z",
        "http_status": 200,
        "verdict": "linked",
        "link_url": "https://acme.com/",
        "anchor_text": "Acme",
        "position": "body",
        "flags": "",
        "keyword_pages": 2,
        "site_pages": 7,
        **more,
    }


async def _sites(*sites: list[dict[str, Any]]) -> AsyncIterator[list[Any]]:
    for rows in sites:
        yield rows


async def _text(chunks: AsyncIterator[str]) -> str:
    return "".join([chunk async for chunk in chunks])


async def test_csv_is_exactly_the_promised_table() -> None:
    text = await _text(encode_csv(_sites([row()]), MATCH))
    assert text == (
        "domain,url,keyword,frequency,context_snippet,crawl_method,timestamp,http_status,"
        "verdict,link_url,anchor_text,position,flags,keyword_pages,site_pages\r\n"
        'a.test,https://a.test/,CRM,3,"they said ""CRM"", twice",direct,2026-01-01T00:00:00Z,200,'
        "linked,https://acme.com/,Acme,body,,2,7\r\n"
    )


async def test_json_is_keyed_by_domain_and_keyword() -> None:
    sites = _sites(
        [row(), row(url="https://a.test/x"), row(keyword="ERP")],
        [row(domain="b.test", url="https://b.test/")],
    )
    page = {
        "url": "https://a.test/",
        "frequency": 3,
        "context": 'they said "CRM", twice',
        "crawl_method": "direct",
        "timestamp": "2026-01-01T00:00:00Z",
        "http_status": 200,
        "verdict": "linked",
        "link_url": "https://acme.com/",
        "anchor_text": "Acme",
        "position": "body",
        "flags": "",
        "keyword_pages": 2,
        "site_pages": 7,
    }
    assert orjson.loads(await _text(encode_json(sites, MATCH))) == {
        "results": {
            "a.test": {"CRM": [page, {**page, "url": "https://a.test/x"}], "ERP": [page]},
            "b.test": {"CRM": [{**page, "url": "https://b.test/"}]},
        }
    }


async def test_an_empty_result_is_still_a_table() -> None:
    assert orjson.loads(await _text(encode_json(_sites(), MATCH))) == {"results": {}}
    assert (await _text(encode_csv(_sites(), MATCH))).count("\r\n") == 1


@pytest.mark.parametrize("payload", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x")'])
async def test_text_that_a_spreadsheet_would_run_is_defused(payload: str) -> None:
    text = await _text(encode_csv(_sites([row(context_snippet=payload)]), MATCH))
    (cell,) = [line["context_snippet"] for line in csv.DictReader(io.StringIO(text, newline=""))]
    assert cell == f"'{payload}"
    text = await _text(encode_csv(_sites([row(anchor_text=payload)]), MATCH))
    (cell,) = [line["anchor_text"] for line in csv.DictReader(io.StringIO(text, newline=""))]
    assert cell == f"'{payload}"
    assert defused(-1) == -1


async def test_rows_come_by_domain_address_and_keyword(database: AnyDatabase) -> None:
    job = await database.write(make_job, "b.test", "a.test", "empty.test")
    for visit in await database.write(claim_all):
        if visit.host != "empty.test":
            steps = [done(visit, f"http://{visit.host}/{path}", "ERP", "CRM", depth=1) for path in ("y", "x")]
            await settle(database, *steps)
    found = [(one["url"], one["keyword"]) async for rows in rows_by_site(database, job.id, MATCH) for one in rows]
    assert found == [
        (f"http://{host}/{path}", keyword)
        for host in ("a.test", "b.test")
        for path in "xy"
        for keyword in ("CRM", "ERP")
    ]


async def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[str]:
        yield "half"
        raise RuntimeError("lost the database")

    with pytest.raises(RuntimeError):
        await write_file(tmp_path / "out.csv", broken())
    assert list(tmp_path.iterdir()) == []


async def test_a_link_is_followed_and_a_file_keeps_its_mode(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.touch(0o600)
    link.symlink_to(target)
    size = await write_file(link, encode_csv(_sites([row()]), MATCH))
    assert link.is_symlink()
    assert (target.stat().st_size, target.stat().st_mode & 0o777) == (size, 0o600)


async def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = asyncio.create_task(asyncio.to_thread(pipe.read_bytes))
    size = await asyncio.to_thread(asyncio.run, write_file(pipe, encode_csv(_sites([row()]), MATCH)))
    assert len(await reading) == size
    assert pipe.is_fifo()


async def test_a_name_that_is_too_long_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Cannot write"):
        await write_file(tmp_path / ("x" * 300), encode_csv(_sites(), MATCH))


async def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no-such-folder") as refused:
        await write_file(tmp_path / "no-such-folder" / "out.csv", encode_csv(_sites(), MATCH))
    assert refused.value.code == "export.unwritable"
