"""`job export --output`: one file, written by the command itself."""

import sys
from pathlib import Path

from gossamer.assembly import App
from gossamer.cli import kept, words
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.export.make import Order, expected, make_file
from gossamer.export.write import write_file, write_stream
from gossamer.model.states import OVER

_NOUNS = {"results": "matches", "errors": "failed domains"}
_OF_PAGES = {"results": "results", "errors": "failed pages"}


async def write_directly(app: App, order: Order, output: Path, *, as_json: bool) -> int:
    if str(output) in ("", "."):
        raise UserError("export.output", "--output names no file.", hint="For example --output results.csv.")
    to_screen = str(output) == "-"
    if to_screen and as_json:
        raise UserError(
            "usage", "--json has nothing to say when the export itself goes to standard output.", hint="Give one."
        )
    if to_screen and order.form.binary and sys.stdout.isatty():
        raise UserError(
            "export.binary",
            f"A {order.form.name} file is nothing to look at on a screen.",
            hint=f"Name a file, for example --output results.{order.form.name}.",
        )
    deleted = await kept.deletion_date(app, order.job)
    written = 0

    def count(rows: int) -> None:
        nonlocal written
        written = rows

    total = await expected(app.database, order)
    chunks = make_file(app.database, order, count, lines_expected=total, prices=app.prices)
    if to_screen:
        await write_stream(sys.stdout.buffer, chunks)
        sys.stdout.buffer.flush()
        kept.tell(deleted)
        return 0
    size = await write_file(output, chunks)
    partial = order.job.state not in OVER
    if as_json:
        answer = {"path": str(output), "type": order.table.name, "format": order.form.name, "rows": written}
        say_json({**answer, "bytes": size, "partial": partial, "deleted_on": kept.date(deleted) if deleted else None})
        return 0
    noun = (_OF_PAGES if words.is_of_pages(order.job) else _NOUNS).get(order.table.name, order.table.name)
    say(f"Wrote {written:,} {f'{order.only} ' if order.only else ''}{noun} to {output} ({size:,} bytes)")
    if partial:
        say(f"The job is {order.job.state}: these are the results so far.")
    kept.tell(deleted)
    return 0
