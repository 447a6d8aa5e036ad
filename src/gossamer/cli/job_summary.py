"""`gossamer job summary`: a whole job on one screen, or as an HTML page."""

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
from gossamer.exports.report_page import report_page
from gossamer.exports.write import write_file
from gossamer.history.politeness import DomainManners
from gossamer.intake.targets import read_exclusions
from gossamer.model.ids import short
from gossamer.model.trouble import in_general
from gossamer.questions.jobs import Costs
from gossamer.questions.proofs import Summary, summary
from gossamer.recipes.overview import Overview, ScreenSummary, ScreenTable, SummaryAnswer

_TOP = 5
_WIDEST = 100

_SHORTEST_BAR, _LONGEST_BAR = 8, 40

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
    title: str = "",
    client: str = "",
) -> None:
    excluded = sorted(read_exclusions(exclude)) if exclude else []
    found = await home.ask(summary, text, since, excluded, costs=with_costs, client=client)
    overview, asked, bill = found.overview, found.manners, found.overview.bill
    spent = Costs(found.budget, bill) if bill and found.budget else None
    if html:
        size = await _write_page(html, found, title)
        if not as_json:
            say(f"Wrote the report to {html} ({size:,} bytes)" + (": the results so far." * overview.is_partial))
            return
    if as_json:
        money = {"cost": costs.as_json(spent), "pages_by_method": costs.pages_by_method(spent.bill)} if spent else {}
        say_json({**_as_json(overview, found.answer, asked, html), **money})
        return
    state = formatting.shown_state(overview.job, found.runner)
    room = min(tables.width(), _WIDEST)
    ways = (("Ways to fetch", costs.method_lines(bill, room - 2) if bill else ()),)
    paid = (("Costs", costs.ending_lines(spent) if spent else ()),)
    for line in screen(overview, found.screen, state, _politeness(asked), room, (*ways, *paid)):
        tables.show(line)


async def _write_page(path: Path, found: Summary, title: str) -> int:
    if str(path) in ("", ".", "-"):
        raise UserError("summary.html", "--html names no file.", hint="For example --html report.html.")

    async def page() -> AsyncIterator[bytes]:
        manners = job_audit.client_summary(found.manners)
        yield report_page(found.overview, found.page, manners, title).encode("utf-8", "replace")

    try:
        return await write_file(path, page())
    except UserError as error:
        error.hint = "Choose another place with --html."
        raise


def _politeness(asked: Sequence[DomainManners]) -> list[str]:
    return job_audit.politeness_summary(asked, len(asked))[:1] if asked else ["Nothing was asked of any domain."]


def screen(
    overview: Overview,
    found: ScreenSummary,
    state: str,
    politeness: Sequence[str],
    room: int,
    more: Sequence[tuple[str, Sequence[str]]] = (),
) -> list[Text]:
    """The lines of the summary, none wider than `room`."""
    job, progress = overview.job, overview.progress
    label, what = found.found
    lines = [
        Text.assemble((job.name, "bold"), f"  {short(job.id)}  ", (state, "bold"), no_wrap=True, overflow="ellipsis"),
        *_facts(
            {
                "Searched": found.searched,
                "Domains": formatting.domain_outcomes(progress),
                "Pages": f"{progress.pages_done:,} read, {progress.pages_failed:,} failed, "
                f"{progress.pages_skipped:,} skipped, {progress.bytes_in / 1e6:,.1f} MB",
                label: what,
            },
            room,
        ),
    ]
    if overview.is_partial:
        lines.append(Text("The job is not over: these are the results so far.", style="yellow"))
    reasons = [(in_general(reason), count) for reason, count in overview.reasons[:_TOP]]
    for one in found.counts:
        lines += _section(one.title, one.counts[:_TOP], room, "cyan")
        if len(one.counts) > _TOP:
            lines.append(Text(f"  and {formatting.plural(len(one.counts) - _TOP, 'other')}", style="dim"))
    lines += _best(found.best, room) if found.best else []
    lines += _section("Why domains failed", reasons, room, "red")
    lines += _section("Domains by pages read", overview.sizes, room, "cyan")
    for title, said in (*more, ("Politeness", politeness)):
        if said:
            lines += [Text(), Text(title, style="bold"), *(Text(_wrapped("", one, 2, room)) for one in said)]
    return lines


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


def _best(best: ScreenTable, room: int) -> list[Text]:
    widths = tables.fit(best.titles, [*best.rows, best.titles], best.most, best.least, room - 2)
    lines = [Text()]
    for at, line in enumerate([best.titles, *best.rows]):
        made = [
            text.rjust(width) if 0 < column < len(widths) - 1 else tables.cut(text, width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        indent, style = ("", "bold") if at == 0 else ("  ", "")
        made[0] = made[0] + "  " if at == 0 else made[0]
        lines.append(Text(indent + (" " * tables.GAP).join(made), style=style, no_wrap=True, overflow="crop"))
    return lines


def _as_json(
    overview: Overview, found: SummaryAnswer, asked: Sequence[DomainManners], html: Path | None
) -> dict[str, Any]:
    job, progress = overview.job, overview.progress
    return {
        "id": str(job.id),
        "short_id": short(job.id),
        "name": job.name,
        "state": str(job.state),
        "partial": overview.is_partial,
        "as_of": formatting.timestamp(overview.at),
        "started_at": formatting.timestamp(job.started_at),
        "finished_at": formatting.timestamp(job.finished_at),
        **found.asked,
        "domains": {
            "total": progress.sites_total,
            "succeeded": progress.sites_done,
            "partially_crawled": progress.sites_partial,
            "failed": progress.sites_failed,
            **found.domains,
            "left_out": overview.excluded,
        },
        "pages": {"done": progress.pages_done, "failed": progress.pages_failed, "skipped": progress.pages_skipped},
        "bytes_in": progress.bytes_in,
        **found.found,
        "failure_reasons": {in_general(reason): count for reason, count in overview.reasons},
        "domains_by_pages_read": dict(overview.sizes),
        **found.best,
        "politeness": job_audit.totals_json(asked),
        "html": str(html) if html else None,
    }
