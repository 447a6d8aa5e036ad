"""Erase a page or a domain from all rows of a data folder, with the rest kept consistent.

Counters and keys stay: a page that was read still counts as read, and a resumed job does not request it again. Its URL
is replaced by a placeholder, its records are deleted, and it is skipped if it was waiting.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import UUID

import orjson

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.frontier.notes import links_without, notes_without
from gossamer.intake.domain import BadEntry, clean, read_domain
from gossamer.model.job import CheckpointCause, Job
from gossamer.model.mention import ErasureTarget, mark, of_domain, of_page
from gossamer.model.page import PageRequest
from gossamer.model.record import RecordKind
from gossamer.model.states import OVER, JobState, PageState
from gossamer.model.trouble import Reason
from gossamer.model.url import origin_of, site_of, site_of_url, spellings_of
from gossamer.retention import queries as retention_queries
from gossamer.retention.queries import NamingPage, NamingRecord, NamingSite
from gossamer.retention.service import refuse_at_work
from gossamer.store import counters, events, exports, jobs, rung_stats, sites, visits
from gossamer.store.counters import CounterChange
from gossamer.store.sites import SiteChange
from gossamer.store.visits import VisitChange

_NOT_AGAIN = (PageState.PENDING, PageState.FAILED)


def site_changes(one: NamingSite, mention: ErasureTarget) -> dict[str, Any]:
    """Return the changes that erase a mention from a site; the erased domain's own sites are walked no further.

    A site that a user listed keeps its name, since the list is the user's; a site that was only found loses its
    name.
    """
    changes: dict[str, Any] = {}
    if mention.is_in(one.detail):
        changes["detail"] = ""
    if not one.listed and mention.is_in(one.given):
        changes["given"] = "redirect"
    if mention.covers(one.host):
        changes |= {"whole": False, "robots": {}, "errands": [], "notes": b"", "detail": ""}
        if not one.listed:
            host = f"forgotten-{one.id.hex[-8:]}.invalid"
            changes |= {"host": host, "domain": host, "given": "redirect", "entries": [f"http://{host}/"]}
    elif one.host == mention.host:
        changes["notes"] = notes_without(one.notes, mention.is_in) or one.notes
        changes["errands"] = [errand for errand in one.errands if not mention.is_in(errand[1])]
    return {name: value for name, value in changes.items() if getattr(one, name, None) != value}


def page_without(page: NamingPage, mention: ErasureTarget, *, forgotten: bool = False) -> NamingPage:
    """Return the page without the mention; `forgotten`: the page is the one to be erased."""
    renamed = site_of_url(page.url) != page.host
    origin = f"http://{page.host}" if renamed else origin_of(page.url)
    if forgotten:
        page = replace(page, url=mark(origin, page.key))
        if page.state in _NOT_AGAIN:
            page = replace(page, state=PageState.SKIPPED, reason="", detail="")
    if page.detail and mention.is_in(page.detail):
        # The detail of a duplicate must be a URL.
        page = replace(page, detail=mark(origin, page.key) if page.reason == Reason.SAME_AS.name else "")
    if mention.is_in(page.found_on):
        page = replace(page, found_on="")
    if page.request is not None:
        page = _unasked(page, mention, forgotten=forgotten)
    if page.links:
        links = b"" if renamed or mention.covers(page.host) else links_without(page.links, mention.is_in, f"{origin}/")
        page = replace(page, links=page.links if links is None else links)
    return page


def _unasked(page: NamingPage, mention: ErasureTarget, *, forgotten: bool) -> NamingPage:
    """Return a requested page without carried facts and request data that contain the mention."""
    carried = orjson.dumps(page.carry).decode() if page.carry else ""
    if carried and (forgotten or mention.is_in(carried)):
        page = replace(page, carry=None)
    asked = PageRequest.unpack(page.request or b"")
    sent = " ".join((asked.identity, asked.body.decode("utf-8", "replace"), *(value for _, value in asked.headers)))
    if forgotten or mention.is_in(sent):
        page = replace(page, request=asked._replace(identity="", body=b"", headers=()).pack())
    return page


def record_without(record: NamingRecord, mention: ErasureTarget, kinds: Sequence[RecordKind]) -> NamingRecord | None:
    """Return a record of another page without the mention; None if it has none. Identifying fields stay."""
    fixed = next((kind.key for kind in kinds if kind.name == record.kind), ())
    named = {name for name, value in record.data.items() if isinstance(value, str) and mention.is_in(value)}
    emptied = dict.fromkeys(named.difference(fixed), "")
    return replace(record, data={**record.data, **emptied}) if emptied else None


_T = TypeVar("_T")

_STEP = 2_000  # rows of one read
_AT_ONCE = 500  # pages of one transaction


@dataclass(frozen=True, slots=True)
class JobMentions:
    """A job's data about an erased page or domain: its pages, their records, and other rows that name it."""

    job: Job
    pages: tuple[bytes, ...]
    records: int
    naming_pages: tuple[bytes, ...]
    naming_records: tuple[NamingRecord, ...]
    naming_others: int  # sites, visits, events, alerts, the job itself

    @property
    def mentions(self) -> int:
        return len(self.naming_pages) + len(self.naming_records) + self.naming_others

    def __bool__(self) -> bool:
        return bool(self.pages or self.records or self.mentions)


async def find_mentions(
    database: Database, job: Job, kinds: Sequence[RecordKind], mention: ErasureTarget
) -> JobMentions:
    """Find all mentions without changing anything. Links and notes are only searched on the page's own site.

    `kinds` are those of the job's recipe; records of other kinds are searched too.
    """
    there = await database.read(retention_queries.kinds_of, job.id)
    naming = [one for kind in there for one in await _find_records(database, job.id, kind, mention)]
    # A page may be read at another URL, which its records contain.
    pages = {one.page_key: None for one in naming if mention.is_in(str(one.data.get("url", "")))}
    others = []
    after = b""
    while some := await database.read(retention_queries.pages_naming, job.id, mention.host, after, _STEP):
        after = some[-1].key
        for page in some:
            if page.key in pages or mention.is_of_page(page.url, page.key, page.identity):
                pages[page.key] = None
            elif page_without(page, mention) != page:
                others.append(page.key)
    cleaned = [record_without(one, mention, kinds) for one in naming if one.page_key not in pages]
    return JobMentions(
        job,
        tuple(pages),
        sum(one.page_key in pages for one in naming),
        tuple(others),
        tuple(one for one in cleaned if one),
        await database.read(_other_rows, job.id, mention),
    )


async def _find_records(database: Database, job_id: UUID, kind: str, mention: ErasureTarget) -> list[NamingRecord]:
    found: list[NamingRecord] = []
    while some := await database.read(
        retention_queries.records_naming, job_id, kind, mention.host, found[-1].key if found else b"", _STEP
    ):
        found += some
    return found


def _other_rows(tx: Tx, job_id: UUID, mention: ErasureTarget) -> int:
    said = retention_queries.texts_naming(tx, job_id, mention.host).values()
    found = [one for one in retention_queries.sites_naming(tx, job_id, mention.host) if site_changes(one, mention)]
    return len(found) + sum(mention.is_in(text) for texts in said for text in texts.values())


async def forget_in_job(database: Database, found: JobMentions, mention: ErasureTarget) -> None:
    """Erase the mentions in short transactions. After an interruption, repeat it to erase the rest."""
    job = found.job
    await database.write(_rewrite_sites, job, mention)
    for keys in _batches(found.pages):
        await database.write(_forget_pages, job, mention, keys)
    for keys in _batches(found.naming_pages):
        await database.write(_rewrite_pages, job, mention, keys)
    for records in _batches(found.naming_records):
        await database.write(_rewrite_records, job, records)
    # Without the URL itself, which must not be stored.
    counted = {"page": len(found.pages), "record": found.records, "mention": found.mentions}
    several = (f"{count:,} {thing}{'' if count == 1 else 's'}" for thing, count in counted.items())
    await database.write(_say, job, f"{', '.join(several)} elsewhere")


def _batches(rows: Sequence[_T]) -> Iterator[Sequence[_T]]:
    return (rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE))


async def forget_robots(database: Database, mention: ErasureTarget) -> int:
    """Delete the shared robots.txt answers of a domain; return their number."""
    return await database.write(_drop_robots, mention) if mention.domain else 0


def _stop_if_at_work(tx: Tx, job: Job) -> None:
    """Refuse a job that was resumed since the search."""
    now = jobs.get(tx, job.id)
    if now:
        refuse_at_work(now, "nothing can be forgotten in it")
    retention_queries.let_go(tx, job.id)


def _rewrite_sites(tx: Tx, job: Job, mention: ErasureTarget) -> None:
    """Rewrite the sites first, so that none is walked any further, and then the texts that mention them."""
    named = retention_queries.sites_naming(tx, job.id, mention.host)
    sites.lock(tx, [one.id for one in named])
    _stop_if_at_work(tx, job)
    for one in named:
        changes = site_changes(one, mention)
        if changes:
            retention_queries.rewrite_site(tx, one.id, changes)
        if "host" in changes:
            retention_queries.rename_visits(tx, one.id, changes["host"])
    said = retention_queries.texts_naming(tx, job.id, mention.host)
    retention_queries.take_out_texts(
        tx,
        job.id,
        {table: [key for key, text in texts.items() if mention.is_in(text)] for table, texts in said.items()},
    )


def _forget_pages(tx: Tx, job: Job, mention: ErasureTarget, keys: Sequence[bytes]) -> None:
    """Erase some pages with their records, and update the counters."""
    jobs.hold(tx, job.id)
    pages = _locked(tx, job, keys)
    retention_queries.rewrite_pages(tx, job.id, [page_without(page, mention, forgotten=True) for page in pages])
    retention_queries.drop_tries(tx, job.id, keys)
    change = CounterChange(
        records=-retention_queries.delete_records(tx, job.id, retention_queries.kinds_of(tx, job.id), keys)
    )
    _skip(tx, pages, change)
    counters.take_back(tx, job.id, change)
    counters.take(tx, job.id, CheckpointCause.END if job.state in OVER else CheckpointCause.PAUSE)


def _rewrite_pages(tx: Tx, job: Job, mention: ErasureTarget, keys: Sequence[bytes]) -> None:
    """Remove the mention from other pages."""
    pages = _locked(tx, job, keys)
    retention_queries.rewrite_pages(tx, job.id, [page_without(page, mention) for page in pages])


def _locked(tx: Tx, job: Job, keys: Sequence[bytes]) -> list[NamingPage]:
    """Return these pages after locking their sites and visits in the common order."""
    sites.lock(tx, sorted({page.site_id for page in retention_queries.pages_at(tx, job.id, keys)}))
    _stop_if_at_work(tx, job)
    pages = retention_queries.pages_at(tx, job.id, keys)
    visits.leases(tx, sorted({page.visit_id for page in pages}), held=True)
    return pages


def _skip(tx: Tx, pages: Sequence[NamingPage], change: CounterChange) -> None:
    """Skip the erased pages that were waiting, or had failed and could be retried."""
    waited = [page for page in pages if page.state is PageState.PENDING]
    failed = sum(page.state is PageState.FAILED for page in pages)
    change.pages_open, change.pages_failed = -len(waited), -failed
    change.pages_skipped = len(waited) + failed
    by_site, by_visit = Counter(one.site_id for one in waited), Counter(one.visit_id for one in waited)
    sites.apply(tx, {identifier: SiteChange(open_pages=-number) for identifier, number in by_site.items()})
    visits.apply(tx, {identifier: VisitChange(open_pages=-number) for identifier, number in by_visit.items()})


def _rewrite_records(tx: Tx, job: Job, records: Sequence[NamingRecord]) -> None:
    _stop_if_at_work(tx, job)
    retention_queries.rewrite_records(tx, job.id, records)


def _say(tx: Tx, job: Job, why: str) -> None:
    events.add(tx, job.id, "job.forgot", why, who="user")
    exports.expire_of_job(tx, job.id)  # they were made before the erasure


def _drop_robots(tx: Tx, mention: ErasureTarget) -> int:
    rung_stats.forget(tx, mention.host)
    named = retention_queries.robots_naming(tx, mention.host)
    return retention_queries.drop_robots(tx, [origin for origin in named if mention.covers(site_of_url(f"{origin}/"))])


MAY_HAVE_FOUND = tuple(state for state in JobState if state is not JobState.PENDING)
"""States of jobs that may have data to erase."""


def page_named(url: str) -> ErasureTarget:
    urls = spellings_of(url)
    host = read_domain(clean(url))
    if isinstance(host, BadEntry) or not urls:
        why = f": it {host.why}" if isinstance(host, BadEntry) else ""
        raise UserError(
            "forget.url", f"{url!r} is not a web address{why}.", hint="Give one like https://shop.example/about."
        )
    return of_page(urls)


def domain_named(text: str) -> ErasureTarget:
    domain = read_domain(clean(text))
    if isinstance(domain, BadEntry):
        raise UserError(
            "forget.domain", f"{text!r} is not a domain: it {domain.why}.", hint="Give one like shop.example."
        )
    return of_domain(site_of(domain.host))
