"""The display of a running job: live on a terminal, plain lines elsewhere."""

import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gossamer.cli import formatting
from gossamer.cli.group import as_called
from gossamer.model.ids import short
from gossamer.model.job import Job, Progress
from gossamer.model.states import JobState

_PLAIN_EVERY = 5.0  # seconds between lines without a terminal


class Screen(Protocol):
    @property
    def is_due(self) -> bool:
        """False if a state shown now would not be displayed; finding it out costs queries."""
        ...

    def show(self, job: Job, progress: Progress, note: str) -> None:
        """Display the present state; called several times a second."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class QuietScreen:
    """Shows nothing, for scripts that only want the result."""

    @property
    def is_due(self) -> bool:
        return False

    def show(self, job: Job, progress: Progress, note: str) -> None:
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return


class PlainScreen(QuietScreen):
    """Prints a line now and then, for pipes and log files."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said = ""
        self._said_at = 0.0

    @property
    def is_due(self) -> bool:
        return not self._said or time.monotonic() - self._said_at >= _PLAIN_EVERY

    def show(self, job: Job, progress: Progress, note: str) -> None:
        note = note or progress.doing
        line = ", ".join([*_outcome(job, progress), *_pace(progress), *([note] if note else [])])
        if line != self._said and self.is_due:
            self._console.print(as_called(line), highlight=False, soft_wrap=True)
            self._said, self._said_at = line, time.monotonic()


class LiveScreen:
    """Redraws itself in place on a terminal."""

    is_due = True

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, refresh_per_second=8, transient=True)

    def show(self, job: Job, progress: Progress, note: str) -> None:
        self._live.update(draw(job, progress, note))

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)


def draw(job: Job, progress: Progress, note: str) -> RenderableType:
    """The name of the job, a bar of pages, speed, and results so far."""
    head = Text.assemble((job.name, "bold"), "  ", (short(job.id), "dim"), "  ", _state(job), overflow="ellipsis")
    head.no_wrap = True
    bar = Table.grid(expand=True, padding=(0, 1))
    bar.add_column(ratio=1, min_width=8)
    bar.add_column(no_wrap=True)
    done, total = progress.pages_ended, progress.pages_expected
    bar.add_row(
        ProgressBar(total=max(total, 1), completed=done), Text(f"{formatting.percent(done, total) if total else 0}%")
    )
    lines: list[RenderableType] = [
        head,
        bar,
        Text(", ".join(_pace(progress))),
        Text(", ".join(_outcome(job, progress))),
    ]
    if note := note or progress.doing:
        lines.append(Text(as_called(note), style="yellow"))
    return Group(*lines)


def _state(job: Job) -> tuple[str, str]:
    colour = {JobState.RUNNING: "green", JobState.PAUSING: "yellow"}.get(job.state, "")
    return str(job.state), colour


def _pace(progress: Progress) -> list[str]:
    parts = [formatting.page_progress(progress), f"{progress.pages_per_minute:,.0f} pages/min"]
    if progress.left is not None:
        parts.append(f"ETA {'at least ' if progress.left_is_least else ''}~{formatting.duration(progress.left)}")
    return parts


def _outcome(job: Job, progress: Progress) -> list[str]:
    pages = f"{formatting.plural(progress.pages_failed, 'page')} failed"
    if job.extent.in_pages:
        return [formatting.record_count(job, progress), pages]
    domains = f"{formatting.plural(progress.sites_failed, 'domain')} failed"
    return [formatting.progress_text(job, progress), formatting.record_count(job, progress), domains, pages]


def choose_screen(*, quiet: bool, to_errors: bool = False) -> Screen:
    """The display for this terminal; `to_errors` uses standard error because results go to standard output."""
    console = Console(stderr=to_errors)
    if quiet:
        return QuietScreen()
    return LiveScreen(console) if console.is_terminal and not console.is_dumb_terminal else PlainScreen(console)
