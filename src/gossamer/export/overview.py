"""A job at a glance: what was searched and what came of it. The workbook, the report and the terminal all tell this."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from operator import itemgetter
from uuid import UUID

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.export import results
from gossamer.export.bill import Bill, read_bill
from gossamer.export.evidence import EVIDENCE
from gossamer.export.prospects import Ranked, Ranking
from gossamer.model.job import Job, Progress
from gossamer.model.states import OVER, PageState, SiteState
from gossamer.model.trouble import Reason
from gossamer.model.url import is_covered
from gossamer.recipes.base import Asked, Line
from gossamer.store import counters, result_rows, sites

VERDICTS = ("unlinked", "links-elsewhere", "nofollow", "linked", "own-site")

MOST_FAILED = 100  # domains that are named

# Pages read of a domain: up to so many.
SIZES = (0, 1, 10, 50, 500)

# Everything of a match that any part of a report needs, its own columns first.
MATCHES = results.RESULTS.columns
_WIDE = MATCHES + tuple(column for column in EVIDENCE if column not in MATCHES)
_EVIDENCE_OF: Callable[[Line], Line] = itemgetter(*(_WIDE.index(column) for column in EVIDENCE))
_NAMES = [column.name for column in _WIDE]
_DOMAIN, _KEYWORD, _VERDICT = map(_NAMES.index, ("domain", "keyword", "verdict"))

Also = Callable[[list[Line]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Overview:
    """A job as of one moment."""

    job: Job
    at: datetime
    progress: Progress
    matches: int  # those that were looked at: a job at work has more by now
    domains: int  # with matches
    verdicts: tuple[tuple[str, int], ...]  # matches by verdict, the most promising first; none without a client
    keywords: tuple[tuple[str, int], ...]  # matches by keyword, most first; also those without
    reasons: tuple[tuple[Reason, int], ...]  # why domains failed, most frequent first
    sizes: tuple[tuple[str, int], ...]  # domains by pages read
    excluded: int  # domains left out on request
    ranking: Ranked
    since: Job | None = None
    bill: Bill | None = None  # None: nothing is to be said of costs
    failed: tuple[tuple[str, Reason | None], ...] = ()  # domains, in alphabetical order, the first of them

    @property
    def is_partial(self) -> bool:
        return self.job.state not in OVER

    @property
    def clients(self) -> list[str]:
        return list(self.job.params.get("client_domains") or [])

    def named_client(self, name: str) -> str:
        """The client by name with their domains, as far as there is either."""
        domains = ", ".join(self.clients)
        return f"{name} ({domains})" if name and domains else name or domains

    @property
    def wanted_keywords(self) -> list[str]:
        return list(self.job.params.get("keywords") or [])


async def survey(
    database: Database, asked: Asked, also: Also | None = None, ranking: Ranking | None = None
) -> Overview:
    """All matches are read once, and ranked and counted on the way; `also` gets them too, with the columns `MATCHES`.

    Who wants all ranked domains, and not only the first, gives the `ranking` that they are taken into.

    `asked.only` is about the ranking: the others are all.
    So whatever is made of the same survey agrees with itself, though the job may be at work.
    """
    ranking = ranking or Ranking(database, asked.job, asked.since, asked.only)
    verdicts: Counter[str] = Counter()
    keywords: Counter[str] = Counter(dict.fromkeys(asked.job.params.get("keywords") or [], 0))
    matches = 0
    async for some in results.lines(database, replace(asked, columns=_WIDE, only="", order=())):
        matches += len(some)
        verdicts.update(str(line[_VERDICT]) for line in some)
        keywords.update(str(line[_KEYWORD]) for line in some)
        await ranking.take([_EVIDENCE_OF(line) for line in some])
        if also:
            await also([line[: len(MATCHES)] for line in some])
        if asked.told:
            asked.told(ranking.domains_met)
    await ranking.close()
    now, progress, reasons, sizes, excluded, bill, failed = await database.read(_besides, asked)
    return Overview(
        job=asked.job,
        at=now,
        progress=progress,
        matches=matches,
        domains=ranking.domains_met,
        verdicts=tuple((name, verdicts[name]) for name in VERDICTS if verdicts[name]),
        keywords=tuple(sorted(keywords.items(), key=lambda one: (-one[1], one[0]))),
        reasons=tuple(reasons),
        sizes=sizes,
        excluded=excluded,
        ranking=ranking.first(),
        since=asked.since,
        bill=bill,
        failed=failed,
    )


Failed = tuple[tuple[str, Reason | None], ...]
Besides = tuple[datetime, Progress, list[tuple[Reason, int]], tuple[tuple[str, int], ...], int, Bill | None, Failed]


def _besides(tx: Tx, asked: Asked) -> Besides:
    places = result_rows.site_places(tx, asked.job.id)
    progress, reasons = counters.progress(tx, asked.job.id), sites.failure_reasons(tx, asked.job.id)
    left_out = [place for place in places if is_covered(place.host, asked.excluded)]
    if left_out:
        hosts = {place.host for place in left_out}
        progress, reasons = _without(tx, asked.job.id, progress, hosts)
        places = [place for place in places if place.host not in hosts]
    bill = read_bill(tx, asked.job, asked.prices, progress, left_out) if asked.prices else None
    failed = sites.failed_hosts(tx, asked.job.id, MOST_FAILED + len(left_out))
    named = [(host, why) for host, why in failed if not is_covered(host, asked.excluded)]
    sizes = by_size([place.pages_read for place in places])
    return tx.now, progress, reasons, sizes, len(left_out), bill, tuple(named[:MOST_FAILED])


def _without(tx: Tx, job_id: UUID, whole: Progress, hosts: set[str]) -> tuple[Progress, list[tuple[Reason, int]]]:
    """A job as if it had never had these sites: no number tells of what is not in the sheets."""
    ends = sites.endings(tx, job_id)
    gone = Counter(state for host, state, _ in ends if host in hosts)
    pages, size = result_rows.pages_of(tx, job_id, sorted(hosts))
    seen = replace(
        whole,
        sites_total=whole.sites_total - gone.total(),
        sites_done=whole.sites_done - gone[SiteState.DONE],
        sites_failed=whole.sites_failed - gone[SiteState.FAILED],
        sites_partial=whole.sites_partial - gone[SiteState.PARTIAL],
        pages_done=whole.pages_done - pages[PageState.DONE],
        pages_failed=whole.pages_failed - pages[PageState.FAILED],
        pages_skipped=whole.pages_skipped - pages[PageState.SKIPPED],
        bytes_in=max(0, whole.bytes_in - size),
    )
    failed = ((host, why) for host, state, why in ends if state is SiteState.FAILED)
    reasons = Counter(why for host, why in failed if why and host not in hosts)
    return seen, sorted(reasons.items(), key=lambda one: (-one[1], one[0].name))


def by_size(pages_read: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """How many domains have how many pages read; ranges above the largest are left out."""
    names = ["none", "1", *(f"{low + 1}-{high}" for low, high in pairwise(SIZES[1:]))]
    counted = Counter(next((at for at, most in enumerate(SIZES) if pages <= most), len(SIZES)) for pages in pages_read)
    found = [(name, counted[at]) for at, name in enumerate([*names, f"over {SIZES[-1]}"])]
    while found and not found[-1][1]:
        found.pop()
    return tuple(found)
