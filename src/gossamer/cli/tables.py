"""Tables for a terminal: one line a row, whatever its width. What is cut here is whole in the export."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from gossamer.cli import words
from gossamer.store.history import PageHistory
from gossamer.store.sites import SiteSummary
from gossamer.work.manners import DomainManners

GAP = 2  # columns between two columns

Cells = Sequence[Sequence[str]]


class Printer(Console):
    """Prints no control characters but its own, whoever wrote what is shown."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else words.printable(text), style, control)


def width() -> int:
    """Piped output has no width to fit into: lines are kept whole for whoever reads them."""
    console = Console()
    return console.width if console.is_terminal else 200


def show(what: RenderableType) -> None:
    Printer(width=width(), soft_wrap=False).print(what)


def domains(found: Sequence[SiteSummary], room: int) -> Table:
    """A job's domains: how far each came, how large it is and what says so, and why it ended as it did."""
    titles = ["Domain", "State", "Read", "Size", "From", "Reason"]
    cells = [
        [
            site.host,
            str(site.state),
            f"{site.pages_done:,}",
            f"{site.size:,}" if site.size else "",
            site.size_source,
            site.trouble.sentence if site.trouble else "",
        ]
        for site in found
    ]
    widths = fit(titles, cells, [40, 7, 7, 9, 7, 80], [12, 7, 4, 4, 4, 10], room)
    return table(titles, cells, widths, right=("Read", "Size"))


def failures(found: Sequence[SiteSummary], room: int) -> Table:
    """Domains that failed: why, with which answer, after how many further tries, and when last."""
    titles = ["Domain", "Reason", "HTTP", "Retries", "Last attempt"]
    cells = [
        [
            site.host,
            site.trouble.sentence if site.trouble else "",
            str(site.trouble.http_status) if site.trouble and site.trouble.http_status else "",
            f"{site.retries:,}",
            words.moment(site.last_attempt_at)[:19] if site.last_attempt_at else "",
        ]
        for site in found
    ]
    widths = fit(titles, cells, [40, 80, 4, 7, 19], [12, 12, 4, 7, 10], room)
    return table(titles, cells, widths, right=("HTTP", "Retries"))


def pages(found: Sequence[PageHistory], room: int) -> Table:
    """A job's pages: what became of each, after how many tries, and why."""
    titles = ["Page", "State", "Tries", "Reason"]
    cells = [
        [page.url, str(page.state), f"{words.tries(page.attempts):,}", page.trouble.sentence if page.trouble else ""]
        for page in found
    ]
    return table(titles, cells, fit(titles, cells, [100, 7, 5, 80], [20, 7, 5, 10], room), right=("Tries",))


def manners(found: Sequence[DomainManners], room: int) -> Table:
    """How domains were treated. Where room is short, what is only counted gives way to what was promised."""
    columns = {
        "Domain": (12, 40, [one.domain for one in found]),
        "Requests": (8, 9, [f"{one.requests:,}" for one in found]),
        "Gap": (6, 8, [words.seconds(one.gap.milliseconds) if one.gap else "" for one in found]),
        "Due": (6, 8, [words.seconds(one.gap.due) if one.gap else "" for one in found]),
        "Crawl-delay": (11, 11, [words.seconds(one.delay) if one.delay else "" for one in found]),
        "robots.txt": (10, 14, [_files(one) for one in found]),
        "Allowed": (7, 9, [f"{one.allowed:,}" for one in found]),
        "Refused": (7, 9, [f"{one.refused:,}" for one in found]),
        "429/503": (8, 20, [_strained(one) for one in found]),
    }
    # Empty ones first, so that they cost no other its place.
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
    waited = f", {words.seconds(one.longest_wait)}" if one.longest_wait is not None else ""
    return f"{one.strained:,}{waited}"


def plain(titles: Sequence[str], cells: Cells, right: Sequence[str] = ()) -> Table:
    """Columns as wide as they need to be, up to 60."""
    return table(titles, cells, fit(titles, cells, [60] * len(titles), list(map(len, titles)), width()), right)


def fit(titles: Sequence[str], cells: Cells, most: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The width of each column: what it needs up to its most; of a column too many, the widest give way first."""
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
