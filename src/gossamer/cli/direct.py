"""`job export --output`: one file, at the place a person has named, when the command returns."""

import sys
from pathlib import Path
from typing import Protocol

from gossamer.cli import kept, words
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.export.make import Order
from gossamer.export.write import write_file, write_stream
from gossamer.model.states import OVER
from gossamer.questions.files import Exportable, exportable

_NOUNS = {"results": "matches", "errors": "failed domains"}
_OF_PAGES = {"results": "results", "errors": "failed pages"}


class Asked(Protocol):
    """What is to be in the file: `cli/export_files.py:Asking`."""

    @property
    def since(self) -> str: ...

    def orders(self, found: Exportable, output: Path | None) -> list[Order]: ...


async def write_directly(
    home: Home, text: str, asking: Asked, output: Path, *, as_json: bool, any_recipe: bool = True
) -> int:
    found = await home.ask(exportable, text, asking.since, any_recipe=any_recipe)
    (order,) = asking.orders(found, output)
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
    written = 0

    def count(rows: int) -> None:
        nonlocal written
        written = rows

    chunks = home.write(order, count)
    if to_screen:
        await write_stream(sys.stdout.buffer, chunks)
        sys.stdout.buffer.flush()
        kept.tell(found.end)
        return 0
    size = await write_file(output, chunks)
    partial = order.job.state not in OVER
    if as_json:
        answer = {"path": str(output), "type": order.table.name, "format": order.form.name, "rows": written}
        say_json({**answer, "bytes": size, "partial": partial, **kept.as_json(found.end)})
        return 0
    noun = (_OF_PAGES if words.is_of_pages(order.job) else _NOUNS).get(order.table.name, order.table.name)
    if written == 1:
        noun = "match" if noun == "matches" else noun.removesuffix("s")
    say(f"Wrote {written:,} {f'{order.only} ' if order.only else ''}{noun} to {output} ({size:,} bytes)")
    if partial:
        say(f"The job is {order.job.state}: these are the results so far.")
    kept.tell(found.end)
    return 0
