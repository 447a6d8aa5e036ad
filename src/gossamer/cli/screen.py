"""How a job looks while it runs: a live display on a terminal, plain lines anywhere else."""

import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gossamer.cli import words
from gossamer.model.ids import short
from gossamer.model.job import Job, Progress
from gossamer.model.states import JobState

_PLAIN_EVERY = 5.0  # seconds between lines when nobody looks at a terminal


class Screen(Protocol):
    @property
    def is_due(self) -> bool:
        """Whether anybody would see it if the present state were shown now: finding it out costs something."""
        ...

    def show(self, job: Job, progress: Progress, note: str) -> None:
        """The present state; called several times a second."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class QuietScreen:
    """For scripts that only want the result."""

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
    """A line now and then, for pipes and log files."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said = ""
        self._said_at = 0.0

    @property
    def is_due(self) -> bool:
        return not self._said or time.monotonic() - self._said_at >= _PLAIN_EVERY

    def show(self, job: Job, progress: Progress, note: str) -> None:
        line = f"{words.far(job, progress)}, {_numbers(job, progress)}" + (f", {note}" if note else "")
        if line != self._said and self.is_due:
            self._console.print(line, highlight=False, soft_wrap=True)
            self._said, self._said_at = line, time.monotonic()


class LiveScreen:
    """Redraws itself in place."""

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
    """Three lines: which job, how far, how fast."""
    head = Text.assemble((job.name, "bold"), "  ", (short(job.id), "dim"), "  ", _state(job), overflow="ellipsis")
    head.no_wrap = True
    bar = Table.grid(expand=True, padding=(0, 1))
    bar.add_column(ratio=1, min_width=8)
    bar.add_column(no_wrap=True)
    done, total = progress.of(job)
    bar.add_row(ProgressBar(total=max(total, 1), completed=done), Text(words.far(job, progress)))
    lines: list[RenderableType] = [head, bar, Text(_numbers(job, progress))]
    if note:
        lines.append(Text(note, style="yellow"))
    return Group(*lines)


def _state(job: Job) -> tuple[str, str]:
    colour = {JobState.RUNNING: "green", JobState.PAUSING: "yellow"}.get(job.state, "")
    return str(job.state), colour


def _numbers(job: Job, progress: Progress) -> str:
    parts = [
        words.found(job, progress),
        f"{progress.sites_failed:,} failed",
        words.several(progress.pages_done, "page"),
        f"{words.per_hour(progress) / 60:,.0f} domains/min",
    ]
    if words.is_of_pages(job):
        pace = progress.pages_recently / progress.pages_window.total_seconds()
        parts = [words.found(job, progress), f"{progress.pages_failed:,} failed", f"{60 * pace:,.0f} pages/min"]
    left = words.eta(progress)
    if left is not None:
        more = " or more" if words.eta_is_least(progress) and not words.is_of_pages(job) else ""
        parts.append(f"ETA ~{words.duration(left)}{more}")
    return ", ".join(parts)


def choose_screen(*, quiet: bool, to_errors: bool = False) -> Screen:
    """`to_errors`: beside results on standard output."""
    console = Console(stderr=to_errors)
    if quiet:
        return QuietScreen()
    return LiveScreen(console) if console.is_terminal and not console.is_dumb_terminal else PlainScreen(console)
