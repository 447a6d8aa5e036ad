"""The list of all files that were made of a job."""

from rich.table import Table
from rich.text import Text

from gossamer.cli import file_words, kept, tables
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.questions.files import files


async def list_files(home: Home, text: str, *, as_json: bool) -> int:
    answer = await home.ask(files, text)
    if as_json:
        say_json([file_words.as_json(one, home.reach(one.link)) for one in answer.files])
        return 0
    found = [one.export for one in answer.files]
    if not found:
        say(file_words.none_of(answer.job))
        return 0
    table = Table(box=None, pad_edge=False, show_header=True, header_style="bold")
    for title in ("File", "State", "Rows", "Bytes", "Made", "Expires"):
        table.add_column(title, justify="right" if title in ("Rows", "Bytes") else "left", no_wrap=title != "File")
    for one in reversed(found):
        size, rows = ("" if number is None else f"{number:,}" for number in (one.size, one.rows_done))
        dates = (kept.date(at) if at else "" for at in (one.finished_at, one.expires_at))
        table.add_row(Text(one.name, overflow="fold"), file_words.state(one), rows, size, *dates)
    tables.show(table)
    return 0
