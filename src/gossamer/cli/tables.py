"""Tables for a terminal: one line per row, cut to the terminal's width. Exports contain the whole texts."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from gossamer.cli import formatting

GAP = 2  # columns between two columns

Cells = Sequence[Sequence[str]]


class Printer(Console):
    """A console that prints no control characters from the texts it shows."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else formatting.printable(text), style, control)


def width() -> int:
    """The width of the terminal; 200 columns for piped output, which must not be cut."""
    console = Console()
    return console.width if console.is_terminal else 200


def show(what: RenderableType) -> None:
    Printer(width=width(), soft_wrap=False).print(what)


def plain(titles: Sequence[str], cells: Cells, right: Sequence[str] = ()) -> Table:
    """A table with columns as wide as needed, up to 60."""
    return table(titles, cells, fit(titles, cells, [60] * len(titles), list(map(len, titles)), width()), right)


def fit(titles: Sequence[str], cells: Cells, most: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The width of each column: as needed up to its maximum; if all do not fit, the widest shrink first."""
    widths = [
        min(cap, max(len(title), *(cell_len(line[at]) for line in cells)))
        for at, (title, cap) in enumerate(zip(titles, most, strict=True))
    ]
    while sum(widths) + (len(widths) - 1) * GAP > room:
        spare = [width - low for width, low in zip(widths, least, strict=True)]
        if max(spare) <= 0:
            break
        widths[spare.index(max(spare))] -= 1
    return widths


def table(titles: Sequence[str], cells: Cells, widths: Sequence[int], right: Sequence[str]) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for title, cap in zip(titles, widths, strict=True):
        justify: JustifyMethod = "right" if title in right else "left"
        made.add_column(title, no_wrap=True, overflow="ellipsis", width=cap, justify=justify)
    for line in cells:
        made.add_row(*map(Text, line))
    return made


def cut(text: str, width: int) -> str:
    """The text in exactly `width` columns, with an ellipsis if it was longer."""
    return set_cell_size(text, width - 1) + "…" if cell_len(text) > width else set_cell_size(text, width)
