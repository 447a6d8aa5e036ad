"""`gossamer job summary`: a whole job on one screen, or on one page to send."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from gossamer.cli import costs, formatting, job_audit, tables
from gossamer.cli.home import Home
from gossamer.cli.runtime import say, say_json
from gossamer.errors import UserError
from gossamer.export.overview import Overview
from gossamer.export.prospects import COLUMNS
from gossamer.export.report_page import report_page
from gossamer.export.write import write_file
from gossamer.intake.exclusions import read_exclusions
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.trouble import in_general
from gossamer.questions.costs import Costs
from gossamer.questions.proofs import summary
from gossamer.work.manners import DomainManners

_TOP = 5

_WIDEST = 100

_SHORTEST_BAR, _LONGEST_BAR = 8, 40

_SHOWN = {"score": ".1f", "unlinked_pages": ",", "keywords": ","}

_NAMES = [column.name for column in COLUMNS]

Counts = Sequence[tuple[str, int]]


async def show_summary(
    home: Home,
    text: str,
    html: Path | None,
    since: str,
    exclude: Path | None,
    *,
    as_json: bool,
    with_costs: bool = True,
    named: tuple[str, str] = ("", ""),
) -> int:
    excluded = sorted(read_exclusions(exclude)) if exclude else []
    found = await home.ask(summary, text, since, excluded, costs=with_costs)
    overview, asked, bill = found.overview, found.manners, found.overview.bill
    spent = Costs(found.budget, bill) if bill and found.budget else None
    if html:
        size = await _write_page(html, overview, asked, named)
        if not as_json:
            say(f"Wrote the report to {html} ({size:,} bytes)" + (": the results so far." * overview.is_partial))
            return 0
    if as_json:
        told = {"cost": costs.as_json(spent), "pages_by_method": costs.pages_by_method(spent.bill)} if spent else {}
        say_json({**_as_json(overview, asked, html), **told})
        return 0
    state = formatting.state_word(overview.job, found.runner)
    room = min(tables.width(), _WIDEST)
    ways = (("Ways to fetch", costs.method_lines(bill, room - 2) if bill else ()),)
    paid = (("Costs", costs.ending_lines(spent) if spent else ()),)
    for line in screen(overview, state, _told(asked), room, (*ways, *paid)):
        tables.show(line)
    return 0


async def _write_page(path: Path, overview: Overview, asked: Sequence[DomainManners], named: tuple[str, str]) -> int:
    if str(path) in ("", ".", "-"):
        raise UserError("summary.html", "--html names no file.", hint="For example --html report.html.")

    async def page() -> AsyncIterator[bytes]:
        yield report_page(overview, job_audit.for_a_client(asked), *named).encode("utf-8", "replace")

    try:
        return await write_file(path, page())
    except UserError as error:
        error.hint = "Choose another place with --html."
        raise


def _told(asked: Sequence[DomainManners]) -> list[str]:
    return job_audit.politeness_summary(asked, len(asked))[:1] if asked else ["Nothing was asked of any domain."]


def screen(
    overview: Overview,
    state: str,
    told: Sequence[str],
    room: int,
    more: Sequence[tuple[str, Sequence[str]]] = (),
) -> list[Text]:
    """The lines, none wider than `room`."""
    job, progress = overview.job, overview.progress
    keywords = formatting.several(len(overview.wanted_keywords), "keyword")
    client = f", for {', '.join(overview.clients)}" if overview.clients else ""
    lines = [
        Text.assemble((job.name, "bold"), f"  {short(job.id)}  ", (state, "bold"), no_wrap=True, overflow="ellipsis"),
        *_facts(
            {
                "Searched": f"{formatting.several(progress.sites_total, 'domain')}, {keywords}{client}{_skipped(job)}",
                "Domains": formatting.outcome(progress),
                "Pages": f"{progress.pages_done:,} read, {progress.pages_failed:,} failed, "
                f"{progress.pages_skipped:,} skipped, {progress.bytes_in / 1e6:,.1f} MB",
                "Matches": f"{overview.matches:,} on {formatting.several(overview.domains, 'domain')}; "
                f"{formatting.several(overview.ranking.unlinked, 'prospect')} with {_mentions(overview)}",
            },
            room,
        ),
    ]
    if overview.is_partial:
        lines.append(Text("The job is not over: these are the results so far.", style="yellow"))
    reasons = [(in_general(reason), count) for reason, count in overview.reasons[:_TOP]]
    lines += _section("Matches by verdict", overview.verdicts if overview.clients else (), room, "cyan")
    lines += _section("Matches by keyword", overview.keywords[:_TOP], room, "cyan")
    if len(overview.keywords) > _TOP:
        lines.append(Text(f"  and {formatting.several(len(overview.keywords) - _TOP, 'other')}", style="dim"))
    lines += _best(overview, room)
    lines += _section("Why domains failed", reasons, room, "red")
    lines += _section("Domains by pages read", overview.sizes, room, "cyan")
    for title, said in (*more, ("Politeness", told)):
        if said:
            lines += [Text(), Text(title, style="bold"), *(Text(_wrapped("", one, 2, room)) for one in said)]
    return lines


def _skipped(job: Job) -> str:
    skipped = int(job.params.get("lines_skipped", 0))
    return f"; {formatting.several(skipped, 'invalid line')} of the lists skipped" if skipped else ""


def _mentions(overview: Overview) -> str:
    """Without a client nobody can say who is linked."""
    return "unlinked mentions" if overview.clients else "mentions"


def _facts(facts: dict[str, str], room: int) -> list[Text]:
    return [Text(_wrapped(f"{name:<10}", value, 10, room)) for name, value in facts.items()]


def _wrapped(name: str, value: str, indent: int, room: int) -> str:
    return fill(value, room, initial_indent=name or " " * indent, subsequent_indent=" " * indent)


def _section(title: str, counts: Counts, room: int, colour: str) -> list[Text]:
    if not counts:
        return []
    labels = min(max(cell_len(name) for name, _ in counts), room // 2)
    numbers = max(len(f"{count:,}") for _, count in counts)
    bar = min(_LONGEST_BAR, max(_SHORTEST_BAR, room - labels - numbers - 6))
    most = max(1, *(count for _, count in counts))
    lines = [Text(), Text(title, style="bold")]
    for name, count in counts:
        label = name if cell_len(name) <= labels else set_cell_size(name, labels - 1) + "…"
        length = max(1 if count else 0, round(bar * count / most))
        lines.append(
            Text.assemble(
                f"  {set_cell_size(label, labels)}  {count:>{numbers},}  ", ("█" * length, colour), no_wrap=True
            )
        )
    return lines


def _best(overview: Overview, room: int) -> list[Text]:
    best = [dict(zip(_NAMES, line, strict=True)) for line in overview.ranking.best(_TOP)]
    if not best:
        return []
    titles = ["Best prospects", "Score", "Unlinked" if overview.clients else "Mentions", "Keywords", "Best page"]
    cells = [
        [str(one["domain"]), *(f"{one[name]:{form}}" for name, form in _SHOWN.items()), str(one["best_page"])]
        for one in best
    ]
    widths = tables.fit(titles, [*cells, titles], [40, 5, 8, 8, 60], [14, 5, 8, 8, 9], room - 2)
    lines = [Text()]
    for at, line in enumerate([titles, *cells]):
        made = [
            text.rjust(width) if 0 < column < 4 else _cut(text, width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        indent, style = ("", "bold") if at == 0 else ("  ", "")
        made[0] = made[0] + "  " if at == 0 else made[0]
        lines.append(Text(indent + (" " * tables.GAP).join(made), style=style, no_wrap=True, overflow="crop"))
    return lines


def _cut(text: str, width: int) -> str:
    return set_cell_size(text, width - 1) + "…" if cell_len(text) > width else set_cell_size(text, width)


def _as_json(overview: Overview, asked: Sequence[DomainManners], html: Path | None) -> dict[str, Any]:
    job, progress = overview.job, overview.progress
    return {
        "id": str(job.id),
        "short_id": short(job.id),
        "name": job.name,
        "state": str(job.state),
        "partial": overview.is_partial,
        "as_of": formatting.stamp(overview.at),
        "started_at": formatting.stamp(job.started_at),
        "finished_at": formatting.stamp(job.finished_at),
        "client_domains": overview.clients,
        "keywords": len(overview.wanted_keywords),
        "lines_skipped": int(job.params.get("lines_skipped", 0)),
        "domains": {
            "total": progress.sites_total,
            "succeeded": progress.sites_done,
            "partially_crawled": progress.sites_partial,
            "failed": progress.sites_failed,
            "with_matches": overview.domains,
            "with_unlinked_mentions": overview.ranking.unlinked,
            "left_out": overview.excluded,
        },
        "pages": {"done": progress.pages_done, "failed": progress.pages_failed, "skipped": progress.pages_skipped},
        "bytes_in": progress.bytes_in,
        "matches": overview.matches,
        "matches_by_verdict": dict(overview.verdicts),
        "matches_by_keyword": dict(overview.keywords),
        "failure_reasons": {in_general(reason): count for reason, count in overview.reasons},
        "domains_by_pages_read": dict(overview.sizes),
        "prospects": [dict(zip(_NAMES, line, strict=True)) for line in overview.ranking.best(10)],
        "politeness": job_audit.totals_json(asked),
        "html": str(html) if html else None,
    }
