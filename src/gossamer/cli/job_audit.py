"""`gossamer job audit` and `job politeness`: check a job's rows, print the result, exit with 1 on violations."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rich.table import Table

from gossamer.cli import formatting, tables
from gossamer.cli.home import Home
from gossamer.cli.runtime import say, say_json
from gossamer.cli.tables import GAP, fit, table
from gossamer.crawl.audit import AuditReport, Check
from gossamer.history.politeness import DomainManners
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import OVER
from gossamer.questions.proofs import audited, politeness

NOT_CLEAN = 1  # exit code
_SUMS = ("pages", "domains")  # checks in which the first figure is the sum of the others


async def show_audit(home: Home, text: str, *, as_json: bool) -> int:
    found = await home.ask(audited, text)
    report = found.report
    if as_json:
        say_json(audit_json(report))
    else:
        for line in audit_lines(report, formatting.shown_state(found.job, found.runner)):
            say(line)
    return 0 if report.clean else NOT_CLEAN


def audit_lines(report: AuditReport, state: str = "") -> list[str]:
    """A line for each check and each fault, and the verdict; `state` is the state shown in lists."""
    lines = [line for check in report.checks for line in _check_lines(check)]
    failed = sum(bool(check.faults) for check in report.checks)
    if not failed:
        return [
            *lines,
            f"Clean: job {short(report.job_id)} ({state or report.state}) adds up, nothing is missing or double.",
        ]
    return [*lines, f"Not clean: {failed} of {len(report.checks)} checks of job {short(report.job_id)} failed."]


def _check_lines(check: Check) -> list[str]:
    figures = [_figure(figure, name) for name, figure in check.figures.items()]
    counted = f"{figures[0]} = {' + '.join(figures[1:])}" if check.name in _SUMS else ", ".join(figures)
    return [
        f"{'WRONG' if check.faults else 'ok':5}  {check.name:10}  {counted or 'none yet'}",
        *(f"       {fault}" for fault in check.faults),
    ]


def _figure(figure: int, name: str) -> str:
    """`2 pages done`, `1 page done`: the first word of the name is the thing counted."""
    thing, _, rest = name.replace("_", " ").partition(" ")
    return f"{figure:,} {thing.removesuffix('s') if figure == 1 else thing} {rest}".rstrip()


def audit_json(report: AuditReport) -> dict[str, Any]:
    return {
        "job": str(report.job_id),
        "short_id": short(report.job_id),
        "state": str(report.state),
        "clean": report.clean,
        "checks": [
            {"name": check.name, "clean": not check.faults, "figures": dict(check.figures), "faults": check.faults}
            for check in report.checks
        ],
    }


BROKEN = 1  # exit code on a violation


async def show_politeness(home: Home, text: str, limit: int, *, as_json: bool) -> int:
    found = await home.ask(politeness, text)
    job, asked = found.job, [one for one in found.domains if one.requests]
    code = 0 if all(one.kept for one in found.domains) else BROKEN
    if as_json:
        say_json(_politeness_json(job, asked, limit))
        return code
    if not asked:
        say("Nothing was asked of any domain" + (" yet." if job.state not in OVER else "."))
        return code
    tables.show(manners_table(asked[:limit], tables.width()))
    for line in politeness_summary(asked, limit):
        say(line)
    return code


def politeness_summary(asked: Sequence[DomainManners], limit: int) -> list[str]:
    """The whole job in one sentence, then a sentence for each violation of the domains shown."""
    requests = sum(one.requests for one in asked)
    hidden = len(asked) - limit
    more = f" {hidden:,} more domain{_s(hidden)}: --limit." if hidden > 0 else ""
    unanswered = sum(one.unanswered for one in asked)
    silent = f" ({unanswered:,} got no response)" if unanswered else ""
    parts = [f"{requests:,} request{_s(requests)} to {len(asked):,} domain{_s(len(asked))}{silent}"]
    closest = min((one for one in asked if one.gap), key=_smallest, default=None)
    if closest and closest.gap:
        parts.append(f"smallest gap {formatting.seconds(closest.gap.milliseconds)} ({closest.domain})")
    forbidden = sum(one.forbidden for one in asked)
    parts.append(
        f"{forbidden:,} disallowed address{'' if forbidden == 1 else 'es'} requested"
        if forbidden
        else "no disallowed address was requested"
    )
    return ["; ".join(parts) + "." + more, *_complaints(asked[:limit])]


def client_summary(asked: Sequence[DomainManners]) -> list[str]:
    """The summary for a client's report: names no domain unless rules were broken."""
    if not asked:
        return ["Nothing was asked of any domain."]
    if not all(one.kept for one in asked):
        return politeness_summary(asked, len(asked))[:1]
    requests = sum(one.requests for one in asked)
    closest = min((one.gap.milliseconds for one in asked if one.gap), default=None)
    apart = f", never less than {formatting.seconds(closest)} apart on one domain" if closest is not None else ""
    return [
        f"{requests:,} request{_s(requests)} to {len(asked):,} domain{_s(len(asked))}{apart}. "
        "No address was requested that a site's robots.txt disallows."
    ]


def _complaints(asked: Sequence[DomainManners]) -> list[str]:
    lines = []
    for one in asked:
        if one.gap and not one.gap.kept:
            gap, due = formatting.seconds(one.gap.milliseconds), formatting.seconds(one.gap.due)
            lines.append(f"Too close: {one.domain} was asked {gap} after the request before, {due} were due.")
        lines += [f"Disallowed by robots.txt, and requested: {url}" for url in one.forbidden_urls]
    return lines


def _politeness_json(job: Job, asked: Sequence[DomainManners], limit: int) -> dict[str, Any]:
    return {
        "job": str(job.id),
        "short_id": short(job.id),
        **totals_json(asked),
        "domains": [_domain_json(one) for one in asked[:limit]],
    }


def totals_json(asked: Sequence[DomainManners]) -> dict[str, Any]:
    """The figures of the whole job."""
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
        "at": formatting.timestamp(datetime.fromtimestamp(one.gap.at / 1000, UTC)) if one.gap else None,
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


def manners_table(found: Sequence[DomainManners], room: int) -> Table:
    """Return a table of the treatment of domains.

    In narrow terminals, columns of mere counts are dropped first.
    """
    columns = {
        "Domain": (12, 40, [one.domain for one in found]),
        "Requests": (8, 9, [f"{one.requests:,}" for one in found]),
        "Gap": (6, 8, [formatting.seconds(one.gap.milliseconds) if one.gap else "" for one in found]),
        "Due": (6, 8, [formatting.seconds(one.gap.due) if one.gap else "" for one in found]),
        "Crawl-delay": (11, 11, [formatting.seconds(one.delay) if one.delay else "" for one in found]),
        "robots.txt": (10, 14, [_files(one) for one in found]),
        "Allowed": (7, 9, [f"{one.allowed:,}" for one in found]),
        "Refused": (7, 9, [f"{one.refused:,}" for one in found]),
        "429/503": (8, 20, [_strained(one) for one in found]),
    }
    # Empty columns are dropped first.
    for title in sorted(("Allowed", "429/503", "Crawl-delay"), key=lambda title: any(columns[title][2])):
        narrowest = sum(least for least, _, _ in columns.values()) + (len(columns) - 1) * GAP
        if narrowest > room or not any(columns[title][2]):
            del columns[title]
    cells = list(zip(*(texts for _, _, texts in columns.values()), strict=True))
    least, most, _ = zip(*columns.values(), strict=True)
    widths = fit(list(columns), cells, most, least, room)
    return table(list(columns), cells, widths, right=("Requests", "Gap", "Due", "Crawl-delay", "Allowed", "Refused"))


def _files(one: DomainManners) -> str:
    return ", ".join(str(status) for status in one.files) or "no answer"


def _strained(one: DomainManners) -> str:
    if not one.strained:
        return ""
    waited = f", {formatting.seconds(one.longest_wait)}" if one.longest_wait is not None else ""
    return f"{one.strained:,}{waited}"
