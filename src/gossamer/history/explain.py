"""Explain the history of one URL in one job, from rows alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.frontier.candidates import MOST_OF_A_CALENDAR, UrlScope, calendar_shape, is_endless
from gossamer.frontier.notes import Candidate, Notes
from gossamer.frontier.robots import RuleLine, deciding_line, read_rules
from gossamer.model.job import CrawlPolicy, Job
from gossamer.model.mention import is_mark
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason
from gossamer.model.url import domain_of, is_binary, origin_of, path_of, site_of_url, url_key
from gossamer.store import history, sites
from gossamer.store.events import forgot_at
from gossamer.store.history import PageHistory, SiteHistory


class Absence(NamedTuple):
    """One reason why a URL is not a page of the job: a name for scripts, a sentence for people."""

    name: str
    sentence: str


class Walked(NamedTuple):
    """State and completeness of a site's crawl."""

    state: SiteState
    reason: str  # reason of its outcome, as a sentence
    whole: bool  # False: only pages that redirects led to
    notes: Notes


def why_absent(url: str, walked: Walked, policy: CrawlPolicy) -> list[Absence]:
    """Return the reasons against the URL, most certain first; never empty."""
    found = [*_unwanted(path_of(url), policy, walked.notes), *_not_chosen(url, walked, policy)]
    return found or [_never_met(walked, policy)]


def _unwanted(tail: str, policy: CrawlPolicy, notes: Notes) -> Iterator[Absence]:
    """Yield reasons that exclude a URL wherever it is found."""
    if is_binary(tail):
        ending = tail.partition("?")[0].rpartition(".")[2]
        yield Absence("binary", f"It ends in .{ending}: such files are not pages, and are not asked for.")
    if not UrlScope(policy.include, ()).wants(tail):
        yield Absence("not-included", f"It matches none of the --include patterns ({', '.join(policy.include)}).")
    for pattern in policy.exclude:
        if not UrlScope((), (pattern,)).wants(tail):
            yield Absence("excluded", f"It matches --exclude {pattern}.")
    shape = calendar_shape(tail)
    if is_endless(tail):
        yield Absence("endless", "Its parts repeat without end: such addresses are made by machines and not followed.")
    elif shape and notes.calendars.get(shape, 0) >= MOST_OF_A_CALENDAR:
        yield Absence("calendar", f"It is a date of a calendar, of which only {MOST_OF_A_CALENDAR} are read.")


def _not_chosen(url: str, walked: Walked, policy: CrawlPolicy) -> Iterator[Absence]:
    """Yield the outcome of a URL that the crawl found."""
    one = walked.notes.candidates.get(url)
    if one is None:
        return
    if one.depth > policy.depth:
        clicks = f"{one.depth} click{'' if one.depth == 1 else 's'} from the homepage, more than --depth {policy.depth}"
        yield Absence("too-deep", f"It was found on {one.found_on}, {clicks}.")
    elif walked.state is SiteState.OPEN:
        yield Absence("waiting", f"It was found on {one.found_on} and not chosen yet: the site is still being read.")
    else:
        yield Absence("not-chosen", f"It was found on {one.found_on} ({_weight(one)}), {_limit(walked.notes, policy)}.")


def _weight(one: Candidate) -> str:
    links = f"{one.in_links:,} page{' links' if one.in_links == 1 else 's link'} to it"
    return f"{links}, sitemap priority {one.priority:g}" if one.priority else links


def _limit(notes: Notes, policy: CrawlPolicy) -> str:
    if notes.large:
        limits = f"--max-pages-per-domain {policy.pages_per_site}, --top-pages {policy.top_pages}"
        return f"but of a large site only the best pages are read ({limits})"
    return f"but the {policy.pages_per_site:,} pages of --max-pages-per-domain were full"


def _never_met(walked: Walked, policy: CrawlPolicy) -> Absence:
    if policy.as_given:
        return Absence("not-listed", "Only pages that were listed one by one are read, and it is none of them.")
    if walked.state is SiteState.FAILED:
        return Absence("site-failed", f"Nothing of the site could be read: {walked.reason or 'unknown'}.")
    if not walked.whole:
        return Absence(
            "not-whole", "Only pages that a redirect leads to are read of this site: it is not on your list."
        )
    if walked.notes.crowded:
        return Absence("crowded", "The site has more addresses than are remembered; it may have been one of them.")
    if walked.state is SiteState.OPEN:
        return Absence("not-met-yet", "Nothing that was read so far leads to it; the site is still being read.")
    return Absence("not-linked", "No page or sitemap that was read leads to it by a link that may be followed.")


FORGOTTEN = "forgotten"  # the absence of an erased URL

_SOME = 50  # pages of a site that are checked
_MOST_TWINS = 20  # listed URLs of one page

# Of several spellings of a URL, the page with the first of these states is shown.
_TELLING = (PageState.DONE, PageState.FAILED, PageState.PENDING, PageState.CLIMBING, PageState.SKIPPED)


@dataclass(frozen=True, slots=True)
class Ruling:
    """Decision of robots.txt on a URL. `allowed` is None while the file is unknown."""

    file: str
    status: int | None = None
    asked_at: int | None = None  # milliseconds since 1970; None: the answer was shared by another job within a day
    allowed: bool | None = None
    line: RuleLine | None = None
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything the rows have about a URL."""

    given: str
    url: str  # normalised
    site: SiteHistory | None = None
    ruling: Ruling | None = None
    page: PageHistory | None = None
    from_sitemap: bool = False
    spellings: tuple[PageHistory, ...] = ()  # pages with nearly the same URL
    same_as: PageHistory | None = None  # the page that was read instead
    twins: tuple[PageHistory, ...] = ()  # other URLs of this page
    handed_on: tuple[PageHistory, ...] = ()
    records: tuple[Mapping[str, Any], ...] = ()
    absences: tuple[Absence, ...] = ()


async def explain(
    database: Database, job: Job, policy: CrawlPolicy, kinds: Sequence[str], given: str, urls: Sequence[str]
) -> Explanation:
    """Return the history of the first of `urls` that is a page of the job, or the reasons why none is."""
    return await database.read(_explain, job, policy, kinds, given, urls)


def _explain(
    tx: Tx, job: Job, policy: CrawlPolicy, kinds: Sequence[str], given: str, urls: Sequence[str]
) -> Explanation:
    nearly = [other for url in urls if (other := _with_other_slash(url)) not in urls]
    found = history.pages_at(tx, job.id, [url_key(url) for url in (*urls, *nearly)])
    known = [page for page in found if not is_mark(page.url)]
    exact = [page for page in known if page.url in urls]
    page = min(exact, key=lambda page: _rank(page, urls, given), default=None)
    url = page.url if page else urls[0]
    spellings = tuple(one for one in known if one is not page)
    site = history.site(tx, job.id, site_of_url(url))
    behind = None if page else _read_behind(tx, job, urls)
    others = [*found, *([behind[1]] if behind else [])]
    if page is None and _is_forgotten(tx, job, urls, others, site, pages_listed=policy.as_given):
        return Explanation(given, url, site, spellings=spellings, absences=(_forgotten(tx, job),))
    if site is None:
        return Explanation(given, url, absences=(_no_such_site(tx, job, url),))
    notes = Notes.unpack(site.notes)
    if page is None:
        url = next((one for one in urls if one in notes.candidates), _in_use(urls, site))
        trouble = site.trouble.sentence if site.trouble else ""
        return Explanation(
            given,
            behind[0] if behind else url,
            site,
            _ruling(site, url),
            spellings=spellings,
            same_as=behind[1] if behind else None,
            records=tuple(history.records_of(tx, job.id, kinds, behind[1].key)) if behind else (),
            absences=()
            if behind
            else _absences(site, urls, url, Walked(site.state, trouble, site.whole, notes), policy),
        )
    return Explanation(
        given,
        url,
        site,
        _ruling(site, url),
        page,
        from_sitemap=page.found_on in notes.sitemaps.tried,
        spellings=spellings,
        same_as=_same_as(tx, job, page),
        twins=_twins(tx, job, page),
        handed_on=_handed_on(tx, job, page),
        records=tuple(history.records_of(tx, job.id, kinds, page.key)),
    )


def _absences(
    site: SiteHistory, urls: Sequence[str], url: str, walked: Walked, policy: CrawlPolicy
) -> tuple[Absence, ...]:
    errand = next((errand for errand in site.errands if errand.url in urls), None)
    if errand:
        answer = f"HTTP {errand.status}" if errand.status else "no answer"
        return (Absence("errand", f"It was asked for ({answer}), but not as a page: it says how to read the site."),)
    return tuple(why_absent(url, walked, policy))


def _rank(page: PageHistory, urls: Sequence[str], given: str) -> tuple[int, int]:
    """Sort key of a page's spellings: a full URL as the user typed it, else the one with the most information."""
    typed = "://" in given and page.url == urls[0]
    return -1 if typed else _TELLING.index(page.state), urls.index(page.url)


def _read_behind(tx: Tx, job: Job, urls: Sequence[str]) -> tuple[str, PageHistory] | None:
    """Return the page that has one of these URLs as its identity, by redirect or canonical URL, and that URL."""
    for url in urls:
        page = history.page_with_identity(tx, job.id, url_key(url))
        if page:
            return url, page
    return None


def _is_forgotten(
    tx: Tx, job: Job, urls: Sequence[str], found: Sequence[PageHistory], site: SiteHistory | None, *, pages_listed: bool
) -> bool:
    """Return True if one of the spellings was a page that is erased now, or if its whole site is."""
    keys = [url_key(url) for url in urls]
    if any(is_mark(page.url) and (page.key in keys or page.identity in keys) for page in found):
        return True
    if site and pages_listed:
        # Such a site always has pages, erased or not.
        some = history.pages_by_key(tx, job.id, b"", _SOME, site=site)
        return bool(some) and all(is_mark(page.url) for page in some)
    if site:
        # A listed site is crawled whole until it is erased.
        return site.listed and not site.whole
    # A site that was only found has lost its name, but the keys of its pages are still made from it.
    first = history.pages_by_key(tx, job.id, keys[0][:4], 1)
    return any(page.key.startswith(keys[0][:4]) and is_mark(page.url) for page in first)


def _forgotten(tx: Tx, job: Job) -> Absence:
    times = [f"{at.astimezone():%Y-%m-%d %H:%M:%S}" for at in forgot_at(tx, job.id)]
    # Which erasure it was is not stored, since that would identify the URL.
    when = f", between {times[0]} and {times[-1]}" if len(times) > 1 else "".join(f" on {at}" for at in times)
    return Absence(FORGOTTEN, f"What this job knew of it was taken out with 'gossamer job forget'{when}.")


def _with_other_slash(url: str) -> str:
    path, mark, query = url.partition("?")
    return (path.removesuffix("/") if path.endswith("/") else f"{path}/") + mark + query


def _in_use(urls: Sequence[str], site: SiteHistory) -> str:
    """Return the spelling with the scheme and host by which the site was read, if there is one."""
    return next((url for url in urls if origin_of(url) in site.robots), urls[0])


def _no_such_site(tx: Tx, job: Job, url: str) -> Absence:
    host = site_of_url(url)
    domain = domain_of(host)
    if domain != host and sites.by_host(tx, job.id, [domain]):
        return Absence(
            "other-host", f"{host} is not a site of this job. {domain} is, but other names below it are other sites."
        )
    return Absence(
        "other-host",
        f"{host} is not a site of this job: not on its list or left out by --exclude-domains, and nothing led there.",
    )


def _ruling(site: SiteHistory, url: str) -> Ruling:
    file = f"{origin_of(url)}/robots.txt"
    asked = [errand for errand in site.errands if errand.url == file]
    asked_at = asked[0].at if asked else None
    kept = site.robots.get(origin_of(url))
    if kept is None:
        return Ruling(file, asked[-1].status or None if asked else None, asked_at)
    status, body = kept["status"], kept["body"]
    rules = read_rules(status, body)
    line = deciding_line(body, url) if rules.parsed is not None else None
    return Ruling(file, status, asked_at, rules.allow(url), line, rules.delay)


def _same_as(tx: Tx, job: Job, page: PageHistory) -> PageHistory | None:
    """Return the page that was read instead of a duplicate."""
    if page.trouble is None or page.trouble.reason is not Reason.SAME_AS:
        return None
    key = url_key(page.trouble.detail)
    # If the detail is only a redirect target, the page is found by its canonical URL.
    return history.page_with_identity(tx, job.id, key) or next(iter(history.pages_at(tx, job.id, [key])), None)


def _twins(tx: Tx, job: Job, page: PageHistory) -> tuple[PageHistory, ...]:
    if page.identity is None:
        return ()
    same = [
        other
        for other in history.pages_same_as(tx, job.id, page.key)
        if other.trouble and url_key(other.trouble.detail) == page.identity
    ]
    return tuple(same[:_MOST_TWINS])


def _handed_on(tx: Tx, job: Job, page: PageHistory) -> tuple[PageHistory, ...]:
    if page.trouble is None or page.trouble.reason is not Reason.MOVED:
        return ()
    host = page.trouble.detail
    return tuple(history.pages_handed_on(tx, job.id, page.url, url_key(f"http://{host}/")))
