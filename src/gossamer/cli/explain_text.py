"""The parts of an explanation: a sentence for each fact, and all of them as JSON."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gossamer.cli import formatting
from gossamer.history.explain import Explanation, Ruling
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.page import Attempt
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason
from gossamer.recipes.registry import RECIPES
from gossamer.store.history import PageHistory, SiteHistory


def site(one: SiteHistory) -> str:
    """`shop.example: failed: Could not connect; 0 pages read`."""
    size = f" of {one.size:,} known from its {one.size_source}" if one.size and one.size_source else ""
    pages = f"{one.pages_done:,} page{'' if one.pages_done == 1 else 's'} read{size}"
    state = f"{one.state}: " if one.state is not SiteState.PARTIAL else ""  # its sentence says so
    return f"{one.host}: {f'{state}{one.trouble.sentence}' if one.trouble else one.state}; {pages}"


def found(one: Explanation, page: PageHistory) -> str:
    clicks = f"depth {page.depth}"
    if page.handed:
        return f"behind a redirect from {page.found_on}, handed over to this site ({clicks})"
    if one.from_sitemap:
        return f"in the sitemap {page.found_on} ({clicks})"
    if page.found_on:
        return f"on {page.found_on} ({clicks})"
    if one.site and not one.site.listed:
        return f"as the way into a site met by a {one.site.given}"
    return f"listed by you as {one.site.given}" if one.site else "listed by you"


def ruling(one: Ruling) -> str:
    """The decision of robots.txt, its line, and how the file was obtained."""
    asked = f"asked {formatting.local_time(_instant(one.asked_at))}" if one.asked_at is not None else ""
    if one.allowed is None:
        if not asked:
            return f"not known: {one.file} was not asked for"
        return (
            f"not known: {one.file} could not be read ({f'HTTP {one.status}' if one.status else 'no answer'}, {asked})"
        )
    decision = "allowed" if one.allowed else "disallowed"
    if one.line:
        decision += f" by line {one.line.number}: {one.line.text}"
    elif one.status is not None and not 200 <= one.status < 300:
        delay = f"; Crawl-delay {one.delay:g} s" if one.delay else ""
        known = asked or "known from another job"
        return f"{decision}: robots.txt answered HTTP {one.status}, which counts as no rules{delay} ({known})"
    else:
        decision += ", no rule blocks it"
    delay = f"; Crawl-delay {one.delay:g} s" if one.delay else ""
    return f"{decision}{delay} (HTTP {one.status}, {asked or 'known from another job'})"


_NO_WAIT = 10  # milliseconds; shorter waits are not mentioned


def attempt(one: Attempt) -> str:
    """Describe an attempt: its outcome, the duration of its request, and the waiting time before it."""
    status = f"HTTP {one.status}" if one.status else ""
    sentence = _reason(one) if one.reason else ""
    outcome = sentence if sentence.startswith("HTTP ") else ", ".join(part for part in (status, sentence) if part)
    requests = len(one.sent)
    if not requests:
        return f"{outcome or 'no answer'}; the page was not asked for"
    took = formatting.seconds(one.milliseconds - one.waited)
    waited = f" (waited {formatting.seconds(one.waited)} for its turn)" if one.waited >= _NO_WAIT else ""
    if requests == 1:
        return f"{outcome or 'no answer'} {'in' if one.status else 'after'} {took}{waited}"
    hops = f"{requests - 1} redirect{'' if requests == 2 else 's'}"
    return f"{outcome or 'no answer'}; {requests} requests ({hops}) in {took}{waited}"


def verdict(page: PageHistory) -> str:
    if page.state is PageState.DONE:
        return f"done: read, {page.bytes_in:,} bytes"
    return state(page)


def state(page: PageHistory) -> str:
    return f"{page.state}: {page.trouble.sentence}" if page.trouble else str(page.state)


def records(recipe: str, found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The records of a page, a line each, as far as their recipe shows them like that."""
    known = RECIPES.get(recipe)
    if known is None or known.screen is None or known.screen.line is None:
        return []
    key = known.kinds[0].key[-1]
    return [_record(known.screen.line(one)) for one in sorted(found, key=lambda one: str(one.get(key)))]


def _record(line: tuple[str, str, str]) -> str:
    said, text, words = line
    snippet = formatting.excerpt(text, words)
    return said + (f': "{snippet}"' if snippet else "")


def as_json(one: Explanation, job: Job) -> dict[str, Any]:
    page = one.page
    return {
        "given": one.given,
        "url": one.url,
        "job": str(job.id),
        "short_id": short(job.id),
        "site": _site_json(one.site) if one.site else None,
        "robots": _ruling_json(one.ruling) if one.ruling else None,
        "page": _page_json(one, page) if page else None,
        "why_not": [{"name": absence.name, "sentence": absence.sentence} for absence in one.absences],
        "spellings": [_other_json(other) for other in one.spellings],
        "same_as": one.same_as.url if one.same_as else None,
        "also_at": [twin.url for twin in one.twins],
        "handed_on": [_other_json(other) for other in one.handed_on],
        "matches": list(one.records),
    }


def _site_json(one: SiteHistory) -> dict[str, Any]:
    return {
        "host": one.host,
        "given": one.given,
        "listed": one.listed,
        "state": one.state,
        "reason": one.trouble.sentence if one.trouble else "",
        "pages_read": one.pages_done,
        "estimated_size": one.size or None,
        "size_source": one.size_source or None,
    }


def _ruling_json(one: Ruling) -> dict[str, Any]:
    return {
        "file": one.file,
        "status": one.status,
        "asked_at": _stamp(one.asked_at) if one.asked_at is not None else None,
        "allowed": one.allowed,
        "line": one.line.number if one.line else None,
        "rule": one.line.text if one.line else None,
        "crawl_delay": one.delay or None,
    }


def _page_json(one: Explanation, page: PageHistory) -> dict[str, Any]:
    return {
        "state": page.state,
        "reason": page.trouble.sentence if page.trouble else "",
        "reason_name": page.trouble.reason.name if page.trouble else None,
        "http_status": page.http_status,
        "found": found(one, page),
        "found_on": page.found_on or None,
        "from_sitemap": one.from_sitemap,
        "depth": page.depth,
        "rank": page.rank,
        "handed_over": page.handed,
        "bytes_in": page.bytes_in,
        "due_at": formatting.timestamp(page.due_at),
        "settled_at": formatting.timestamp(page.settled_at),
        "attempts": [
            {
                "at": _stamp(tried.asked_at),
                "rung": tried.rung,
                "http_status": tried.status,
                "reason": _reason(tried) if tried.reason else "",
                "reason_name": tried.reason or None,
                "took_ms": tried.milliseconds - tried.waited,
                "waited_ms": tried.waited,
                "requests_at": [_stamp(at) for at in tried.sent],
            }
            for tried in page.attempts
        ],
    }


def _other_json(page: PageHistory) -> dict[str, Any]:
    return {"url": page.url, "state": page.state, "reason": page.trouble.sentence if page.trouble else ""}


def _reason(one: Attempt) -> str:
    """The sentence of a try's reason. Tries keep only the reason's name; the details are stored with the page."""
    sentence = Reason[one.reason].sentence.replace("HTTP {detail}", f"HTTP {one.status}")
    for rest in (" ({detail})", " after {detail}", " {detail}"):
        sentence = sentence.removesuffix(rest)
    return sentence


def _instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _stamp(milliseconds: int) -> str:
    return _instant(milliseconds).strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03d}Z"
