"""Jobs with matches of any kind, for the tables made of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from gossamer.model.job import Job
from gossamer.model.page import Page, Visit
from gossamer.model.record import Record, Value
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.step import Finished, PageStep, Step
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, make_job, settle

Row = dict[str, Any]


def match(domain: str, path: str = "", keyword: str = "CRM", **more: Value) -> Row:
    return {
        "domain": domain,
        "url": f"https://{domain}/{path}",
        "keyword": keyword,
        "frequency": 1,
        "context_snippet": f"about {keyword} and more",
        "crawl_method": "direct",
        "timestamp": "2026-03-04T05:06:07Z",
        "http_status": 200,
        "verdict": "unlinked",
        "link_url": "",
        "anchor_text": "",
        "position": "body",
        "page_date": "",
        "outbound_links": 0,
        "outbound_followed": 0,
        **more,
    }


async def job_with(
    database: AnyDatabase,
    rows: Sequence[Row],
    *,
    empty: Sequence[str] = (),
    failed: Sequence[str] = (),
    failed_pages: Mapping[str, int] | None = None,
    read_besides: Mapping[str, int] | None = None,
) -> Job:
    """A job whose sites have these matches; `empty` ones have none, `failed` ones could not be read at all."""
    by_site: dict[str, list[Row]] = {}
    for row in rows:
        by_site.setdefault(row["domain"], []).append(row)
    hosts = dict.fromkeys([*by_site, *empty, *failed, *(failed_pages or {}), *(read_besides or {})])
    job = await database.write(make_job, *hosts)
    for visit in await database.write(claim_all):
        steps = _read(visit, by_site.get(visit.host, []))
        steps += [
            Step(visit, PageStep(Page.at(f"https://{visit.host}/failed/{number}", 1), PageState.FAILED, _GONE))
            for number in range((failed_pages or {}).get(visit.host, 0))
        ]
        steps += [
            Step(visit, PageStep(Page.at(f"https://{visit.host}/else/{number}", 1), PageState.DONE, http_status=200))
            for number in range((read_besides or {}).get(visit.host, 0))
        ]
        ending = Finished(SiteState.FAILED, Trouble(Reason.DNS)) if visit.host in failed else Finished(SiteState.DONE)
        await settle(database, *steps, Step(visit, ending=ending))
    return job


_GONE = Trouble(Reason.NOT_FOUND)


def _read(visit: Visit, rows: Sequence[Row]) -> list[Step]:
    pages: dict[str, list[Row]] = {}
    for row in rows:
        pages.setdefault(row["url"], []).append(row)
    return [
        Step(
            visit,
            PageStep(
                page := Page.at(url, 1),
                PageState.DONE,
                http_status=200,
                identity=page.key,
                records=tuple(Record("match", (url, row["keyword"]), row) for row in some),
                bytes_in=10,
            ),
        )
        for url, some in pages.items()
    ]
