"""`gossamer job politeness`: the proof as a table, a sentence and an exit code."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from gossamer.cli import tables, words
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import OVER
from gossamer.questions.proofs import politeness
from gossamer.work.manners import DomainManners

BROKEN = 1  # exit code where the proof fails


async def show_politeness(home: Home, text: str, limit: int, *, as_json: bool) -> int:
    found = await home.ask(politeness, text)
    job, asked = found.job, [one for one in found.domains if one.requests]
    code = 0 if all(one.kept for one in found.domains) else BROKEN
    if as_json:
        say_json(_as_json(job, asked, limit))
        return code
    if not asked:
        say("Nothing was asked of any domain" + (" yet." if job.state not in OVER else "."))
        return code
    tables.show(tables.manners(asked[:limit], tables.width()))
    for line in summary(asked, limit):
        say(line)
    return code


def summary(asked: Sequence[DomainManners], limit: int) -> list[str]:
    """The whole job in a sentence, and each broken promise to the domains shown, which come first, in its own."""
    requests = sum(one.requests for one in asked)
    hidden = len(asked) - limit
    more = f" {hidden:,} more domain{_s(hidden)}: --limit." if hidden > 0 else ""
    unanswered = sum(one.unanswered for one in asked)
    silent = f" ({unanswered:,} got no answer: nobody was there, or too slow)" if unanswered else ""
    parts = [f"{requests:,} request{_s(requests)} to {len(asked):,} domain{_s(len(asked))}{silent}"]
    closest = min((one for one in asked if one.gap), key=_smallest, default=None)
    if closest and closest.gap:
        parts.append(f"smallest gap {words.seconds(closest.gap.milliseconds)} ({closest.domain})")
    forbidden = sum(one.forbidden for one in asked)
    parts.append(
        f"{forbidden:,} disallowed address{'' if forbidden == 1 else 'es'} requested"
        if forbidden
        else "no disallowed address was requested"
    )
    return ["; ".join(parts) + "." + more, *_complaints(asked[:limit])]


def for_a_client(asked: Sequence[DomainManners]) -> list[str]:
    """The same for somebody who did not run the job: no domain is named that was treated as all others were."""
    if not asked:
        return ["Nothing was asked of any domain."]
    if not all(one.kept for one in asked):
        return summary(asked, len(asked))[:1]
    requests = sum(one.requests for one in asked)
    closest = min((one.gap.milliseconds for one in asked if one.gap), default=None)
    apart = f", never less than {words.seconds(closest)} apart on one domain" if closest is not None else ""
    return [
        f"{requests:,} request{_s(requests)} to {len(asked):,} domain{_s(len(asked))}{apart}. "
        "No address was requested that a site's robots.txt disallows."
    ]


def _complaints(asked: Sequence[DomainManners]) -> list[str]:
    lines = []
    for one in asked:
        if one.gap and not one.gap.kept:
            gap, due = words.seconds(one.gap.milliseconds), words.seconds(one.gap.due)
            lines.append(f"Too close: {one.domain} was asked {gap} after the request before, {due} were due.")
        lines += [f"Disallowed by robots.txt, and requested: {url}" for url in one.forbidden_urls]
    return lines


def _as_json(job: Job, asked: Sequence[DomainManners], limit: int) -> dict[str, Any]:
    return {
        "job": str(job.id),
        "short_id": short(job.id),
        **totals_json(asked),
        "domains": [_domain_json(one) for one in asked[:limit]],
    }


def totals_json(asked: Sequence[DomainManners]) -> dict[str, Any]:
    """The whole job in numbers."""
    closest = min((one for one in asked if one.gap), key=_smallest, default=None)
    return {
        "kept": all(one.kept for one in asked),
        "requests": sum(one.requests for one in asked),
        "unanswered": sum(one.unanswered for one in asked),
        "domains_asked": len(asked),
        "smallest_gap_ms": closest.gap.milliseconds if closest and closest.gap else None,
        "smallest_gap_domain": closest.domain if closest else None,
        "disallowed_requests": sum(one.forbidden for one in asked),
    }


def _domain_json(one: DomainManners) -> dict[str, Any]:
    return {
        "domain": one.domain,
        "hosts": one.hosts,
        "kept": one.kept,
        "requests": one.requests,
        "page_requests": one.pages,
        "errand_requests": one.errands,
        "unanswered": one.unanswered,
        "smallest_gap_ms": one.gap.milliseconds if one.gap else None,
        "due_ms": one.gap.due if one.gap else None,
        "at": words.stamp(datetime.fromtimestamp(one.gap.at / 1000, UTC)) if one.gap else None,
        "crawl_delay_ms": one.delay or None,
        "robots_statuses": one.files,
        "pages_allowed": one.allowed,
        "pages_refused": one.refused,
        "disallowed_requests": one.forbidden,
        "disallowed_urls": one.forbidden_urls,
        "strained_answers": one.strained,
        "longest_wait_ms": one.longest_wait,
    }


def _smallest(one: DomainManners) -> int:
    return one.gap.milliseconds if one.gap else 0


def _s(count: int) -> str:
    return "" if count == 1 else "s"
