"""`job cost-report`: what each domain has cost, on the screen or in a file."""

from pathlib import Path

from gossamer.assembly import App
from gossamer.cli import costs, kept, methods, tables, words
from gossamer.cli.direct import write_directly
from gossamer.cli.export_files import Asking
from gossamer.cli.session import say, say_json
from gossamer.export.bill_words import sum_of
from gossamer.export.costs import COSTS, by_cost
from gossamer.export.table import Asked
from gossamer.intake.control import find_job
from gossamer.model.ids import short
from gossamer.model.money import MICROS, dollars
from gossamer.store import counters


async def show_cost_report(
    app: App, text: str, limit: int, form: str | None, output: Path | None, *, as_json: bool
) -> int:
    """The dearest domains first, on the screen; all of them, by domain, in a file."""
    job = await find_job(app.database, text)
    await kept.refuse_gone(app, job)
    if form is not None or output:
        (order,) = await Asking("costs", form).orders(app, job, output or Path("-"))
        return await write_directly(app, order, output or Path("-"), as_json=as_json)
    names = [column.name for column in COSTS.columns]
    found = [line async for some in COSTS.lines(app.database, Asked(job, COSTS.columns)) for line in some]
    dearest = sorted(found, key=by_cost)
    if as_json:
        say_json([dict(zip(names, line, strict=True)) for line in dearest[:limit]])
        return 0
    cells = [
        [str(line[0]), *(f"{number:,}" for number in line[1:-1]), dollars(round(float(line[-1] or 0) * MICROS))]
        for line in dearest[:limit]
    ]
    titles = ["Domain", "Pages", "Direct", "Provider", "JS rendering", "Credits", "Cost"]
    tables.show(tables.plain(titles, cells, right=titles[1:]))
    more = " More of them: --limit." if len(found) > limit else ""
    say(f"{len(cells):,} of {words.several(len(found), 'domain')}, the dearest first.{more}")
    spent = await costs.read_costs(app, job, await app.database.read(counters.progress, job.id))
    say(f"In all: {sum_of(spent.budget.spent)}.")
    for line in (*methods.lines(spent.bill, tables.width()), *costs.besides(spent.bill)):
        say(line)
    say(f"As a file:\n  gossamer job cost-report {short(job.id)} --output cost_report.csv")
    return 0
