"""`job cost-report`: what each domain has cost, on the screen or in a file."""

import sys
from pathlib import Path

from gossamer.cli import costs, methods, tables, words
from gossamer.cli.direct import write_directly
from gossamer.cli.export_files import Asking
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.export.bill_words import sum_of
from gossamer.export.costs import COSTS
from gossamer.model.ids import short
from gossamer.model.money import MICROS, dollars
from gossamer.questions.found import spent


async def show_cost_report(
    home: Home, text: str, limit: int, form: str | None, output: Path | None, *, as_json: bool
) -> int:
    """The dearest domains first, on a terminal; all of them, by domain, as CSV in a file or a pipe."""
    piped = not as_json and not sys.stdout.isatty()
    if form is not None or output or piped:
        return await write_directly(home, text, Asking("costs", form), output or Path("-"), as_json=as_json)
    found = await home.ask(spent, text, limit)
    if as_json:
        names = [column.name for column in COSTS.columns]
        say_json([dict(zip(names, line, strict=True)) for line in found.rows])
        return 0
    cells = [
        [str(line[0]), *(f"{number:,}" for number in line[1:-1]), dollars(round(float(line[-1] or 0) * MICROS))]
        for line in found.rows
    ]
    titles = ["Domain", "Pages", "Direct", "Provider", "JS rendering", "Credits", "Cost"]
    tables.show(tables.plain(titles, cells, right=titles[1:]))
    more = " More of them: --limit." if found.total > limit else ""
    say(f"{len(cells):,} of {words.several(found.total, 'domain')}, the dearest first.{more}")
    say(f"In all: {sum_of(found.costs.budget.spent)}.")
    for line in (*methods.lines(found.costs.bill, tables.width()), *costs.besides(found.costs.bill)):
        say(line)
    say(f"As a file:\n  gossamer job cost-report {short(found.job.id)} --output cost_report.csv")
    return 0
