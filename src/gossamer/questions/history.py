"""History of single pages and sites of a job."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated
from uuid import UUID

from pydantic import Field

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.history.explain import Explanation, explain
from gossamer.intake.domain import BadEntry, clean, read_domain
from gossamer.intake.submit import LAST
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import PageState
from gossamer.model.url import site_of, site_of_url, spellings_of, url_key
from gossamer.questions.view import Few, Many, Text, View, policy_of, recipe_of, refuse_gone
from gossamer.store import events, jobs, sites
from gossamer.store import history as rows
from gossamer.store.events import Line
from gossamer.store.history import PageHistory, SiteHistory

_NAMES = frozenset(
    {"user", "submit", "queue", "retention", "runner", "worker"}
)  # process names that do not identify a machine
Key = Annotated[str, Field(pattern="^([0-9a-f]{2}){0,32}$")]  # of a page, in hexadecimal digits


@dataclass(frozen=True, slots=True)
class Pages:
    """Some pages of a job; `host` is the domain that was asked about."""

    job: Job
    host: str
    pages: tuple[PageHistory, ...]


@dataclass(frozen=True, slots=True)
class Events:
    """Events, oldest first; `cut`: the limit left out some events of domains and visits."""

    lines: tuple[Line, ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class Explained:
    job: Job
    explanation: Explanation


async def pages(view: View, job: Text, state: PageState | None, site: Text, after: Key, limit: Few) -> Pages:
    """Return pages after a position in the job, ordered by key, so that pages of a domain are adjacent."""
    found, database = await view.job(job)
    await refuse_gone(view, database, found)
    known = await _site_history(database, found, site) if site else None
    some = await database.read(rows.pages_by_key, found.id, bytes.fromhex(after), limit, state=state, site=known)
    return Pages(found, known.host if known else "", tuple(some))


async def _site_history(database: Database, job: Job, text: str) -> SiteHistory:
    domain = read_domain(clean(text))
    host = text if isinstance(domain, BadEntry) else site_of(domain.host)
    known = await database.read(rows.site, job.id, host)
    if known is None:
        raise UserError(
            "pages.site",
            f"{text!r} is not a domain of this job.",
            hint=f"See 'gossamer job sites {short(job.id)}' for the ones it has.",
        )
    return known


async def history(view: View, job: Text, host: Text, limit: Many) -> Events:
    """Return the job's own events and the latest of its domains; with `host`, the events of one domain."""
    found, database = await view.job(job)
    if host:
        lines = await _back(database, found.id, await _site(database, found, host), limit)
        return Events(_shown(view, reversed(lines)), len(lines) == limit)
    others = await database.read(events.latest, found.id, limit)
    lines = sorted([*others, *await _back(database, found.id, None)], key=lambda line: line.id)
    return Events(_shown(view, lines), len(others) == limit)


def _shown(view: View, lines: Iterable[Line]) -> tuple[Line, ...]:
    if not view.is_guest:
        return tuple(lines)
    return tuple(
        line if line.event.who in _NAMES else replace(line, event=replace(line.event, who="")) for line in lines
    )


async def _back(database: Database, job_id: UUID, site_id: UUID | None, limit: int | None = None) -> list[Line]:
    """Newest first, a range of keys at a time: a job may have hundreds of thousands of events."""
    found: list[Line] = []
    before: UUID | None = None
    while True:
        some, before = await database.read(events.step_back, job_id, site_id, before)
        found += some
        if before is None or (limit and len(found) >= limit):
            return found[:limit]


async def _site(database: Database, job: Job, text: str) -> UUID:
    host = read_domain(clean(text))
    known = {} if isinstance(host, BadEntry) else await database.read(sites.by_host, job.id, [site_of(host.host)])
    for site_id in known.values():
        return site_id
    raise UserError(
        "history.site",
        f"{text!r} is not a domain of job {short(job.id)}.",
        hint=f"See 'gossamer job sites {short(job.id)}' for the ones there are.",
    )


_MOST_JOBS = 200  # jobs that are searched for an address


def _knowing(tx: Tx, owner: str | None, urls: Sequence[str]) -> str:
    """Return the newest job with one of these addresses as a page, else with their site, else the newest job."""
    newest = jobs.recent(tx, _MOST_JOBS, account=owner)
    newest += jobs.recent(tx, _MOST_JOBS, jobs.JobFilter(of_pages=True), owner)
    ids = sorted({job.id for job in newest}, reverse=True)
    keys = [url_key(url) for url in urls]
    paged = (one for one in ids if rows.pages_at(tx, one, keys))
    sited = (one for one in ids if rows.site(tx, one, site_of_url(urls[0])))
    return str(next(paged, None) or next(sited, None) or LAST)


async def explained(view: View, url: Text, job: Text) -> Explained:
    """Return the whole history of one address in a job; by default, the newest job with the address."""
    urls = spellings_of(url)
    host = read_domain(clean(url))
    if isinstance(host, BadEntry) or not urls:
        why = f": it {host.why}" if isinstance(host, BadEntry) else ""
        raise UserError(
            "explain.url",
            f"{url!r} is not a web address{why}.",
            hint="Give one such as https://shop.example/about or shop.example/about.",
        )
    found, database = await view.job(job or await view.of_owner(partial(_knowing, urls=urls)))
    await refuse_gone(view, database, found)
    kinds = [kind.name for kind in recipe_of(view.recipes, found).kinds]
    return Explained(found, await explain(database, found, policy_of(view.recipes, found), kinds, url, urls))
